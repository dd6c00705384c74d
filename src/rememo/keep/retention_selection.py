"""Select what a retention policy removes: by age, by number in a room, by size. Pinned and important records and system messages stay.

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
from rememo.keep.batches import BatchWriter, PolicyProgress, iterate_pages, make_removal
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
BeforeRemoval = Callable[[Sequence[Record], Sequence[str]], Iterable[str]]
"""Called with the records that leave and the ids of all that goes with them, before they do; returns the names of archives.
What it raises stops the removal."""


def apply_removal(
    engine: Engine,
    policy: RetentionPolicy,
    writer: BatchWriter,
    progress: PolicyProgress,
    before: BeforeRemoval | None = None,
) -> None:
    """Remove what a policy does not keep."""
    for records in select_removals(engine, policy):
        changes = [make_removal(record) for record in records] + parts_of(engine, records)
        if before is not None and not writer.dry:
            progress.archives += before(records, [change.id for change in changes])
        writer.write(changes, progress)


def select_removals(engine: Engine, policy: RetentionPolicy) -> Iterator[list[Record]]:
    """Yield what a policy removes, in pages; nothing twice, whether or not it is removed meanwhile."""
    filter = Filter(scope=policy.scope, kinds=policy.kinds, quarantined=None)
    bounds = (policy.older_than, policy.max_bytes, policy.at_most)
    removed_ids: set[str] = set()
    """What left by one bound is not counted by the next."""

    def pages(choice: _Selection) -> Iterator[list[Record]]:
        for page in choice.pages():
            if bounds.count(None) < len(bounds) - 1:
                removed_ids.update(record.id for record in page)
            yield page

    if policy.older_than is not None:
        # An age needs nobody to be counted: the filter itself says it.
        old = filter.narrowed(before=engine.now() - timedelta(seconds=policy.older_than))
        yield from pages(_Selection(engine, policy, old, None, removed_ids))
    if policy.max_bytes is not None and (last := _rank_over_size(engine, policy, filter, removed_ids)) is not None:
        yield from pages(_Selection(engine, policy, filter, last, removed_ids, order=age_rank))
    if policy.at_most is not None:
        for room in [*engine.store.labels(filter, "room", engine.now()), None]:
            within = filter if room is None else filter.narrowed(scope=replace(policy.scope, room=room))
            if policy.scope.room is not None and room is None:
                continue
            if (last := _rank_over_count(engine, policy, within, removed_ids, roomless=room is None)) is not None:
                yield from pages(_Selection(engine, policy, within, last, removed_ids, roomless=room is None))
    if policy.older_than is policy.max_bytes is policy.at_most is None:
        yield from _Selection(engine, policy, filter, None, removed_ids).pages()


def is_removable(record: Record, policy: RetentionPolicy) -> bool:
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


def age_rank(record: Record) -> Rank:
    """Return what records are compared by where only their age counts; the lowest leave first."""
    return 0.0, 0.0, float(to_micros(record.at)), record.id


def removal_rank(record: Record) -> Rank:
    """Return what records are compared by: facts by confidence and recency, all others by recency."""
    if record.kind != "fact":
        return age_rank(record)
    at = float(to_micros(record.at))
    # What holds no more says less than the least sure of what does.
    holds = record.data.get("status", "current") in ("current", "disputed")
    confidence = record.data.get("confidence")
    return float(holds), float(confidence) if isinstance(confidence, int | float) else 0.0, at, record.id


class _Selection:
    """Those of a filter that leave: all that may, or all up to a rank."""

    def __init__(
        self,
        engine: Engine,
        policy: RetentionPolicy,
        filter: Filter,
        last: Rank | None,
        removed_ids: Container[str],
        *,
        order: Callable[[Record], Rank] = removal_rank,
        roomless: bool = False,
    ) -> None:
        self.engine = engine
        self._policy = policy
        self._filter = filter
        self._last = last
        self._removed_ids = removed_ids
        self._rank = order
        self._roomless = roomless

    def pages(self) -> Iterator[list[Record]]:
        """Yield them in pages, oldest first."""
        for page in iterate_pages(self.engine, self._filter):
            if chosen := [
                record
                for record in page
                if record.id not in self._removed_ids
                and self._is_selected(record)
                and self._takes_tool_call_along(record)
            ]:
                yield chosen

    def _is_selected(self, record: Record) -> bool:
        return (
            is_removable(record, self._policy)
            and not (self._roomless and record.scope.room is not None)
            and self._filter.scope.contains(record.scope)
            and (self._filter.before is None or record.at < self._filter.before)
            and (self._last is None or self._rank(record) <= self._last)
        )

    def _takes_tool_call_along(self, record: Record) -> bool:
        """Whether everything that belongs to a message's tool call leaves with it."""
        if record.kind != "message":
            return True
        return all(self._is_selected(partner) for partner in _tool_call_messages(self.engine, record))


