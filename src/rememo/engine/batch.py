"""Batch: writes collected to be committed as one."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.store.writes import Put, Remove, Revise, Write

Rebuild = Callable[[Mapping[str, Any]], Put | Revise]


class Batch:
    """Pending writes in their order; changing a record that is pending changes the pending write."""

    def __init__(self) -> None:
        self.open = True
        self.removed: set[str] = set()
        """Records that the batch deletes."""
        self._writes: list[Write | None] = []
        self._waiting: dict[str, tuple[int, Rebuild]] = {}

    @property
    def writes(self) -> list[Write]:
        """What is to be written."""
        return [write for write in self._writes if write is not None]

    def waiting(self, id: str) -> Write | None:
        """Return the pending write of a record, if there is one."""
        return self._writes[self._waiting[id][0]] if id in self._waiting else None

    def add(self, write: Put | Revise, rebuild: Rebuild) -> None:
        """Append a write; `rebuild` makes it anew with other fields."""
        self._waiting[write.draft.id] = (len(self._writes), rebuild)
        self._writes.append(write)
        self.removed.discard(write.draft.id)

    def change(self, id: str, changes: Mapping[str, Any]) -> bool:
        """Change the content of a pending record; False when none is pending."""
        if id not in self._waiting:
            return False
        place, rebuild = self._waiting[id]
        self._writes[place] = rebuild(changes)
        self._waiting[id] = (place, lambda more: rebuild({**changes, **more}))
        return True

    def drop(self, id: str) -> bool:
        """Drop a pending creation of a record that is stored nowhere else; False when there is none."""
        waiting = self.waiting(id)
        if not isinstance(waiting, Put) or waiting.on_conflict != "error":
            return False
        self._writes[self._waiting.pop(id)[0]] = None
        self.removed.add(id)
        return True

    def remove(self, write: Remove) -> None:
        """Append a deletion."""
        self._waiting.pop(write.id, None)
        self._writes.append(write)
        self.removed.add(write.id)


def as_record(write: Put | Revise) -> Record:
    """Return what waits to be written as the record that it will be."""
    draft = write.draft
    now = datetime.now(UTC)  # of no matter: it is not stored yet
    return Record(
        id=draft.id, version=1, kind=draft.kind, text=draft.text, data=json.loads(draft.data), scope=draft.scope,
        created_at=now, recorded_at=now,
    )  # fmt: skip


def pending_receipt(ids: Iterable[str]) -> Receipt:
    """Return the receipt of writes that wait for their batch."""
    return Receipt(ids=tuple(ids), status="pending")
