"""Pruning: the oldest of a workbench leave, what matters stays."""

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from rememo.collections.working_limits import LIMITED, WorkingLimits, stored_limits
from rememo.engine.view import View
from rememo.errors import NotFound, VersionConflict
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.runtime.retry import retry_on_conflict
from rememo.store.writes import Remove
from rememo.text.windows import units

_MOST_TRIES = 50
_AHEAD = 32
"""How many are read beyond those that must leave, since pinned ones stay."""

_log = logging.getLogger("rememo.working")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What left, oldest first; `memory.undo(pruned.receipt)` brings it back."""

    messages: tuple[str, ...]
    """Ids."""
    actions: tuple[str, ...]
    """Ids."""
    thoughts: tuple[str, ...]
    """Ids."""
    receipt: Receipt

    @property
    def count(self) -> int:
        """How many left."""
        return len(self.messages) + len(self.actions) + len(self.thoughts)


def prune(view: View, limits: WorkingLimits, kinds: Container[str] = LIMITED) -> Pruned:
    """Remove the oldest records of some kinds that are too many, in one transaction; repeats when another writer was faster."""
    view.need_present()
    view.need_no_batch("working.prune()")

    def prepare() -> dict[str, list[Record]]:
        return {
            f"{kind}s": _select_leaving(view, kind, getattr(limits, limit)) if kind in kinds else []
            for kind, limit in LIMITED.items()
        }

    def write(leaving: dict[str, list[Record]]) -> Pruned:
        records = [record for records in leaving.values() for record in records]
        writes = [Remove(id=record.id, scope=view.scope, expected=record.version) for record in records]
        # What leaves a workbench was learned from; that stays known.
        receipt = view.engine.commit(view.scope, writes)
        ids = {name: tuple(record.id for record in records) for name, records in leaving.items()}
        return Pruned(**ids, receipt=receipt)

    return retry_on_conflict(
        prepare, write, "the workbench", attempts=_MOST_TRIES, conflicts=(NotFound, VersionConflict)
    )


def enforce_limits(view: View, kinds: Iterable[str], receipt: Receipt | None = None) -> None:
    """Remove what is too much of some kinds, where exactly this scope has limits that are enforced after every write.

    With a receipt, only when it added something. What was written stands, whatever happens here.
    """
    if receipt is not None and (receipt.status == "pending" or "added" not in receipt.outcomes.values()):
        return
    limits = stored_limits(view)
    if limits is None:
        return
    limited = [kind for kind in kinds if LIMITED[kind] in limits.enforced]
    try:
        if limited:
            prune(view, limits, limited)
    except VersionConflict as error:
        _log.warning("a workbench holds more than its limits until the next write: %s", error)


def _select_leaving(view: View, kind: str, most: int) -> list[Record]:
    """Return the records of a kind that are too many, oldest first."""
    store, now = view.engine.store, view.engine.now()
    filter = view.filter(kind=kind)
    excess = store.count(filter, now) - most
    if excess <= 0:
        return []
    if kind == "message":
        return select_messages(store.read(filter, now), most)
    size = excess + _AHEAD
    while True:
        records = store.read(filter, now, limit=size, oldest=True)
        leaving = select_records(records, excess)
        if len(leaving) == excess or len(records) < size:
            return leaving
        size *= 4


def select_messages(records: Sequence[Record], most: int) -> list[Record]:
    """Return the messages that are too many, oldest first; those that stay count too.

    Pinned and system messages stay, and so does the newest turn. A tool call and its results stay or leave together; a
    unit is as old as its newest message.
    """
    excess = len(records) - most
    grouped = sorted(units([record.data for record in records]), key=lambda unit: unit[-1])
    chosen: list[int] = []
    for group in grouped[:-1]:
        if excess <= 0:
            break
        if any(records[index].pinned or records[index].data.get("role") == "system" for index in group):
            continue
        chosen += group
        excess -= len(group)
    return [records[index] for index in sorted(chosen)]


def select_records(records: Sequence[Record], excess: int) -> list[Record]:
    """Return the oldest of records, as many as are too many; pinned ones stay."""
    return [record for record in records if not record.pinned][:excess]
