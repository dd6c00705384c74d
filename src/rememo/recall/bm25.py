"""Words: BM25 over what a message says together with what its neighbours lend it.

Counts are lent before they saturate, not scores after: a term that stands in three messages in a row is then worth
little more than one that stands once, while *different* terms of the question that meet across neighbouring messages
add up. On conversations that finds a good deal more than adding neighbours' scores.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rememo.model.timeline import Timeline
from rememo.recall.spread import Lengths, Spread
from rememo.recall.types import Flags, Postings, RecallSettings

_CLASSES: Final = 4_096


def inverse_frequency(documents: int, containing: int) -> float:
    """Return how much a term says that `containing` of `documents` have; never negative."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def length_norm(lengths: NDArray[np.float64], mean: float, settings: RecallSettings) -> NDArray[np.float64]:
    """Return BM25's denominator term for documents of these lengths where the mean is `mean`."""
    share = settings.length_share
    relative = lengths / mean if mean > 0 else np.ones_like(lengths)
    return settings.saturation * (1 - share + share * relative)


def information(terms: Sequence[str], postings: Sequence[Postings], documents: int) -> float:
    """Return how much the whole question says: the sum of its terms' weights, those that occur nowhere included."""
    by_term = {posting.term: posting for posting in postings}
    total = 0.0
    for term in sorted({*terms, *by_term}):
        posting = by_term.get(term)
        containing, weight = (len(posting.documents), posting.weight) if posting else (0, 1.0)
        total += weight * inverse_frequency(documents, containing)
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrences:
    """The postings of a question one after another, in order of terms."""

    documents: NDArray[np.intp]
    frequencies: NDArray[np.float64]
    groups: NDArray[np.intp]
    """Which term each entry belongs to."""
    weights: NDArray[np.float64]
    """How much each term says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordScores:
    """BM25 scores of touched documents, with what neighbours lend them, in order of `Spread.touched`."""

    total: NDArray[np.float64]
    own_counts: NDArray[np.float64]
    """How often each term stands in each document itself."""
    norm: NDArray[np.float64]
    scale: NDArray[np.float64]

    def own(self, slots: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the scores of some documents by what they say themselves."""
        counts = self.own_counts[:, slots]
        return (self.scale * counts / (counts + self.norm[slots])).sum(axis=0)


def gather(postings: Sequence[Postings], timeline: Timeline) -> Occurrences:
    """Bring postings into one order that does not depend on theirs."""
    ordered = sorted(postings, key=lambda posting: posting.term)
    sizes = [len(posting.documents) for posting in ordered]
    weights = [posting.weight * inverse_frequency(len(timeline), len(posting.documents)) for posting in ordered]
    nothing = np.zeros(0, dtype=np.intp)
    return Occurrences(
        documents=np.concatenate([nothing, *(posting.documents for posting in ordered)]).astype(np.intp, copy=False),
        frequencies=np.concatenate([nothing, *(posting.frequencies for posting in ordered)]).astype(np.float64),
        groups=np.repeat(np.arange(len(ordered)), sizes),
        weights=np.array(weights, dtype=np.float64),
    )


def strongest(
    occurrences: Occurrences,
    timeline: Timeline,
    lengths: Lengths,
    settings: RecallSettings,
    *,
    eligible: Flags | None,
    least: int,
) -> NDArray[np.intp]:
    """Return the documents that are worth working out: all, or the best few thousand by their own words.

    A very common word occurs in a good part of a large scope; where it is all that a document has, the document becomes
    a hit only where there are fewer than `least` better ones, and then the newest do.
    """
    most = settings.word_candidates
    if len(occurrences.documents) <= most:
        return occurrences.documents
    rows = occurrences.documents
    norm = length_norm(lengths.total[rows], lengths.mean, settings)
    entries = occurrences.weights[occurrences.groups] * occurrences.frequencies / (occurrences.frequencies + norm)
    own = np.asarray(np.bincount(rows, entries, len(timeline)), dtype=np.float64)
    if eligible is not None:
        own[~eligible] = 0
    # Counting into classes is linear where partitioning many equal values is not, and keeps ties together.
    classes = (own * (_CLASSES / (own.max() or 1.0))).astype(np.intp)
    members = np.bincount(classes[classes > 0], minlength=_CLASSES + 1)
    from_above = np.cumsum(members[::-1])[::-1]
    lowest = max(1, int(np.searchsorted(-from_above, -most)))
    documents = np.flatnonzero(classes >= lowest)
    # Too many are alike to take all of them: without the newest, a word that stands everywhere would find nothing.
    while len(documents) < least and lowest > 1:
        lowest = int(classes[classes < lowest].max(initial=0))
        alike = np.flatnonzero(classes == lowest) if lowest else documents[:0]
        count = min(len(alike), least - len(documents))
        if count:
            newest = np.argpartition(timeline.times[alike], len(alike) - count)[len(alike) - count :]
            documents = np.sort(np.concatenate([documents, alike[newest]]))
    return documents


def words(occurrences: Occurrences, spread: Spread, settings: RecallSettings) -> WordScores:
    """Return the BM25 scores of every touched document, in order of `spread.touched`."""
    norm = length_norm(spread.lengths, spread.mean_length, settings)
    near = np.flatnonzero(spread.near[occurrences.documents])
    loan = spread.lend(
        occurrences.documents[near],
        occurrences.frequencies[near],
        groups=occurrences.groups[near],
        group_count=len(occurrences.weights),
    )
    scale = occurrences.weights[:, np.newaxis] * (settings.saturation + 1)
    total = loan.total / (loan.total + norm)
    total *= scale
    return WordScores(total=total.sum(axis=0), own_counts=loan.own, norm=norm, scale=scale)
