"""Search: understands the question, gathers candidates from the store, and hands them to the ranking."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from rememo.engine.embedding_model import ActiveEmbedder
from rememo.engine.engine import Engine
from rememo.engine.resolve import Resolver, pool_size
from rememo.errors import EmbeddingFailed, ModelChanged
from rememo.model.fact import folded, predicate_of, subject_of
from rememo.model.filters import Filter, parse_conditions
from rememo.model.hit import Hit
from rememo.model.record import FOUND
from rememo.model.timeline import NOBODY, Timeline
from rememo.recall.asked import asked_predicates
from rememo.recall.embed.protocol import RemoteEmbedder, Vector, embed_question
from rememo.recall.names import other_names
from rememo.recall.question import understand
from rememo.recall.rank import MOST_HITS, Structure, arrange, rank
from rememo.recall.relevance import calibrate
from rememo.recall.time import find_times
from rememo.recall.types import Candidates, Mode, Postings, Question, RecallSettings
from rememo.runtime.counters import counts
from rememo.store.matches import WordMatch

_RECALL = RecallSettings()
_SPARSE = 8
_AS_ASKED = 0.5
"""The score of what was asked for without words to find it by: by its kind, its time, or whose it is."""
_MOST_CHANGES = 3
"""How often a search begins anew because the store's embedding model was changed under it."""
WORDS_ONLY = "words_only"
"""Stands among the reasons of hits that were found without the model that would have been asked."""
_log = logging.getLogger("rememo.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A checked question."""

    text: str
    filter: Filter
    limit: int
    threshold: float
    mode: Mode
    at: datetime
    explain: bool


def search(engine: Engine, query: Query) -> list[Hit]:
    """Return the best records that the filter means, best first."""
    now, scope = engine.now(), query.filter.scope
    text = query.text[: engine.settings.max_query_chars]
    if not text.strip():
        return _newest(engine, query, now)
    timeline = engine.store.timeline(query.filter, now)
    if not len(timeline.numbers):
        return []
    question = understand(
        text,
        analyzer=engine.analyzer,
        at=query.at,
        speakers=timeline.speaker_names,
        asker=scope.user,
        addressee=scope.agent,
        anchors=_anchors(engine, query, text),
        mode=query.mode,
        limit=query.limit if query.mode == "vector" else pool_size(query.limit, MOST_HITS),
        # In the other modes the scores that a caller sees are made after the ranking.
        threshold=query.threshold if query.mode == "vector" else 0.0,
    )
    if question.unspecific and query.mode != "vector":
        if len(latest := _latest(engine, query, question, timeline)):
            return _unranked(engine, query, question, timeline, latest)
        query = replace(query, mode="words")  # what is near in meaning is only another time
    candidates, words_only = _candidates(engine, query, question, timeline, now)
    ranking = rank(question, candidates, timeline, _RECALL, _structure(timeline))
    # A reason that lends nothing: the caller sees that meaning was not asked, and not that it found nothing.
    noted = {WORDS_ONLY: 0.0} if words_only else {}
    numbers = timeline.numbers[ranking.documents].tolist()
    records = engine.store.fetch(scope, numbers)
    hits = [
        Hit(
            record=records[number],
            score=float(ranking.scores[place]),
            reasons={name: float(part[place]) for name, part in ranking.parts.items()} | noted if query.explain else {},
        )
        for place, number in enumerate(numbers)
        if number in records
    ]
    if query.mode == "vector":
        return hits
    rows = [row for row, number in zip(ranking.documents.tolist(), numbers, strict=True) if number in records]
    resolver = Resolver(
        engine=engine,
        filter=query.filter,
        question=question,
        speakers=timeline.speaker_names,
        strangers=_strangers(question, timeline, rows, hits),
        unknown=_names_unknown(engine, question, candidates, timeline.speaker_names),
        size=len(timeline.numbers),
        terms=_terms(timeline),
    )
    alone = candidates.vector_background is None
    calibrated = _calibrated(resolver.resolve(hits), question, timeline, scope.user, words_only=alone)
    return [hit for hit in calibrated if hit.score >= query.threshold][: query.limit]


def with_sources(engine: Engine, filter: Filter, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits, facts with the newest of what they were learned from, though its own words did not answer.

    What the filter hides stays hidden, and what is a hit by itself or stands with another fact is not told twice.
    """
    shown_ids = {id for hit in hits for id in (hit.id, *(source.id for source in hit.sources))}
    source_of: dict[str, str] = {}
    for hit in hits:
        sources = hit.record.data.get("sources") or () if hit.record.kind == "fact" and not hit.sources else ()
        if sources and sources[-1] not in shown_ids and (filter.ids is None or sources[-1] in filter.ids):
            shown_ids.add(sources[-1])
            source_of[hit.id] = sources[-1]
    if not source_of:
        return list(hits)
    sources_read = engine.store.read(filter.narrowed(ids=tuple(source_of.values())), engine.now())
    records = {record.id: record for record in sources_read}
    return [
        replace(hit, sources=(records[source_of[hit.id]],)) if source_of.get(hit.id) in records else hit for hit in hits
    ]


def _calibrated(
    hits: Sequence[Hit], question: Question, timeline: Timeline, asker: str | None, *, words_only: bool
) -> list[Hit]:
    """Return the hits in their order, with scores that mean the same whatever the size of the scope."""
    terms = _terms(timeline)
    predicates = asked_predicates(question.text)
    names = [timeline.speaker_names[number] for number in question.speakers] or ([] if asker is None else [asker])
    calibrated: list[Hit] = []
    best = 0.0
    for hit in reversed(hits):  # what stands above something relevant is as relevant
        own = calibrate(hit.score, terms, words_only=words_only)
        best = max(best, own, _AS_ASKED if _answers(hit, predicates, names) else 0.0)
        share = best / hit.score if hit.score else 0.0
        calibrated.append(replace(hit, score=best, reasons={name: share * part for name, part in hit.reasons.items()}))
    return calibrated[::-1]


def _terms(timeline: Timeline) -> int:
    """Return how many terms the records of a scope are indexed under."""
    if "terms" not in timeline.cache:
        timeline.cache["terms"] = int(timeline.lengths.sum())
    return timeline.cache["terms"]


def _answers(hit: Hit, predicates: frozenset[str], names: Sequence[str]) -> bool:
    """Tell whether a hit is a fact of the kind that was asked for, about a person who was meant."""
    if predicate_of(hit.record) not in predicates:
        return False
    subject = subject_of(hit.record)
    persons = [folded(name) for name in names]
    return any(subject == name or subject.startswith(f"{name}'s ") for name in persons)


def _latest(engine: Engine, query: Query, question: Question, timeline: Timeline) -> NDArray[np.intp]:
    """Return the rows that a question without a topic means: of its persons and times, the newest first."""
    selected = np.ones(len(timeline.numbers), dtype=np.bool_)
    eligible = engine.store.eligible(query.filter, timeline, engine.now())
    if eligible is not None:
        selected &= eligible
    if question.windows:
        inside = [(timeline.times >= window.start) & (timeline.times < window.end) for window in question.windows]
        selected &= np.logical_or.reduce(inside)
    if question.speakers:
        selected &= np.isin(timeline.speakers, [NOBODY, *question.speakers])
    rows = np.flatnonzero(selected)
    return rows[np.lexsort((rows, -timeline.times[rows]))][: pool_size(query.limit, MOST_HITS)]


def _unranked(
    engine: Engine, query: Query, question: Question, timeline: Timeline, rows: NDArray[np.intp]
) -> list[Hit]:
    """Return records in the order of their rows, all as relevant as each other."""
    numbers = timeline.numbers[rows].tolist()
    records = engine.store.fetch(query.filter.scope, numbers)
    hits = [Hit(record=records[number], score=_AS_ASKED) for number in numbers if number in records]
    resolver = Resolver(engine=engine, filter=query.filter, question=question, speakers=timeline.speaker_names)
    return [hit for hit in resolver.resolve(hits) if hit.score >= query.threshold][: query.limit]


def _names_unknown(engine: Engine, question: Question, candidates: Candidates, speakers: tuple[str, ...]) -> bool:
    """Tell whether the question names somebody or something that no record here mentions."""
    terms_found = {posting.term for posting in candidates.postings}
    names = other_names(question.text, speakers)
    return any(terms_found.isdisjoint(engine.analyzer.terms(name)) for name in names)


def _strangers(question: Question, timeline: Timeline, rows: Sequence[int], hits: Sequence[Hit]) -> frozenset[str]:
    """Return the hits, which stand in these rows, from rooms in which none of the persons that the question means ever spoke.

    What users say outside of every room they do not say to each other.
    """
    if not question.speakers:
        return frozenset()
    rooms = set(np.unique(timeline.rooms[np.isin(timeline.speakers, question.speakers)]).tolist())
    places = timeline.rooms[list(rows)].tolist()
    return frozenset(
        hit.id
        for hit, room in zip(hits, places, strict=True)
        if room not in rooms or (hit.record.scope.room is None and hit.record.scope.user is not None)
    )


def _anchors(engine: Engine, query: Query, text: str) -> dict[str, date]:
    """Return the birthday of the user who asks, where the question mentions it and a fact states it."""
    if "birthday" not in text.lower() or query.filter.scope.user is None:
        return {}
    birthday = {"predicate": "birthday", "subject": query.filter.scope.user}
    filter = Filter(
        scope=query.filter.scope,
        kinds=("fact",),
        conditions=parse_conditions("data", birthday),
        known_at=query.filter.known_at,
    )
    days = [
        time.start.date()
        for fact in engine.store.read(filter, engine.now(), limit=1)
        for time in find_times(str(fact.data.get("object", "")), query.at)
    ]
    return {"my birthday": days[0]} if days else {}


def similar(
    engine: Engine, filter: Filter, vector: NDArray[np.float32], model: int, *, limit: int, threshold: float
) -> list[Hit]:
    """Return the records nearest to a vector of a model, best first."""
    near = engine.store.nearest(filter, vector, limit, engine.now(), model=model, exact=True)
    records = engine.store.fetch(filter.scope, near.numbers.tolist())
    return [
        Hit(record=records[number], score=min(1.0, max(0.0, score)))
        for number, score in zip(near.numbers.tolist(), near.scores.tolist(), strict=True)
        if score >= threshold and number in records
    ]


def _newest(engine: Engine, query: Query, now: datetime) -> list[Hit]:
    """Without words there is nothing to rank by: what the filter means, newest first."""
    if query.threshold > 0:
        return []
    kinds = tuple(kind for kind in query.filter.kinds or FOUND if kind in FOUND)
    if not kinds:
        return []
    records = engine.store.read(query.filter.narrowed(kinds=kinds), now, limit=query.limit)
    return [Hit(record=record, score=0.0) for record in reversed(records)]


def _structure(timeline: Timeline) -> Structure:
    if "structure" not in timeline.cache:
        before = timeline.grown_from.cache.get("structure") if timeline.grown_from is not None else None
        timeline.cache["structure"] = arrange(timeline, _RECALL, before)
    return timeline.cache["structure"]


def _postings(engine: Engine, query: Query, question: Question, timeline: Timeline) -> tuple[Postings, ...]:
    if query.mode == "vector":
        return ()
    matches = engine.store.words(query.filter, question.terms, held=len(timeline.numbers))
    postings = [_posting(match, timeline) for match in matches]
    return tuple(index for index in postings if len(index.documents))


def _posting(match: WordMatch, timeline: Timeline) -> Postings:
    """Bring a term's places to rows of the timeline, without those that lie outside."""
    rows, inside = _rows(timeline, match.numbers)
    return Postings(term=match.term, documents=rows, frequencies=match.counts[inside])


def _rows(timeline: Timeline, numbers: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the rows of those numbers that stand in the timeline, and which ones these are."""
    first, last = int(timeline.numbers[0]), int(timeline.numbers[-1])
    if last - first > _SPARSE * len(timeline.numbers) + 1_000:
        rows = np.minimum(np.searchsorted(timeline.numbers, numbers), len(timeline.numbers) - 1)
        inside = timeline.numbers[rows] == numbers
        return rows[inside], inside
    # Numbers that lie close together are looked up in a table: no search for each.
    table = timeline.cache.get("rows")
    if table is None:
        table = np.full(last - first + 2, -1, np.int32)
        table[timeline.numbers - first] = np.arange(len(timeline.numbers), dtype=np.int32)
        timeline.cache["rows"] = table
    places = table[np.where((numbers >= first) & (numbers <= last), numbers - first, last - first + 1)]
    inside = places >= 0
    return places[inside].astype(np.intp), inside


def _candidates(
    engine: Engine, query: Query, question: Question, timeline: Timeline, now: datetime
) -> tuple[Candidates, bool]:
    """Return what words and meaning find, and whether meaning would have been asked for but was not there."""
    postings = _postings(engine, query, question, timeline)
    eligible = engine.store.eligible(query.filter, timeline, now)
    by_words = Candidates(postings=postings, eligible=eligible)
    if query.mode == "words":
        return by_words, False
    model = engine.model.active
    for _ in range(_MOST_CHANGES):
        if model.missing is not None:
            model = engine.model.follow()
        try:
            embedded = _meant(model, question)
            if embedded is None:
                return by_words, False
            vector, number, prior = embedded
            most = max(_RECALL.meaning_candidates, 2 * query.limit)
            near = engine.store.nearest(query.filter, vector, most, now, model=number)
        except ModelChanged:
            model = engine.model.follow()
        except EmbeddingFailed as error:
            if query.mode == "vector" or not (model.embedder is None or isinstance(model.embedder, RemoteEmbedder)):
                raise
            # Words find while a model is away; that it is can be seen in health, metrics and reasons.
            counts.add("searches_without_meaning")
            _log.debug("this search goes by words: %s", error)
            return by_words, True
        else:
            rows, inside = _rows(timeline, near.numbers)
            return replace(
                by_words,
                vector_documents=rows,
                vector_scores=near.scores[inside],
                vector_background=(near.mean, near.deviation),
                vector_prior=prior,
            ), False
    if query.mode == "vector":
        raise ModelChanged("the store's embedding model was changed again and again; ask again")
    counts.add("searches_without_meaning")
    return by_words, True


def _meant(model: ActiveEmbedder, question: Question) -> tuple[Vector, int, tuple[float, float]] | None:
    """Return the vector of a question, the number of its model and what is usual between unrelated texts under it.

    None where words alone decide.
    Raises `EmbeddingFailed` where the model cannot be asked now, and where this process has not got it.
    """
    if model.missing is not None:
        raise EmbeddingFailed(str(model.words_only))
    if model.embedder is None or model.number is None:
        return None
    vector = embed_question(model.embedder, question.meaning)
    prior = model.background
    return None if vector is None else (vector, model.number, prior)
