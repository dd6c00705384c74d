"""Which records a policy lets go: by age, by number in a room, by size. Pinned ones, important ones and system messages stay.

A tool call and its results leave together, or stay. What was learned from messages that leave stays known.
"""

import heapq
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np

from rememo.engine.engine import Engine
from rememo.engine.view import parts_of
from rememo.keep.batches import Tally, Writer, removal, walk
from rememo.model.check import dump_json
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.retention import RetentionPolicy
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros
from rememo.text.windows import call_ids

_MICROSECOND = timedelta(microseconds=1)
_NEAR = 64
"""How many messages around a tool call its results are looked for among."""

Rank = tuple[float, float, float, str]
Before = Callable[[Sequence[Record], Sequence[str]], Iterable[str]]
"""Called with the records that leave and the ids of all that goes with them, before they do; returns the names of archives.
What it raises stops the removal."""


def remove(engine: Engine, policy: RetentionPolicy, writer: Writer, tally: Tally, before: Before | None = None) -> None:
    """Let go of what a policy does not keep."""
    for records in leaving(engine, policy):
        changes = [removal(one) for one in records] + parts_of(engine, records)
        if before is not None and not writer.dry:
            tally.archives += before(records, [one.id for one in changes])
        writer.write(changes, tally)


def leaving(engine: Engine, policy: RetentionPolicy) -> Iterator[list[Record]]:
    """Give what a policy lets go, in pages; nothing twice, whether or not it is removed meanwhile."""
    filter = Filter(scope=policy.scope, kinds=policy.kinds, quarantined=None)
    bounds = (policy.older_than, policy.max_bytes, policy.at_most)
    gone: set[str] = set()
    """What left by one bound is not counted by the next."""

    def pages(choice: _Choice) -> Iterator[list[Record]]:
        for page in choice.pages():
            if bounds.count(None) < len(bounds) - 1:
                gone.update(one.id for one in page)
            yield page

    if policy.older_than is not None:
        # An age needs nobody to be counted: the filter itself says it.
        old = filter.narrowed(before=engine.now() - timedelta(seconds=policy.older_than))
        yield from pages(_Choice(engine, policy, old, None, gone))
    if policy.max_bytes is not None and (last := _past_size(engine, policy, filter, gone)) is not None:
        yield from pages(_Choice(engine, policy, filter, last, gone, order=by_time))
    if policy.at_most is not None:
        for room in [*engine.store.labels(filter, "room", engine.now()), None]:
            within = filter if room is None else filter.narrowed(scope=replace(policy.scope, room=room))
            if policy.scope.room is not None and room is None:
                continue
            if (last := _past_count(engine, policy, within, gone, roomless=room is None)) is not None:
                yield from pages(_Choice(engine, policy, within, last, gone, roomless=room is None))
    if policy.older_than is policy.max_bytes is policy.at_most is None:
        yield from _Choice(engine, policy, filter, None, gone).pages()


def may_leave(record: Record, policy: RetentionPolicy) -> bool:
    """Whether a record may leave at all."""
    return not (
        (policy.keep_pinned and record.pinned)
        or (
            policy.keep_important is not None
            and record.importance is not None
            and record.importance >= policy.keep_important
        )
        or (record.kind == "message" and record.data.get("role") == "system")
    )


def by_time(record: Record) -> Rank:
    """Return what records are compared by where only their age counts; the lowest leave first."""
    return 0.0, 0.0, float(to_micros(record.at)), record.id


def rank(record: Record) -> Rank:
    """Return what records are compared by: facts by confidence and recency, all others by recency."""
    if record.kind != "fact":
        return by_time(record)
    at = float(to_micros(record.at))
    # What holds no more says less than the least sure of what does.
    holds = record.data.get("status", "current") in ("current", "disputed")
    confidence = record.data.get("confidence")
    return float(holds), float(confidence) if isinstance(confidence, int | float) else 0.0, at, record.id


