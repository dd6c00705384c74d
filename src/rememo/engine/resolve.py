"""From ranked records to answers: whom each is about, and whether it still holds.

Ranking knows words, vectors and times. What is known besides decides here: a statement that something later revised stands below what
replaced it (above it, where the question asks about the past), and what another person says of themselves is not about the
person that the question names.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from rememo.engine.asked_facts import AskedFacts
from rememo.engine.engine import Engine
from rememo.engine.hit_folding import fold_facts
from rememo.engine.hit_scores import scale
from rememo.engine.person_matching import PersonMatcher
from rememo.engine.revisions import fact_holds, read_revisions, wholly_revised
from rememo.engine.selection import MOST_CLAIMS, SMALL, Selection
from rememo.model.fact import folded, source_ids
from rememo.model.filters import Filter
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.model.revision import SURE, Revision
from rememo.model.scope import Scope
from rememo.recall.answers.claim import ClaimQuestion
from rememo.recall.tense import (
    asks_about_past,
    asks_for_past_state,
    asks_for_state,
    asks_what_happened,
    is_plain_question,
    tells_of_past,
)
from rememo.recall.types import Question, TimeWindow

_UNKNOWN: Final = 0.75
"""What is left of every score where the question names what was never mentioned."""
_LATER: Final = 0.6
"""What is left of the score of what was said long after the time that the question asks for."""
_AFTERWARDS: Final = timedelta(days=21)
"""How long after something people tell of it."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_Revisions: TypeAlias = Mapping[str, Mapping[str, Revision]]
"""By record, then by what made it."""


