"""Finding what a record revises: the same person's earlier statements about the same matter."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np

from rememo.context.fence import without_recalled
from rememo.engine.engine import Engine
from rememo.learn.extract.prose import own_sentences
from rememo.learn.revise.match import Revised, revised, wanted_terms
from rememo.learn.revise.sentence import Sentence
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope

_MOST_CANDIDATES: Final = 32
"""Earlier records that are read for one sentence: those that share most of its terms, the newest first."""
_MOST_SENTENCES: Final = 40
_LONGEST_SENTENCE: Final = 400
_MOST_MATCHES: Final = 4_000
"""Places of one term beyond which it says too little to look all of them up."""
_RECENTLY: Final = timedelta(days=2)
_KINDS: Final = ("message", "note")


@dataclass(frozen=True, slots=True)
class Found:
    """One statement of an earlier record that a later record revises."""

    record: Record
    revised: Revised


def revised_by(engine: Engine, record: Record, home: Scope) -> list[Found]:
    """Return what a record revises among what the same person said earlier within `home`; one for each earlier record."""
    found: dict[str, Found] = {}
    for sentence in _sentences(engine, record):
        needed = wanted_terms(sentence)
        if needed:
            for earlier in _candidates(engine, record, home, needed):
                recent = earlier.scope.room == record.scope.room and record.at - earlier.at <= _RECENTLY
                for match in revised(sentence, _sentences(engine, earlier), recent=recent):
                    before = found.get(earlier.id)
                    if before is None or before.revised.confidence < match.confidence:
                        found[earlier.id] = Found(earlier, match)
    return list(found.values())


def _sentences(engine: Engine, record: Record) -> Iterator[Sentence]:
    text = without_recalled(record.text)
    for count, (begin, end) in enumerate(own_sentences(text)):
        if count == _MOST_SENTENCES:
            return
        if end - begin <= _LONGEST_SENTENCE:
            yield Sentence(text[begin:end].strip(), engine.analyzer.terms)


def _candidates(engine: Engine, record: Record, home: Scope, terms: frozenset[str]) -> list[Record]:
    """Return the person's earlier records that share most of some terms."""
    now = engine.now()
    filter = Filter(scope=home, kinds=_KINDS)
    timeline = engine.store.timeline(filter, now)
    if not len(timeline.numbers):
        return []
    shared: Counter[int] = Counter()
    for match in engine.store.words(filter, sorted(terms), held=len(timeline.numbers)):
        if len(match.numbers) <= _MOST_MATCHES:
            shared.update(match.numbers[np.isin(match.numbers, timeline.numbers)].tolist())
    best = sorted(shared, key=lambda number: (-shared[number], -number))[:_MOST_CANDIDATES]
    records = engine.store.fetch(home, best).values()
    return [one for one in records if one.kind in _KINDS and _before(one, record)]


def _before(earlier: Record, later: Record) -> bool:
    """Whether a record was said before another, by the same person."""
    if earlier.id == later.id or (earlier.at, earlier.created_at, earlier.id) >= (later.at, later.created_at, later.id):
        return False
    same = earlier.data.get("name") == later.data.get("name") and earlier.scope.user == later.scope.user
    return same and earlier.data.get("role", "user") == later.data.get("role", "user") == "user"