class _Choice:
    """Those of a filter that leave: all that may, or all up to a rank."""

    def __init__(
        self,
        engine: Engine,
        policy: RetentionPolicy,
        filter: Filter,
        last: Rank | None,
        gone: Container[str],
        *,
        order: Callable[[Record], Rank] = rank,
        roomless: bool = False,
    ) -> None:
        self._engine = engine
        self._policy = policy
        self._filter = filter
        self._last = last
        self._gone = gone
        self._rank = order
        self._roomless = roomless

    def pages(self) -> Iterator[list[Record]]:
        """Give them in pages, oldest first."""
        for page in walk(self._engine, self._filter):
            if chosen := [
                one for one in page if one.id not in self._gone and self._leaves(one) and self._together(one)
            ]:
                yield chosen

    def _leaves(self, record: Record) -> bool:
        return (
            may_leave(record, self._policy)
            and not (self._roomless and record.scope.room is not None)
            and self._filter.scope.contains(record.scope)
            and (self._filter.before is None or record.at < self._filter.before)
            and (self._last is None or self._rank(record) <= self._last)
        )

    def _together(self, record: Record) -> bool:
        """Whether everything that belongs to a message's tool call leaves with it."""
        if record.kind != "message":
            return True
        return all(self._leaves(one) for one in _partners(self._engine, record))


def _past_count(
    engine: Engine, policy: RetentionPolicy, filter: Filter, gone: Container[str], *, roomless: bool
) -> Rank | None:
    """Return the rank of the best that must leave for a room to hold no more than it may; None when none must."""
    most = policy.at_most or 0
    if not roomless and engine.store.count(filter, engine.now()) <= most:
        return None
    total, ranks = 0, array("d")
    for record in _each(engine, filter, gone, roomless=roomless):
        total += 1
        if may_leave(record, policy):
            ranks.extend(rank(record)[:-1])
    table = np.frombuffer(ranks, np.float64).reshape(-1, 3)
    over = min(total - most, len(table))
    if over <= 0:
        return None
    order = np.lexsort((table[:, 2], table[:, 1], table[:, 0]))
    holds, confidence, at = (float(one) for one in table[order[over - 1]])
    # Those of equal rank are told apart by their ids, as `rank` does.
    first = int(np.flatnonzero((table[order] == (holds, confidence, at)).all(axis=1))[0])
    moment = from_micros(int(at))
    then = filter.narrowed(after=moment, before=moment + _MICROSECOND)
    same = (
        one.id
        for one in _each(engine, then, gone, roomless=roomless)
        if rank(one)[:-1] == (holds, confidence, at) and may_leave(one, policy)
    )
    chosen = heapq.nsmallest(over - first, same)
    return (holds, confidence, at, chosen[-1]) if chosen else (holds, confidence, at, "")


def _each(engine: Engine, filter: Filter, gone: Container[str], *, roomless: bool = False) -> Iterator[Record]:
    for page in walk(engine, filter):
        yield from (one for one in page if one.id not in gone and (not roomless or one.scope.room is None))


def _past_size(engine: Engine, policy: RetentionPolicy, filter: Filter, gone: Container[str]) -> Rank | None:
    """Return the rank of the newest that must leave for all to weigh no more than they may; None when none must."""
    over = sum(weight(one) for one in _each(engine, filter, gone)) - (policy.max_bytes or 0)
    last: Rank | None = None
    # Oldest first over all kinds: what the kinds give is merged by its moments.
    streams = [_each(engine, filter.narrowed(kinds=(kind,)), gone) for kind in filter.kinds]
    for record in heapq.merge(*streams, key=by_time):
        if over <= 0:
            break
        if may_leave(record, policy):
            over -= weight(record)
            last = by_time(record)
    return last


def weight(record: Record) -> int:
    """Return how many bytes of content a record has."""
    content = len(record.text.encode())
    for part in (record.data, record.metadata):
        if part:
            content += len(dump_json(part).encode())
    return content


def _partners(engine: Engine, record: Record) -> list[Record]:
    """Return the messages of the same tool call, where a message is part of one."""
    calls, answers = call_ids(record.data), record.data.get("tool_call_id")
    if not calls and not isinstance(answers, str):
        return []
    room = Filter(scope=Scope(tenant=record.scope.tenant, room=record.scope.room), kinds=("message",), quarantined=None)
    found: list[Record] = []
    if isinstance(answers, str):
        until = room.narrowed(before=record.at + _MICROSECOND)
        near = engine.store.read(until, engine.now(), limit=_NEAR)
        caller = next((one for one in reversed(near) if answers in call_ids(one.data)), None)
        if caller is None:
            return []
        found.append(caller)
        record, calls = caller, call_ids(caller.data)
    near = engine.store.read(room.narrowed(after=record.at), engine.now(), limit=_NEAR, oldest=True)
    return found + [one for one in near if one.data.get("tool_call_id") in calls]
