"""Ranking: candidates in, hits out. Pure and deterministic.

What is promised, and tested as properties: the result does not depend on the order of postings, of documents within
them or of rows in the timeline; a limit of N gives the first N of a limit of N + 1; a stricter filter only takes hits
away and leaves the scores of the others as they are. Ties go to the later document, then to the lower row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rememo.errors import InvalidInput
from rememo.model.timeline import Timeline
from rememo.recall.bm25 import gather, information, strongest, words
from rememo.recall.fuse import factors, nearness, score
from rememo.recall.neighbours import Neighbours, extend, link
from rememo.recall.spread import Lengths, answers, extend_lengths, measure_lengths, touch
from rememo.recall.types import Candidates, Question, Ranking, RecallSettings, Rows

MOST_HITS = 1_000
"""The highest limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """What of a timeline can be worked out before the question: keep it as long as the timeline does not change."""

    neighbours: Neighbours
    lengths: Lengths

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.neighbours)


def arrange(timeline: Timeline, settings: RecallSettings, earlier: Structure | None = None) -> Structure:
    """Work out the structure of a timeline.

    `known` is the structure of its first rows, under the same settings, if it only grew at its end since: following a
    conversation then costs a copy.
    """
    grown = extend(earlier.neighbours, timeline, settings) if earlier and len(earlier) <= len(timeline) else None
    if earlier is not None and grown is not None:
        neighbours, changed = grown
        lengths = extend_lengths(earlier.lengths, changed, timeline, neighbours, settings)
    else:
        neighbours = link(timeline, settings)
        lengths = measure_lengths(timeline, neighbours, settings)
    return Structure(neighbours=neighbours, lengths=lengths)


def rank(
    question: Question,
    candidates: Candidates,
    timeline: Timeline,
    settings: RecallSettings | None = None,
    structure: Structure | None = None,
) -> Ranking:
    """Return the hits for a question, best first, at most `question.limit` and none below `question.threshold`.

    A document that nothing speaks for is no hit. In mode "vector" the order is that of the cosine and nothing else.
    `structure` is `arrange(timeline, settings)`, made here if it is not given. Raises `InvalidInput` for a limit or
    threshold out of bounds.
    """
    if not 1 <= question.limit <= MOST_HITS:
        raise InvalidInput(f"limit must be from 1 to {MOST_HITS}, not {question.limit}")
    if not 0 <= question.threshold <= 1:
        raise InvalidInput(f"threshold must be from 0 to 1, not {question.threshold}")
    settings = settings or RecallSettings()
    if question.mode == "vector":
        near = nearness(candidates, settings, scope=len(timeline), only=True)
        strengths = _Strengths(rows=np.asarray(near.documents, dtype=np.intp), total=near.values, parts={})
        return _ranking(strengths, *_choose(strengths, question, candidates, timeline, settings))
    near = nearness(candidates if question.mode == "hybrid" else Candidates(), settings, scope=len(timeline))
    structure = structure or arrange(timeline, settings)
    occurrences = gather(candidates.postings, timeline)
    by_words_alone = strongest(
        occurrences, timeline, structure.lengths, settings, eligible=candidates.eligible, least=2 * question.limit
    )
    spread = touch([near.documents, by_words_alone], structure.neighbours, structure.lengths, settings)
    question_information = information(question.terms, candidates.postings, len(timeline)) or 1.0
    by_words = words(occurrences, spread, settings)
    by_meaning = spread.lend(near.documents, near.values, share=settings.meaning_lent).total[0]
    total = by_words.total / question_information
    strengths = _Strengths(rows=spread.touched, total=total, parts={"neighbours": total})
    strengths = strengths.add("meaning", settings.meaning * by_meaning)
    strengths = strengths.add("answers", answers(strengths.total, spread, timeline, structure.neighbours, settings))
    for reason, factor in factors(spread.touched, question, timeline, settings).items():
        if factor is not None:
            strengths = strengths.add(reason, strengths.total * (factor - 1))
    chosen, folded = _choose(strengths, question, candidates, timeline, settings)
    return _ranking(strengths, chosen, folded, own_words=by_words.own(chosen) / question_information)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Strengths:
    """How strongly documents are spoken for, in all and by reason."""

    rows: Rows
    total: NDArray[np.float64]
    parts: dict[str, NDArray[np.float64]]

    def add(self, reason: str, values: NDArray[np.float64]) -> "_Strengths":
        """Return them with one more reason."""
        return _Strengths(rows=self.rows, total=self.total + values, parts={**self.parts, reason: values})

    def best(self, count: int, time: NDArray[np.int64], admitted: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the places of the `count` strongest among `admitted`, best first."""
        strength = self.total[admitted]
        if count < len(strength):
            last = np.partition(strength, len(strength) - count)[len(strength) - count]
            admitted = admitted[strength >= last]  # with all that tie with the last one
        rows = self.rows[admitted]
        order = np.lexsort((rows, -time[rows], -self.total[admitted]))
        return admitted[order[:count]]


def _choose(
    strengths: _Strengths,
    question: Question,
    candidates: Candidates,
    timeline: Timeline,
    settings: RecallSettings,
) -> tuple[NDArray[np.intp], tuple[tuple[int, ...], ...]]:
    """Return the places of the hits, best first, and for each the rows that are folded into it."""
    admitted = np.ones(len(strengths.rows), dtype=np.bool_) if question.mode == "vector" else strengths.total > 0
    if candidates.eligible is not None:
        admitted &= candidates.eligible[strengths.rows]
    if question.threshold > 0:
        admitted &= score(strengths.total) >= question.threshold
    places = np.flatnonzero(admitted)
    count = 2 * question.limit
    while True:
        best = strengths.best(count, timeline.times, places)
        first_places, folded = _fold(strengths.rows[best], timeline, settings)
        if len(first_places) > question.limit or count >= len(places):
            return best[first_places[: question.limit]], folded[: question.limit]
        count *= 4


def _ranking(
    strengths: _Strengths,
    chosen: NDArray[np.intp],
    folded: tuple[tuple[int, ...], ...],
    own_words: NDArray[np.float64] | None = None,
) -> Ranking:
    total = strengths.total[chosen]
    scores = score(total)
    parts = {reason: values[chosen] for reason, values in strengths.parts.items()} or {"meaning": total}
    if own_words is not None:
        parts = {"words": own_words, **parts, "neighbours": parts["neighbours"] - own_words}
    # Each part's share of the score, so that reasons can be compared between hits.
    scale = np.divide(scores, total, out=np.zeros_like(scores), where=total > 0)
    return Ranking(
        documents=strengths.rows[chosen],
        scores=scores,
        parts={reason: values * scale for reason, values in parts.items()},
        folded=folded,
    )


def _fold(rows: Rows, timeline: Timeline, settings: RecallSettings) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
    """Return the places in `rows` of the first document of each saying, and the other rows that say the same."""
    if not settings.fold:
        return list(range(len(rows))), ((),) * len(rows)
    others: dict[tuple[int, int], list[int]] = {}
    first: dict[tuple[int, int], int] = {}
    marks, speakers = timeline.fingerprints[rows].tolist(), timeline.speakers[rows].tolist()
    for place, row in enumerate(rows.tolist()):
        # Without terms there is nothing to compare: such a document stands for itself.
        saying = (marks[place], speakers[place]) if marks[place] else (0, -2 - place)
        if saying in first:
            others[saying].append(row)
        else:
            first[saying], others[saying] = place, []
    return list(first.values()), tuple(tuple(rows) for rows in others.values())
