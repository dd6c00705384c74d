"""Pruning: the oldest of a workbench leave, what matters stays."""

from collections.abc import Sequence
from dataclasses import dataclass

from rememo.context.window import units
from rememo.engine.view import View
from rememo.errors import NotFound, VersionConflict
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.store.protocol import Remove
from rememo.working.limits import WorkingLimits

_MOST_TRIES = 50


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


def prune(view: View, limits: WorkingLimits) -> Pruned:
    """Let what is too much leave, in one transaction; what another changes meanwhile is looked at again."""
    view.need_present()
    view.need_no_batch("working.prune()")
    for _ in range(_MOST_TRIES):
        leaving = {
            "messages": leaving_messages(_held(view, "message", limits.max_messages), limits.max_messages),
            "actions": leaving_records(_held(view, "action", limits.max_actions), limits.max_actions),
            "thoughts": leaving_records(_held(view, "thought", limits.max_thoughts), limits.max_thoughts),
        }
        records = [record for each in leaving.values() for record in each]
        writes = [Remove(id=one.id, scope=view.scope, expected=one.version) for one in records]
        try:
            # What leaves a workbench was learned from; that stays known.
            receipt = view.engine.commit(view.scope, writes)
        except (NotFound, VersionConflict):
            continue
        ids = {name: tuple(one.id for one in each) for name, each in leaving.items()}
        return Pruned(**ids, receipt=receipt)
    raise VersionConflict(f"the workbench changed {_MOST_TRIES} times while it was being pruned; try again later")


def _held(view: View, kind: str, most: int) -> list[Record]:
    """Return the records of a kind, oldest first; none where there are not too many."""
    store, now = view.engine.store, view.engine.now()
    filter = view.filter(kind=kind)
    return store.read(filter, now) if store.count(filter, now) > most else []


def leaving_messages(records: Sequence[Record], most: int) -> list[Record]:
    """Return the messages that are too many, oldest first; those that stay count too.

    Pinned and system messages stay, and so does the newest turn. A tool call and its results stay or leave together; a
    unit is as old as its newest message.
    """
    over = len(records) - most
    grouped = sorted(units([record.data for record in records]), key=lambda one: one[-1])
    chosen: list[int] = []
    for group in grouped[:-1]:
        if over <= 0:
            break
        if any(records[place].pinned or records[place].data.get("role") == "system" for place in group):
            continue
        chosen += group
        over -= len(group)
    return [records[place] for place in sorted(chosen)]


def leaving_records(records: Sequence[Record], most: int) -> list[Record]:
    """Return the records that are too many, oldest first; pinned ones stay, and count too."""
    over = len(records) - most
    return [record for record in records if not record.pinned][:over] if over > 0 else []
