"""Goals: what an agent is to reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.collections.base import check_choice, check_priority, drop_none, to_iso
from rememo.collections.plan_item import NO_DUE_TIME, STATUSES, PlanCollection, PlanItem
from rememo.errors import InvalidInput
from rememo.model.check import check_limit
from rememo.model.receipt import Receipt
from rememo.model.unset import UNSET, Unset


@dataclass(frozen=True, slots=True)
class Goal(PlanItem):
    """A goal, read from its record."""


class Goals(PlanCollection):
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
        self._check_plan_text(text)
        if parent is not None:
            self._need_parent(parent)
        data = drop_none(status="open", priority=check_priority(priority), due=to_iso(due, "due"), parent=parent)
        return self._add_record(
            key, text=text, data=data, metadata=metadata, id=id, pinned=pinned, importance=importance
        )

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
        changed = self._changed_data(id, status, priority, parent)
        if due is not UNSET:
            changed["due"] = to_iso(due, "due")
        text_change = self._changed_text(text)
        if not changed and not text_change:
            raise InvalidInput("update() was given nothing to change")
        return self._change(
            id, lambda record: text_change | {"data": drop_none(**record.data | changed)}, expected_version, key
        )

    def done(self, id: str, *, key: str | None = None) -> Receipt:
        """Mark a goal as done."""
        return self._set_status(id, "done", key)

    def drop(self, id: str, *, key: str | None = None) -> Receipt:
        """Mark a goal as dropped."""
        return self._set_status(id, "dropped", key)

    def open(self, *, limit: int = 100) -> "list[Goal]":
        """Return the open goals, most urgent first: by priority, then by when they are due, then oldest first."""
        goals = [Goal(record) for record in self._read(self._filter(data={"status": "open"}), None)]
        goals.sort(key=lambda goal: (-goal.priority, goal.due or NO_DUE_TIME))
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
        checked_status = None if status is None else check_choice(status, "status", STATUSES)
        filter = self._filter(data={"status": checked_status, "parent": parent}, metadata=metadata, known_at=known_at)
        return [Goal(record) for record in self._read(filter, limit, offset)]
