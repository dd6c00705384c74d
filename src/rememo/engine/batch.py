"""Batch: writes gathered to be made as one."""

from collections.abc import Callable, Mapping
from typing import Any

from rememo.store.protocol import Put, Write

Rebuild = Callable[[Mapping[str, Any]], Write]


class Batch:
    """Writes in the order they were asked for; a change to a record that waits here changes what waits."""

    def __init__(self) -> None:
        self._writes: list[Write | None] = []
        self._waiting: dict[str, tuple[int, Rebuild]] = {}

    @property
    def writes(self) -> list[Write]:
        """What is to be written."""
        return [write for write in self._writes if write is not None]

    def add(self, write: Write, id: str | None = None, rebuild: Rebuild | None = None) -> None:
        """Append a write; `rebuild` makes it anew with other fields."""
        if id is not None and rebuild is not None:
            self._waiting[id] = (len(self._writes), rebuild)
        self._writes.append(write)

    def change(self, id: str, changes: Mapping[str, Any]) -> bool:
        """Change the content of a record that waits here; False when it does not."""
        if id not in self._waiting:
            return False
        place, rebuild = self._waiting[id]
        self._writes[place] = rebuild(changes)
        self._waiting[id] = (place, lambda more: rebuild({**changes, **more}))
        return True

    def drop(self, id: str) -> bool:
        """Take back a record that waits here to be created; False when there is none."""
        place, _ = self._waiting.get(id, (-1, None))
        if place < 0 or not isinstance(self._writes[place], Put):
            return False
        self._writes[place] = None
        del self._waiting[id]
        return True
