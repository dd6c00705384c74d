"""From ranked records to answers: whom each is about, whether it still holds, and a fact with its source as one hit.

Ranking knows words, vectors and times. This asks what is known: a statement that something later revised stands below what
replaced it (above it, where the question asks about the past), and what another person says of themselves is not about the
person that the question names.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from rememo.engine.engine import Engine
from rememo.model.filters import Condition, Filter
from rememo.model.hit import Hit
from rememo.model.record import REVISION, Record
from rememo.model.revision import UNSURE, Revision, revisions_of
from rememo.model.scope import Scope
from rememo.recall.asked import PLACES, asked_predicates, asks_where
from rememo.recall.tense import asks_about_past
from rememo.recall.types import Question

_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|myself|me|we|we're|our|us)\b", re.IGNORECASE)
_SECOND_PERSON: Final = re.compile(r"\b(?:you|your|yours|you're|you've)\b", re.IGNORECASE)
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
_ANOTHER: Final = 0.6
"""What is left of the score of what another person says of themselves."""
_AS_GOOD: Final = 0.6
"""How near a fact's score must come to its source's for both to be one hit."""
_WHOLE: Final = 0.6
"""The share of a text's terms that revised statements must cover for all of it to count as revised."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def pool_size(limit: int, most: int) -> int:
    """Return how many ranked records to look at for so many hits: the same for all small limits."""
    return min(most, max(40, 2 * limit))


def read_revisions(
    engine: Engine, tenant: str, ids: Sequence[str], *, known_at: datetime | None = None
) -> dict[str, dict[str, Revision]]:
    """Return what later statements made of some records, by record and by what made it."""
    if not ids:
        return {}
    wanted = tuple(engine.ids.revision(tenant, id) for id in ids)
    filter = Filter(scope=Scope(tenant=tenant), kinds=(REVISION,), ids=wanted, known_at=known_at)
    return {record.data["record"]: revisions_of(record) for record in engine.store.read(filter, engine.now())}


def active_revisions(revisions: Iterable[Revision], moment: datetime) -> list[Revision]:
    """Return the revisions that are sure enough to count and had taken effect by a moment."""
    return [one for one in revisions if one.confidence >= UNSURE and one.at <= moment]


