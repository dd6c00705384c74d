"""Goals: what an agent is after."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rememo.collections.base import (
    Collection,
    check_choice,
    check_not_blank,
    check_priority,
    drop_none,
    read_time,
    to_iso,
)
from rememo.errors import InvalidInput
from rememo.model.check import check_limit
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.unset import UNSET, Unset

STATUSES = ("open", "done", "dropped")
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal as it stands in a record."""

    record: Record

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """What is to be reached."""
        return self.record.text

    @property
    def status(self) -> str:
        """`open`, `done` or `dropped`."""
        return str(self.record.data.get("status", "open"))

    @property
    def priority(self) -> int:
        """From 0 to 10, the most urgent."""
        return int(self.record.data.get("priority", 0))

    @property
    def due(self) -> datetime | None:
        """By when."""
        return read_time(self.record, "due")

    @property
    def parent(self) -> str | None:
        """The id of the goal that it is a part of."""
        return self.record.data.get("parent")


class Goals(Collection):
    """The goals within a view."""

    kind = "goal"

    def add(
        self,
        text: str,
        *,
        priority: int = 0,
        due: datetime | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember an open goal. `priority` is from 0 to 10, the most urgent; a `parent` that is not there raises `NotFound`."""
        check_not_blank(text, "text", most=self._view.engine.settings.max_text_bytes)
        if parent is not None:
            self._need_parent(parent)
        data = drop_none(status="open", priority=check_priority(priority), due=to_iso(due, "due"), parent=parent)
        fields: dict[str, Any] = {
            "text": text, "kind": self.kind, "data": data, "metadata": metadata, "id": id, "pinned": pinned,
            "importance": importance,
        }  # fmt: skip
        return self._view.put([fields], key)

    def get(self, id: str, *, known_at: datetime | None = None) -> Goal:
        """Return a goal; one that is not in this scope raises `NotFound`."""
        return Goal(self._record(id, known_at=known_at))

    def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        status: str | Unset = UNSET,
        priority: int | Unset = UNSET,
        due: datetime | Unset | None = UNSET,
        parent: str | Unset | None = UNSET,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Change some of a goal; what is not given stays. A goal cannot become a part of itself or of its own parts."""
        changed: dict[str, Any] = {}
        if status is not UNSET:
            changed["status"] = check_choice(status, "status", STATUSES)
        if priority is not UNSET:
            changed["priority"] = check_priority(priority)
        if due is not UNSET:
            changed["due"] = to_iso(due, "due")
        if parent is not UNSET:
            if parent is not None:
                self._need_parent(parent, id)
            changed["parent"] = parent
        whole: dict[str, Any] = {}
        if text is not UNSET:
            whole["text"] = check_not_blank(text, "text", most=self._view.engine.settings.max_text_bytes)
        if not changed and not whole:
            raise InvalidInput("update() was given nothing to change")
        return self._change(
            id, lambda record: whole | {"data": drop_none(**record.data | changed)}, expected_version, key
        )

    def done(self, id: str, *, key: str | None = None) -> Receipt:
        """Say that a goal is reached."""
        return self._set_status(id, "done", key)

    def drop(self, id: str, *, key: str | None = None) -> Receipt:
        """Give a goal up."""
        return self._set_status(id, "dropped", key)

    def open(self, *, limit: int = 100) -> "list[Goal]":
        """Return the open goals, most urgent first: by priority, then by when they are due, then oldest first."""
        goals = [Goal(record) for record in self._read(self._filter(data={"status": "open"}), None)]
        goals.sort(key=lambda goal: (-goal.priority, goal.due or _NEVER))
        return goals[: check_limit(limit)]

    def list(
        self,
        *,
        status: str | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Goal]":
        """Return the latest `limit` goals, oldest first; `parent` asks for the parts of a goal."""
        wanted = None if status is None else check_choice(status, "status", STATUSES)
        filter = self._filter(data={"status": wanted, "parent": parent}, metadata=metadata, known_at=known_at)
        return [Goal(record) for record in self._read(filter, limit, offset)]

    def _set_status(self, id: str, status: str, key: str | None) -> Receipt:
        return self._change(
            id,
            lambda record: None if record.data.get("status") == status else {"data": {**record.data, "status": status}},
            None,
            key,
        )
