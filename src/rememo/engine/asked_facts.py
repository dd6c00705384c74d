"""The facts that a question asks for by their kind, whatever their words: "where does she live" asks for `lives_in`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from rememo.engine.engine import Engine
from rememo.engine.hit_scores import scale
from rememo.engine.person_matching import OF_ANOTHER
from rememo.model.fact import folded, predicate_of
from rememo.model.filters import Condition, Filter
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.recall.asked import PLACES, SINGLE, asked_predicates, asks_where, names_other_favourite
from rememo.recall.tense import asks_about_past
from rememo.recall.types import Question

_LIFT: Final = 0.25
"""How far the score of a fact that the question asks for by its kind is lifted, of what is left to one."""
_ELSEWHERE: Final = 0.85
"""What is left of the score of a fact that names no place, where the question asks for one."""
_BESIDE: Final = 0.93
"""What is left of the score of a fact of another kind than the question asks for."""
_OTHER_FAVOURITE: Final = 0.5
"""What is left of the score of a favourite of another kind than the question asks for."""
_MOST_WORDS: Final = 12
_BY_KIND, _LEAST, _MOST_FACTS = 0.9, 0.3, 8
"""The score of facts that only their kind speaks for, in parts of the best, and at the least; and how many are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFacts:
    """What a question asks for by kind, among the facts that its filter admits."""

    engine: Engine
    filter: Filter
    question: Question
    persons: Sequence[str]
    """Whom the question means; the user who asks, where it names none."""
    asked_at: datetime

    def add_to(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with the facts that the question asks for by their kind, whatever their words."""
        predicates = asked_predicates(self.question.text)
        if not predicates:
            return list(hits)
        where, past = asks_where(self.question.text), asks_about_past(self.question.text)
        hits = [
            scale(hit, _OTHER_FAVOURITE, "asked") if names_other_favourite(self.question.text, hit.text) else hit
            for hit in hits
        ]
        judged = [hit if past else self._lifted(hit, predicates, where=where) for hit in hits]
        direct: set[str] = set()
        if self._facts_wanted:
            best = max((hit.score for hit in judged), default=0.0)
            score = max(best * (1.0 if past else _BY_KIND), _LEAST)
            answers = {record.id: record for record in self._facts_of(predicates, past=past)}
            if not past:
                direct = {id for id, record in answers.items() if self._is_direct(record)}
            here = {hit.id for hit in judged}
            judged = [
                replace(hit, score=max(hit.score, best)) if hit.id in direct else hit
                for hit in (
                    *judged,
                    *(Hit(record=record, score=score) for id, record in answers.items() if id not in here),
                )
            ]
        # What held before comes first where that is asked for, and only there is it among what is looked at.
        return sorted(
            judged, key=lambda hit: (-hit.score, hit.id not in direct, hit.record.data.get("status") != "superseded")
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
        names = set(map(folded, self.persons))
        return not names or folded(str(record.data.get("subject", ""))) in names

    @property
    def _facts_wanted(self) -> bool:
        kinds = self.filter.kinds
        return (not kinds or "fact" in kinds) and bool(self.persons)

    def _facts_of(self, predicates: Iterable[str], *, past: bool) -> list[Record]:
        """Return the facts of the persons and things that the question names which would answer it, newest first."""
        names = [folded(name) for name in self.persons]
        words = [word.casefold() for word in self.engine.analyzer.content(self.question.text)][:_MOST_WORDS]
        subjects = dict.fromkeys((*names, *words, *(f"{name}'s {word}" for name in names for word in words)))
        statuses = ["superseded"] if past else ["current", "disputed"]
        conditions = (
            Condition("data", ("match", "subject"), "$in", list(subjects)),
            Condition("data", ("predicate",), "$in", sorted(predicates)),
            Condition("data", ("status",), "$in", statuses),
        )
        filter = self.filter.narrowed(kinds=("fact",), conditions=(*self.filter.conditions, *conditions))
        facts = self.engine.store.read(filter, self.engine.now(), limit=_MOST_FACTS)
        return [
            record for record in reversed(facts) if past or record.valid_to is None or record.valid_to > self.asked_at
        ]

    def _lifted(self, hit: Hit, predicates: frozenset[str], *, where: bool) -> Hit:
        if hit.record.kind != "fact":
            return hit
        predicate = predicate_of(hit.record)
        if predicate in predicates:
            if self._is_about_named(hit.record):
                return scale(hit, 1 + (1 - hit.score) * _LIFT, "asked")
            return hit if self._names_subject(hit.record) else scale(hit, OF_ANOTHER, "person")
        return scale(hit, _ELSEWHERE if where and predicate not in PLACES else _BESIDE, "asked")