def pool_size(limit: int, most: int) -> int:
    """Return how many ranked records to look at for so many hits: the same for all small limits."""
    return min(most, max(40, 2 * limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Orders the hits of one question by what is known about them."""

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
        """Return the hits with their status in a new order, best first."""
        ordered = [scale(hit, _UNKNOWN, "unknown") for hit in hits] if self.unknown else list(hits)
        ordered = self._lower_later(self._lower_other_persons(self._asked_facts.add_to(ordered)))
        revisions = self._revisions(ordered)
        ordered = fold_facts(self._apply_revisions(ordered, revisions))
        return self._select_answers(ordered, revisions)

    @property
    def _asked_facts(self) -> AskedFacts:
        return AskedFacts(
            engine=self.engine,
            filter=self.filter,
            question=self.question,
            persons=self._names,
            asked_at=self._asked_at,
        )

    def _revisions(self, hits: Sequence[Hit]) -> dict[str, dict[str, Revision]]:
        """Return what later statements made of the hits, by record and by what made it."""
        tenant, ids = self.filter.scope.tenant, [hit.id for hit in hits]
        return read_revisions(self.engine, tenant, ids, known_at=self.filter.known_at)

    def _select_answers(self, hits: list[Hit], revisions: _Revisions) -> list[Hit]:
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
            for id, record_revisions in revisions.items()
            for revision in record_revisions.values()
            if not revision.confidence
        )
        persons = frozenset(map(folded, self._names))
        selection = Selection(
            selector=self.engine.answer_selector,
            question=ClaimQuestion(text=text, at=self._asked_at, until=until, persons=persons),
            terms=self.terms,
            rejected=rejected,
        )
        return fold_facts(selection.apply(self._add_possible_answers(hits, revisions)))

    @property
    def _is_small(self) -> bool:
        return self.size <= SMALL

    def _add_possible_answers(self, hits: list[Hit], revisions: _Revisions) -> list[Hit]:
        """Return the first hits with what may have revised them, though the question did not find it."""
        seen_ids = {id for hit in hits for id in (hit.id, *(source.id for source in hit.sources))}
        first = {id for hit in hits[:MOST_CLAIMS] for id in (hit.id, *(source.id for source in hit.sources))}
        revising_ids = {
            revision.by
            for id in first
            for revision in revisions.get(id, {}).values()
            if revision.by and revision.at <= self._asked_at and revision.by not in seen_ids
        }
        records = [*self._read_visible(revising_ids), *self._other_messages(seen_ids | revising_ids)]
        return [*hits[:MOST_CLAIMS], *(Hit(record=record, score=0.0) for record in records), *hits[MOST_CLAIMS:]]

    def _other_messages(self, seen_ids: Container[str]) -> list[Record]:
        """Return what else was said in a small scope: what answers need not have a word of the question."""
        if not self._is_small:
            return []
        kinds = [kind for kind in ("message", "note") if not self.filter.kinds or kind in self.filter.kinds]
        records = self.engine.store.read(self.filter.narrowed(kinds=tuple(kinds)), self.engine.now()) if kinds else ()
        return [record for record in records if record.id not in seen_ids and record.data.get("role", "user") == "user"]

    def _read_visible(self, ids: Iterable[str]) -> Sequence[Record]:
        """Return those of some records that the question may find."""
        if self.filter.ids is not None:
            ids = set(ids).intersection(self.filter.ids)
        visible = tuple(ids)
        return self.engine.store.read(self.filter.narrowed(ids=visible), self.engine.now()) if visible else ()

    @property
    def _names(self) -> list[str]:
        """The persons that the question means; the user who asks, where it names none."""
        names = [self.speakers[number] for number in self.question.speakers]
        asker = self.filter.scope.user
        return names or ([asker] if asker is not None else [])

    # ---- whom it is about

    def _lower_other_persons(self, hits: Sequence[Hit]) -> list[Hit]:
        names = [self.speakers[number] for number in self.question.speakers]
        about = PersonMatcher(
            names if len(names) < len(self.speakers) else (), self.question, self.engine.analyzer.terms
        )
        judged: list[Hit] = []
        for hit in hits:
            factor = about.factor(hit.record, stranger=hit.id in self.strangers)
            judged.append(hit if factor == 1 else scale(hit, factor, "person"))
        return sorted(judged, key=lambda hit: -hit.score)

    # ---- when it was so

    def _lower_later(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, those lowered that speak of a later time than the question asks for."""
        ends = [window.end for window in self._ended_windows] if asks_what_happened(self.question.text) else []
        latest = None if not ends else _EPOCH + timedelta(milliseconds=max(ends)) + _AFTERWARDS
        if latest is None:
            return list(hits)
        judged = [scale(hit, _LATER, "time") if hit.record.at > latest else hit for hit in hits]
        return sorted(judged, key=lambda hit: -hit.score)

    # ---- whether it still holds

    def _apply_revisions(self, hits: list[Hit], revisions: _Revisions) -> list[Hit]:
        counting = {
            id: [revision for revision in record_revisions.values() if revision.confidence >= SURE]
            for id, record_revisions in revisions.items()
        }
        judged = _with_facts([self._with_status(hit, counting.get(hit.id, ())) for hit in hits])
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
            old_first = self._wants_earlier(counting.get(hit.id, ())) and not tells_of_past(newer.text)
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

    def _with_status(self, hit: Hit, revisions: Iterable[Revision]) -> Hit:
        """Return a hit with its status."""
        record = hit.record
        as_of = self.filter.valid_at or max(self._asked_at, record.at)
        active = [revision for revision in revisions if revision.at <= as_of]
        if active and self._is_asked_part_revised(record, active):
            newest = max(active, key=lambda revision: revision.at)
            return replace(hit, status="superseded", superseded_by=newest.by or None)
        if record.kind == "fact":
            return replace(hit, status="current" if fact_holds(record, as_of) else "superseded")
        return hit

    @property
    def _asked_at(self) -> datetime:
        # Its time was cut to milliseconds, and what was said just before must not count as said later.
        return _EPOCH + timedelta(milliseconds=self.question.at + 1)

    def _wants_earlier(self, revisions: Iterable[Revision]) -> bool:
        """Tell whether the question wants the earlier statement: it asks about the past, or names a time before the change."""
        times = [(revision.at - _EPOCH) // timedelta(milliseconds=1) for revision in revisions]
        if self._ended_windows:
            return any(window.end <= max(times, default=0) for window in self._ended_windows)
        return asks_about_past(self.question.text)

    def _is_asked_part_revised(self, record: Record, revisions: Sequence[Revision]) -> bool:
        """Tell whether what the question asks for is the part of a record that was revised."""
        if wholly_revised(self.engine, record.text, revisions):
            return True
        terms = self.engine.analyzer.terms
        revised_terms = {term for revision in revisions for term in terms(revision.wording or "")}
        asked_terms = set(self.question.terms)
        return len(asked_terms & revised_terms) > len(asked_terms & (set(terms(record.text)) - revised_terms))

    def _replacements(self, hits: Sequence[Hit]) -> dict[str, Hit]:
        """Return, by the id that a superseded hit names, the hit that holds now; none where the filter hides it."""
        hits_by_id = {hit.id: hit for hit in hits}
        replacing_ids = {hit.superseded_by for hit in hits if hit.superseded_by is not None}
        replacements = {id: replace(hits_by_id[id], status="current") for id in replacing_ids if id in hits_by_id}
        missing = replacing_ids - replacements.keys()
        if not missing:
            return replacements
        now = self.engine.now()
        tenant = Filter(scope=Scope(tenant=self.filter.scope.tenant), ids=tuple(missing), known_at=self.filter.known_at)
        for record in self.engine.store.read(tenant, now):
            # A filter that leaves facts out means the message behind the fact.
            for id in (record.id, *reversed(source_ids(record))):
                if id in hits_by_id:
                    replacements[record.id] = replace(hits_by_id[id], status="current")
                    break
                if visible := self._read_visible((id,)):
                    replacements[record.id] = Hit(record=visible[0], score=0.0, status="current")
                    break
        return replacements


def _with_facts(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with facts marked as superseded where all that they stand on is."""
    replacing = {hit.id: hit.superseded_by for hit in hits if hit.status == "superseded"}
    judged: list[Hit] = []
    for hit in hits:
        sources = source_ids(hit.record)
        if sources and hit.status == "current" and replacing.keys() >= set(sources):
            newest = replacing[sources[-1]]
            if newest not in (None, hit.id):
                judged.append(replace(hit, status="superseded", superseded_by=newest))
                continue
        judged.append(hit)
    return judged