def _rank_over_count(
    engine: Engine, policy: RetentionPolicy, filter: Filter, removed_ids: Container[str], *, roomless: bool
) -> Rank | None:
    """Return the rank of the best that must leave for a room to hold no more than it may; None when none must."""
    most = policy.at_most or 0
    if not roomless and engine.store.count(filter, engine.now()) <= most:
        return None
    total, ranks = 0, array("d")
    for record in _iterate(engine, filter, removed_ids, roomless=roomless):
        total += 1
        if is_removable(record, policy):
            ranks.extend(removal_rank(record)[:-1])
    table = np.frombuffer(ranks, np.float64).reshape(-1, 3)
    excess = min(total - most, len(table))
    if excess <= 0:
        return None
    order = np.lexsort((table[:, 2], table[:, 1], table[:, 0]))
    holds, confidence, at = (float(number) for number in table[order[excess - 1]])
    # Those of equal rank are told apart by their ids, as `removal_rank` does.
    first = int(np.flatnonzero((table[order] == (holds, confidence, at)).all(axis=1))[0])
    time = from_micros(int(at))
    then = filter.narrowed(after=time, before=time + _MICROSECOND)
    same = (
        record.id
        for record in _iterate(engine, then, removed_ids, roomless=roomless)
        if removal_rank(record)[:-1] == (holds, confidence, at) and is_removable(record, policy)
    )
    chosen = heapq.nsmallest(excess - first, same)
    return (holds, confidence, at, chosen[-1]) if chosen else (holds, confidence, at, "")


def _iterate(
    engine: Engine, filter: Filter, removed_ids: Container[str], *, roomless: bool = False
) -> Iterator[Record]:
    for page in iterate_pages(engine, filter):
        yield from (
            record for record in page if record.id not in removed_ids and (not roomless or record.scope.room is None)
        )


def _rank_over_size(
    engine: Engine, policy: RetentionPolicy, filter: Filter, removed_ids: Container[str]
) -> Rank | None:
    """Return the rank of the newest that must leave for all to weigh no more than they may; None when none must."""
    excess_bytes = sum(content_bytes(record) for record in _iterate(engine, filter, removed_ids)) - (
        policy.max_bytes or 0
    )
    last: Rank | None = None
    # Oldest first over all kinds: what the kinds give is merged by its moments.
    streams = [_iterate(engine, filter.narrowed(kinds=(kind,)), removed_ids) for kind in filter.kinds]
    for record in heapq.merge(*streams, key=age_rank):
        if excess_bytes <= 0:
            break
        if is_removable(record, policy):
            excess_bytes -= content_bytes(record)
            last = age_rank(record)
    return last


def content_bytes(record: Record) -> int:
    """Return how many bytes of content a record has."""
    content = len(record.text.encode())
    for part in (record.data, record.metadata):
        if part:
            content += len(dump_json(part).encode())
    return content


def _tool_call_messages(engine: Engine, record: Record) -> list[Record]:
    """Return the messages of the same tool call, where a message is part of one."""
    calls, answers = call_ids(record.data), record.data.get("tool_call_id")
    if not calls and not isinstance(answers, str):
        return []
    room = Filter(scope=Scope(tenant=record.scope.tenant, room=record.scope.room), kinds=("message",), quarantined=None)
    partners: list[Record] = []
    if isinstance(answers, str):
        until = room.narrowed(before=record.at + _MICROSECOND)
        near = engine.store.read(until, engine.now(), limit=_NEAR)
        caller = next((message for message in reversed(near) if answers in call_ids(message.data)), None)
        if caller is None:
            return []
        partners.append(caller)
        record, calls = caller, call_ids(caller.data)
    near = engine.store.read(room.narrowed(after=record.at), engine.now(), limit=_NEAR, oldest=True)
    return partners + [message for message in near if message.data.get("tool_call_id") in calls]
