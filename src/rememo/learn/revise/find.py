"""Finding what a record revises: the same person's earlier statements about the same matter."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np

from rememo.engine.engine import Engine
from rememo.learn.revise.likelihood import best_pair, explain
from rememo.learn.revise.sentence import Sentence, sentences_of
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.revision import POSSIBLE
from rememo.model.scope import Scope

_MOST_SHARING, _MOST_RECENT = 12, 8
"""Earlier records that are looked at: those that share most terms with the later one, and what was said last."""
_MOST_REVISED: Final = 3
"""Earlier records that one record revises at the most: the likeliest."""
_MOST_MATCHES: Final = 4_000
"""Places of one term beyond which it says too little to look all of them up."""
_RECENTLY, _AT_ONCE = timedelta(days=2), timedelta(hours=1)
_LONGEST_ECHO: Final = 160
_KINDS: Final = ("message", "note")


@dataclass(frozen=True, slots=True)
class RevisedStatement:
    """A statement of an earlier record that a later record revises."""

    record: Record
    later: Sentence
    earlier: Sentence
    confidence: float

    @property
    def reason(self) -> str:
        """The words that tell the change."""
        return explain(self.later)


def revised_by(engine: Engine, record: Record, home: Scope) -> list[RevisedStatement]:
    """Return what a record revises among what the same person said earlier within `home`; one for each earlier record."""
    # A sentence without a sign of change and without a value of its own is never likely enough.
    later = [sentence for sentence in _sentences(engine, record) if sentence.tells_change or sentence.frame is not None]
    if not later:
        return []
    revised: list[RevisedStatement] = []
    candidates = _candidates(engine, record, home, frozenset[str]().union(*(sentence.terms for sentence in later)))
    last = max((record for record in candidates), key=lambda record: (record.at, record.created_at), default=None)
    for earlier in candidates:
        recent = earlier.scope.room == record.scope.room and record.at - earlier.at <= _RECENTLY
        adjacent = earlier is last and record.at - earlier.at <= _AT_ONCE
        best = best_pair(later, _sentences(engine, earlier), recent=recent, adjacent=adjacent)
        if best is not None and best[0] >= POSSIBLE:
            revised.append(RevisedStatement(earlier, best[1], best[2], round(best[0], 3)))
    return sorted(revised, key=lambda revision: -revision.confidence)[:_MOST_REVISED]


def _sentences(engine: Engine, record: Record) -> tuple[Sentence, ...]:
    return sentences_of(record.text, engine.analyzer.terms)


def _candidates(engine: Engine, record: Record, home: Scope, terms: frozenset[str]) -> list[Record]:
    """Return the person's earlier records that share most terms, and the last ones."""
    now = engine.now()
    filter = Filter(scope=home, kinds=_KINDS)
    timeline = engine.store.timeline(filter, now)
    if not len(timeline.numbers):
        return []
    shared: Counter[int] = Counter()
    for match in engine.store.words(filter, sorted(terms), held=len(timeline.numbers)):
        if len(match.numbers) <= _MOST_MATCHES:
            shared.update(match.numbers[np.isin(match.numbers, timeline.numbers)].tolist())
    best = sorted(shared, key=lambda number: (-shared[number], -number))[:_MOST_SHARING]
    numbers = dict.fromkeys((*best, *np.sort(timeline.numbers)[-_MOST_RECENT:].tolist()))
    records = engine.store.fetch(home, list(numbers)).values()
    return [candidate for candidate in records if candidate.kind in _KINDS and _before(candidate, record)]


def _before(earlier: Record, later: Record) -> bool:
    """Whether a record was said before another, by the same person."""
    if earlier.id == later.id or (earlier.at, earlier.created_at, earlier.id) >= (later.at, later.created_at, later.id):
        return False
    same = earlier.data.get("name") == later.data.get("name") and earlier.scope.user == later.scope.user
    if earlier.data.get("role", "user") == "assistant":
        # An assistant that repeats what was said holds it no longer than its user does.
        return earlier.scope.user == later.scope.user and len(earlier.text) <= _LONGEST_ECHO
    return same and earlier.data.get("role", "user") == "user"
