"""From ranked records to answers: whom each is about, whether it still holds, and a fact with its source as one hit.

Ranking knows words, vectors and times. This asks what is known: a statement that something later revised stands below what
replaced it (above it, where the question asks about the past), and what another person says of themselves is not about the
person that the question names.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from rememo.engine.engine import Engine
from rememo.engine.person_matching import OF_ANOTHER, PersonMatcher
from rememo.engine.selection import MOST_CLAIMS, SMALL, Selection
from rememo.model.fact import predicate_of, source_ids
from rememo.model.filters import Condition, Filter
from rememo.model.hit import Hit
from rememo.model.record import REVISION, Record
from rememo.model.revision import SURE, Revision, is_revision, rejections_of, revisions_of
from rememo.model.scope import Scope
from rememo.recall.answers.claim import ClaimQuestion
from rememo.recall.asked import PLACES, SINGLE, asked_predicates, asks_where
from rememo.recall.subjects import value_left_behind
from rememo.recall.tense import (
    asks_about_past,
    asks_for_past_state,
    asks_for_state,
    asks_what_happened,
    is_plain_question,
    tells_of_past,
)
from rememo.recall.types import Question, TimeWindow

_LIFT: Final = 0.25
"""How far the score of a fact that the question asks for by its kind is lifted, of what is left to one."""
_ELSEWHERE: Final = 0.85
"""What is left of the score of a fact that names no place, where the question asks for one."""
_BESIDE: Final = 0.93
"""What is left of the score of a fact of another kind than the question asks for."""
_MOST_WORDS: Final = 12
_BY_KIND, _LEAST, _MOST_FACTS = 0.9, 0.3, 8
"""The score of facts that only their kind speaks for, in parts of the best, and at the least; and how many are read."""
_UNKNOWN: Final = 0.75
"""What is left of every score where the question names what was never mentioned."""
_LATER: Final = 0.6
"""What is left of the score of what was said long after the time that the question asks for."""
_AFTERWARDS: Final = timedelta(days=21)
"""How long after something people tell of it."""
_AS_GOOD: Final = 0.6
"""How near a fact's score must come to its source's for both to be one hit."""
_SURE_OF_EVENTS: Final = 0.8
"""The confidence from which a revision counts where the question asks for what happened."""
_WHOLE: Final = 0.6
"""The share of a text's terms that revised statements must cover for all of it to count as revised."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_Revisions: TypeAlias = Mapping[str, Mapping[str, Revision]]
"""By record, then by what made it."""


def pool_size(limit: int, most: int) -> int:
    """Return how many ranked records to look at for so many hits: the same for all small limits."""
    return min(most, max(40, 2 * limit))


def read_revisions(
    engine: Engine, tenant: str, ids: Sequence[str], *, known_at: datetime | None = None
) -> dict[str, dict[str, Revision]]:
    """Return what later statements made of some records, by record and by what made it; rejected ones without confidence."""
    if not ids:
        return {}
    wanted: dict[str, str] = {engine.ids.revision(tenant, id): id for id in ids}
    filter = Filter(scope=Scope(tenant=tenant), kinds=(REVISION,), ids=tuple(wanted), known_at=known_at)
    records = engine.store.read(filter, engine.now())
    # By its own id: what a caller wrote into its data makes it say nothing about another record.
    return {
        wanted[record.id]: {
            **revisions_of(record),
            **{key: replace(revision, confidence=0.0) for key, revision in rejections_of(record).items()},
        }
        for record in records
        if is_revision(record)
    }


def active_revisions(revisions: Iterable[Revision], moment: datetime, *, least: float = SURE) -> list[Revision]:
    """Return the revisions that are sure enough to count and had taken effect by a moment."""
    return [revision for revision in revisions if revision.confidence >= least and revision.at <= moment]