def wholly_revised(engine: Engine, text: str, revisions: Sequence[Revision]) -> bool:
    """Whether what was revised is all that a text says, or nearly."""
    terms = engine.analyzer.terms
    whole = terms(text)
    if not whole or any(one.wording is None for one in revisions):
        return True
    revised = {term for one in revisions for term in terms(one.wording or "")}
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

    def resolve(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with their standing, in their new order, best first."""
        found = [_scaled(hit, _UNKNOWN, "unknown") for hit in hits] if self.unknown else list(hits)
        found = self._about(self._asked_for(found))
        found = self._revised(found)
        return _folded(found)

    # ---- what it asks for

    def _asked_for(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with the facts that the question asks for by their kind, whatever their words."""
        predicates = asked_predicates(self.question.text)
        if not predicates:
            return list(hits)
        where, past = asks_where(self.question.text), asks_about_past(self.question.text)
        here = {hit.id for hit in hits}
        found = [hit if past else self._lifted(hit, predicates, where=where) for hit in hits]
        if self._facts_wanted:
            best = max((hit.score for hit in hits), default=0.0)
            score = max(best * (1.0 if past else _BY_KIND), _LEAST)
            more = self._facts_of(predicates, past=past)
            found += [Hit(record=record, score=score) for record in more if record.id not in here]
        # What held before comes first where that is asked for, and only there is it among what is looked at.
        return sorted(found, key=lambda hit: (-hit.score, hit.record.data.get("status") != "superseded"))

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
        predicate = hit.record.data.get("predicate")
        if predicate in predicates:
            return _scaled(hit, 1 + (1 - hit.score) * _LIFT, "asked")
        return _scaled(hit, _ELSEWHERE if where and predicate not in PLACES else _BESIDE, "asked")

    # ---- whom it is about

    def _about(self, hits: Sequence[Hit]) -> list[Hit]:
        names = [self.speakers[number] for number in self.question.speakers]
        if not names or len(names) == len(self.speakers):
            return list(hits)
        about = _About(names)
        judged = [
            hit if about.may_mean(hit.record, stranger=hit.id in self.strangers) else _scaled(hit, _ANOTHER, "person")
            for hit in hits
        ]
        return sorted(judged, key=lambda hit: -hit.score)

    # ---- whether it still holds

    def _revised(self, hits: list[Hit]) -> list[Hit]:
        revisions = read_revisions(
            self.engine, self.filter.scope.tenant, [hit.id for hit in hits], known_at=self.filter.known_at
        )
        past = asks_about_past(self.question.text)
        judged = [self._judge(hit, revisions.get(hit.id, {}).values()) for hit in hits]
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
            old_first = past or self._held_then(revisions[hit.id].values())
            first, other = (hit.id, newer.id) if old_first else (newer.id, hit.id)
            scores[first] = max(scores.get(first, 0.0), scores.get(other, 0.0))
            scores.setdefault(other, scores[first])
            second.add(other)
        ordered = sorted(everything, key=lambda id: (-scores[id], id in second))
        return [replace(everything[id], score=scores[id]) for id in ordered]

    def _judge(self, hit: Hit, revisions: Iterable[Revision]) -> Hit:
        """Return a hit with its status."""
        record = hit.record
        moment = self.filter.valid_at or max(self._asked, record.at)
        active = active_revisions(revisions, moment)
        if active and self._concerned(record, active):
            newest = max(active, key=lambda one: one.at)
            return replace(hit, status="superseded", superseded_by=newest.by)
        if record.kind == "fact":
            holds = record.data.get("status") in ("current", "disputed") and (
                record.valid_to is None or record.valid_to > moment
            )
            return replace(hit, status="current" if holds else "superseded")
        return hit

    @property
    def _asked(self) -> datetime:
        return _EPOCH + timedelta(milliseconds=self.question.at)

    def _held_then(self, revisions: Iterable[Revision]) -> bool:
        """Tell whether the question names a time at which the earlier statement still held."""
        times = [(one.at - _EPOCH) // timedelta(milliseconds=1) for one in revisions if one.confidence >= UNSURE]
        return any(
            window.end <= self.question.at and window.end <= max(times, default=0) for window in self.question.windows
        )

    def _concerned(self, record: Record, revisions: Sequence[Revision]) -> bool:
        """Tell whether what the question asks for is the part of a record that was revised."""
        if wholly_revised(self.engine, record.text, revisions):
            return True
        terms = self.engine.analyzer.terms
        revised = {term for one in revisions for term in terms(one.wording or "")}
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
            for id in (record.id, *reversed(record.data.get("sources") or ())):
                if id in here:
                    found[record.id] = replace(here[id], status="current")
                    break
                if seen := self.engine.store.read(self.filter.narrowed(ids=(id,)), now, limit=1):
                    found[record.id] = Hit(record=seen[0], score=0.0, status="current")
                    break
        return found


class _About:
    """Tells whether records may be about some persons."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {" ".join(name.casefold().split()) for name in names}
        self._named = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(self._names)))})\b", re.IGNORECASE)

    def may_mean(self, record: Record, *, stranger: bool) -> bool:
        """Tell whether a record may say something about one of the persons.

        Whoever talks with a person may well be speaking of them; a stranger's "I" is the stranger.
        """
        if record.kind == "fact":
            return bool(self._named.search(record.text))
        if not stranger or record.kind not in ("message", "note", "post", "thought"):
            return True
        role = record.data.get("role", "user")
        speaker = str(record.data.get("name") or record.scope.user or "")
        if role != "user" or not speaker or " ".join(speaker.casefold().split()) in self._names:
            return True
        text = record.text
        return bool(not _FIRST_PERSON.search(text) or _SECOND_PERSON.search(text) or self._named.search(text))


def _scaled(hit: Hit, factor: float, reason: str) -> Hit:
    lost = hit.score * (factor - 1)
    reasons = {**hit.reasons, reason: lost} if hit.reasons else hit.reasons
    return replace(hit, score=hit.score + lost, reasons=reasons)


def _folded(hits: Sequence[Hit]) -> list[Hit]:
    """Join facts with the records they were learned from, where both were found: one hit, the fact first."""
    places = {hit.id: place for place, hit in enumerate(hits)}
    joined: dict[int, Hit] = {}
    gone: set[int] = set()
    for place, hit in enumerate(hits):
        if hit.record.kind != "fact" or hit.status == "superseded":
            continue
        sources = [
            other
            for id in hit.record.data.get("sources") or ()
            if (other := places.get(id)) is not None
            and other not in gone
            and hits[other].status != "superseded"
            and hit.score >= _AS_GOOD * hits[other].score
        ]
        if sources:
            first = min(place, *sources)
            score = max(hit.score, *(hits[other].score for other in sources))
            gone.update({place, *sources})
            joined[first] = replace(hit, score=score, sources=tuple(hits[other].record for other in sorted(sources)))
    return [joined.get(place, hit) for place, hit in enumerate(hits) if place not in gone or place in joined]