def wholly_revised(engine: Engine, text: str, revisions: Sequence[Revision]) -> bool:
    """Whether what was revised is all that a text says, or nearly."""
    terms = engine.analyzer.terms
    whole = terms(text)
    if not whole or any(revision.wording is None for revision in revisions):
        return True
    revised = {term for revision in revisions for term in terms(revision.wording or "")}
    return sum(term in revised for term in whole) >= _WHOLE * len(whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """What one question knows about its hits."""

    engine: Engine
    filter: Filter
    question: Question
    speakers: tuple[str, ...]
    """The labels that `question.speakers` are numbers of."""
    strangers: frozenset[str] = frozenset()
    """The records from rooms in which none of the persons that the question means ever spoke."""
    unknown: bool = False
    """The question names somebody or something that was never mentioned here."""
    size: int = 0
    """How many records the question looks among."""
    terms: int = 0
    """How many terms they are indexed under."""

    def resolve(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with their standing, in their new order, best first."""
        found = [_scaled(hit, _UNKNOWN, "unknown") for hit in hits] if self.unknown else list(hits)
        found = self._of_its_time(self._about(self._asked_for(found)))
        revisions = self._revisions(found)
        found = _folded(self._revised(found, revisions))
        return self._before_the_value(self._select(found, revisions))

    def _revisions(self, hits: Sequence[Hit]) -> dict[str, dict[str, Revision]]:
        """Return what later statements made of the hits, by record and by what made it."""
        tenant, ids = self.filter.scope.tenant, [hit.id for hit in hits]
        return read_revisions(self.engine, tenant, ids, known_at=self.filter.known_at)

    def _select(self, hits: list[Hit], revisions: _Revisions) -> list[Hit]:
        """Return the hits with those that answer for the time that the question asks about before the others."""
        text = self.question.text
        if self.question.unspecific or not (hits or self._is_small):
            return hits  # whose and when it was decides
        ends = [window.end for window in self._ended_windows]
        until = self.filter.valid_at or (_EPOCH + timedelta(milliseconds=max(ends)) if ends else None)
        if not is_plain_question(text) or not (self._is_small or asks_for_state(text) or asks_for_past_state(text)):
            return hits
        rejected = frozenset(
            (id, revision.by)
            for id, found in revisions.items()
            for revision in found.values()
            if not revision.confidence
        )
        persons = frozenset(" ".join(name.casefold().split()) for name in self._names)
        selection = Selection(
            selector=self.engine.answer_selector,
            question=ClaimQuestion(text=text, at=self._asked, until=until, persons=persons),
            terms=self.terms,
            rejected=rejected,
        )
        return _folded(selection.apply(self._with_possible(hits, revisions)))

    @property
    def _is_small(self) -> bool:
        return self.size <= SMALL

    def _with_possible(self, hits: list[Hit], revisions: _Revisions) -> list[Hit]:
        """Return the first hits with what may have revised them, though the question did not find it."""
        here = {id for hit in hits for id in (hit.id, *(source.id for source in hit.sources))}
        first = {id for hit in hits[:MOST_CLAIMS] for id in (hit.id, *(source.id for source in hit.sources))}
        wanted = {
            revision.by
            for id in first
            for revision in revisions.get(id, {}).values()
            if revision.by and revision.at <= self._asked and revision.by not in here
        }
        records = [*self._allowed(wanted), *self._others(here | wanted)]
        return [*hits[:MOST_CLAIMS], *(Hit(record=record, score=0.0) for record in records), *hits[MOST_CLAIMS:]]

    def _others(self, here: Container[str]) -> list[Record]:
        """Return what else was said in a small scope: what answers need not have a word of the question."""
        if not self._is_small:
            return []
        kinds = [kind for kind in ("message", "note") if not self.filter.kinds or kind in self.filter.kinds]
        found = self.engine.store.read(self.filter.narrowed(kinds=tuple(kinds)), self.engine.now()) if kinds else ()
        return [record for record in found if record.id not in here and record.data.get("role", "user") == "user"]

    def _allowed(self, ids: Iterable[str]) -> Sequence[Record]:
        """Return those of some records that the question may find."""
        if self.filter.ids is not None:
            ids = set(ids).intersection(self.filter.ids)
        found = tuple(ids)
        return self.engine.store.read(self.filter.narrowed(ids=found), self.engine.now()) if found else ()

    # ---- what it asks for

    def _asked_for(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with the facts that the question asks for by their kind, whatever their words."""
        predicates = asked_predicates(self.question.text)
        if not predicates:
            return list(hits)
        where, past = asks_where(self.question.text), asks_about_past(self.question.text)
        found = [hit if past else self._lifted(hit, predicates, where=where) for hit in hits]
        direct: set[str] = set()
        if self._facts_wanted:
            best = max((hit.score for hit in found), default=0.0)
            score = max(best * (1.0 if past else _BY_KIND), _LEAST)
            answers = {record.id: record for record in self._facts_of(predicates, past=past)}
            if not past:
                direct = {id for id, record in answers.items() if self._is_direct(record)}
            here = {hit.id for hit in found}
            found = [
                replace(hit, score=max(hit.score, best)) if hit.id in direct else hit
                for hit in (
                    *found,
                    *(Hit(record=record, score=score) for id, record in answers.items() if id not in here),
                )
            ]
        # What held before comes first where that is asked for, and only there is it among what is looked at.
        return sorted(
            found, key=lambda hit: (-hit.score, hit.id not in direct, hit.record.data.get("status") != "superseded")
        )

    def _is_direct(self, record: Record) -> bool:
        """Tell whether a fact is the one answer: of the very person, and of a matter that has one value."""
        return predicate_of(record) in SINGLE and self._is_about_named(record)

    def _names_subject(self, record: Record) -> bool:
        """Tell whether the question has the words for the subject of a fact: "my sister"."""
        subject = set(
            self.engine.analyzer.terms(str(record.data.get("subject", "")).partition("'s ")[2] or record.text)
        )
        return not subject.isdisjoint(self.question.terms)

    def _is_about_named(self, record: Record) -> bool:
        names = {" ".join(name.casefold().split()) for name in self._names}
        return not names or " ".join(str(record.data.get("subject", "")).casefold().split()) in names

    @property
    def _facts_wanted(self) -> bool:
        kinds = self.filter.kinds
        return (not kinds or "fact" in kinds) and bool(self._names)

    @property
    def _names(self) -> list[str]:
        """The persons that the question means; the asker, where it names nobody."""
        names = [self.speakers[number] for number in self.question.speakers]
        asker = self.filter.scope.user
        return names or ([asker] if asker is not None else [])

    def _facts_of(self, predicates: Iterable[str], *, past: bool) -> list[Record]:
        """Return the facts of the persons and things that the question names which would answer it, newest first."""
        names = [" ".join(name.casefold().split()) for name in self._names]
        words = [word.casefold() for word in self.engine.analyzer.content(self.question.text)][:_MOST_WORDS]
        subjects = dict.fromkeys((*names, *words, *(f"{name}'s {word}" for name in names for word in words)))
        statuses = ["superseded"] if past else ["current", "disputed"]
        conditions = (
            Condition("data", ("match", "subject"), "$in", list(subjects)),
            Condition("data", ("predicate",), "$in", sorted(predicates)),
            Condition("data", ("status",), "$in", statuses),
        )
        filter = self.filter.narrowed(kinds=("fact",), conditions=(*self.filter.conditions, *conditions))
        found = self.engine.store.read(filter, self.engine.now(), limit=_MOST_FACTS)
        return [
            record for record in reversed(found) if past or record.valid_to is None or record.valid_to > self._asked
        ]

    def _lifted(self, hit: Hit, predicates: frozenset[str], *, where: bool) -> Hit:
        if hit.record.kind != "fact":
            return hit
        predicate = predicate_of(hit.record)
        if predicate in predicates:
            if self._is_about_named(hit.record):
                return _scaled(hit, 1 + (1 - hit.score) * _LIFT, "asked")
            return hit if self._names_subject(hit.record) else _scaled(hit, OF_ANOTHER, "person")
        return _scaled(hit, _ELSEWHERE if where and predicate not in PLACES else _BESIDE, "asked")

    # ---- whom it is about

    def _about(self, hits: Sequence[Hit]) -> list[Hit]:
        names = [self.speakers[number] for number in self.question.speakers]
        about = PersonMatcher(
            names if len(names) < len(self.speakers) else (), self.question, self.engine.analyzer.terms
        )
        judged: list[Hit] = []
        for hit in hits:
            factor = about.factor(hit.record, stranger=hit.id in self.strangers)
            judged.append(hit if factor == 1 else _scaled(hit, factor, "person"))
        return sorted(judged, key=lambda hit: -hit.score)

    # ---- when it was so

    def _of_its_time(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, those lowered that speak of a later time than the question asks for."""
        ends = [window.end for window in self._ended_windows] if asks_what_happened(self.question.text) else []
        latest = None if not ends else _EPOCH + timedelta(milliseconds=max(ends)) + _AFTERWARDS
        if latest is None:
            return list(hits)
        judged = [_scaled(hit, _LATER, "time") if hit.record.at > latest else hit for hit in hits]
        return sorted(judged, key=lambda hit: -hit.score)

    def _before_the_value(self, hits: list[Hit]) -> list[Hit]:
        """Return the hits, those lowered that name what the question says came after: Porto in "before Porto"."""
        terms = self.engine.analyzer.terms
        value = set(terms(value_left_behind(self.question.text)))
        if not value:
            return hits
        judged = [
            _scaled(hit, _LATER, "time")
            if value <= {term for record in (hit.record, *hit.sources) for term in terms(record.text)}
            else hit
            for hit in hits
        ]
        return sorted(judged, key=lambda hit: -hit.score)

    # ---- whether it still holds

    def _revised(self, hits: list[Hit], revisions: _Revisions) -> list[Hit]:
        counting = {
            id: [revision for revision in found.values() if self._counts(revision)] for id, found in revisions.items()
        }
        judged = _with_facts([self._judge(hit, counting.get(hit.id, ())) for hit in hits])
        replacing = self._replacements(judged)
        scores = {hit.id: hit.score for hit in judged}
        everything = {hit.id: hit for hit in judged}
        second: set[str] = set()
        """What stands behind its other half."""
        for hit in judged:
            newer = replacing.get(hit.superseded_by or "")
            if newer is None or newer.id == hit.id:
                continue
            everything[newer.id] = replace(everything.get(newer.id, newer), status="current")
            # What itself tells of the past answers a question about it.
            old_first = self._old_first(counting.get(hit.id, ())) and not tells_of_past(newer.text)
            first, other = (hit.id, newer.id) if old_first else (newer.id, hit.id)
            scores[first] = max(scores.get(first, 0.0), scores.get(other, 0.0))
            scores.setdefault(other, scores[first])
            second.add(other)
        ordered = sorted(everything, key=lambda id: (-scores[id], id in second))
        return [replace(everything[id], score=scores[id]) for id in ordered]

    @property
    def _ended_windows(self) -> list[TimeWindow]:
        """The times that the question names and that were over when it was asked."""
        return [window for window in self.question.windows if window.end <= self.question.at]

    def _counts(self, revision: Revision) -> bool:
        """Tell whether a revision is sure enough for the question."""
        if (
            asks_what_happened(self.question.text)
            and not asks_about_past(self.question.text)
            and not self._ended_windows
        ):
            return revision.confidence >= _SURE_OF_EVENTS
        return revision.confidence >= SURE

    def _judge(self, hit: Hit, revisions: Iterable[Revision]) -> Hit:
        """Return a hit with its status."""
        record = hit.record
        moment = self.filter.valid_at or max(self._asked, record.at)
        active = [revision for revision in revisions if revision.at <= moment]
        if active and self._concerned(record, active):
            newest = max(active, key=lambda revision: revision.at)
            return replace(hit, status="superseded", superseded_by=newest.by or None)
        if record.kind == "fact":
            holds = record.data.get("status") in ("current", "disputed") and (
                record.valid_to is None or record.valid_to > moment
            )
            return replace(hit, status="current" if holds else "superseded")
        return hit

    @property
    def _asked(self) -> datetime:
        # Its time was cut to milliseconds, and what was said just before must not count as said later.
        return _EPOCH + timedelta(milliseconds=self.question.at + 1)

    def _old_first(self, revisions: Iterable[Revision]) -> bool:
        """Tell whether the question wants the earlier statement: it asks about the past, or names a time before the change."""
        times = [(revision.at - _EPOCH) // timedelta(milliseconds=1) for revision in revisions]
        if self._ended_windows:
            return any(window.end <= max(times, default=0) for window in self._ended_windows)
        return asks_about_past(self.question.text)

    def _concerned(self, record: Record, revisions: Sequence[Revision]) -> bool:
        """Tell whether what the question asks for is the part of a record that was revised."""
        if wholly_revised(self.engine, record.text, revisions):
            return True
        terms = self.engine.analyzer.terms
        revised = {term for revision in revisions for term in terms(revision.wording or "")}
        asked = set(self.question.terms)
        return len(asked & revised) > len(asked & (set(terms(record.text)) - revised))

    def _replacements(self, hits: Sequence[Hit]) -> dict[str, Hit]:
        """Return, by the id that a superseded hit names, the hit that holds now; none where the filter hides it."""
        here = {hit.id: hit for hit in hits}
        wanted = {hit.superseded_by for hit in hits if hit.superseded_by is not None}
        found = {id: replace(here[id], status="current") for id in wanted if id in here}
        missing = wanted - found.keys()
        if not missing:
            return found
        now = self.engine.now()
        tenant = Filter(scope=Scope(tenant=self.filter.scope.tenant), ids=tuple(missing), known_at=self.filter.known_at)
        for record in self.engine.store.read(tenant, now):
            # A filter that leaves facts out means the message behind the fact.
            for id in (record.id, *reversed(source_ids(record))):
                if id in here:
                    found[record.id] = replace(here[id], status="current")
                    break
                if seen := self._allowed((id,)):
                    found[record.id] = Hit(record=seen[0], score=0.0, status="current")
                    break
        return found


def _with_facts(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with facts marked as superseded where all that they stand on is."""
    replacing = {hit.id: hit.superseded_by for hit in hits if hit.status == "superseded"}
    found: list[Hit] = []
    for hit in hits:
        sources = source_ids(hit.record)
        if sources and hit.status == "current" and replacing.keys() >= set(sources):
            newest = replacing[sources[-1]]
            if newest not in (None, hit.id):
                found.append(replace(hit, status="superseded", superseded_by=newest))
                continue
        found.append(hit)
    return found


def _scaled(hit: Hit, factor: float, reason: str) -> Hit:
    lost = hit.score * (factor - 1)
    reasons = {**hit.reasons, reason: lost} if hit.reasons else hit.reasons
    return replace(hit, score=hit.score + lost, reasons=reasons)


def _folded(hits: Sequence[Hit]) -> list[Hit]:
    """Join facts with the records they were learned from, where both were found: one hit, the fact first."""
    joined = _joined(hits)
    told = {hit.text for hit in joined if hit.sources}
    # The same fact may stand in several places; the one with its source says more.
    return [hit for hit in joined if hit.sources or hit.record.kind != "fact" or hit.text not in told]


def _joined(hits: Sequence[Hit]) -> list[Hit]:
    places = {hit.id: place for place, hit in enumerate(hits)}
    joined: dict[int, Hit] = {}
    gone: set[int] = set()
    for place, hit in enumerate(hits):
        if hit.record.kind != "fact":
            continue
        sources = [
            other
            for id in source_ids(hit.record)
            if (other := places.get(id)) is not None
            and other not in gone
            and (hits[other].status == "superseded") == (hit.status == "superseded")
            and hit.score >= _AS_GOOD * hits[other].score
        ]
        if sources:
            first = min(place, *sources)
            score = max(hit.score, *(hits[other].score for other in sources))
            gone.update({place, *sources})
            joined[first] = replace(hit, score=score, sources=tuple(hits[other].record for other in sorted(sources)))
    return [joined.get(place, hit) for place, hit in enumerate(hits) if place not in gone or place in joined]
