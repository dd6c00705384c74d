"""Tasks: what is to be done, by when, and how often."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rememo.collections.base import check_choice, check_priority, drop_none, read_time, to_iso
from rememo.collections.plan_item import NO_DUE_TIME, STATUSES, PlanCollection, PlanItem
from rememo.collections.recurrence import CALENDAR, check_recurrence, next_due, zone_named, zone_of
from rememo.errors import InvalidInput
from rememo.model.check import check_label, check_limit
from rememo.model.filters import Condition
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.times import to_utc
from rememo.model.unset import UNSET, Unset

Recurrence = str | float | timedelta


@dataclass(frozen=True, slots=True)
class Task(PlanItem):
    """A task, read from its record."""

    @property
    def recurrence(self) -> str | timedelta | None:
        """How often it recurs: a word of the calendar or a span of time."""
        value: str | float | None = self.record.data.get("recurrence")
        return value if value is None or isinstance(value, str) else timedelta(seconds=value)

    @property
    def goal(self) -> str | None:
        """The id of the goal that it serves."""
        return self.record.data.get("goal")

    @property
    def times_done(self) -> int:
        """How often it was done."""
        return int(self.record.data.get("times_done", 0))

    @property
    def done_at(self) -> datetime | None:
        """When it was last done."""
        return read_time(self.record, "done_at")


class Tasks(PlanCollection):
    """The tasks within a view."""

    kind = "task"

    def add(
        self,
        text: str,
        *,
        due: datetime | None = None,
        recurrence: Recurrence | None = None,
        priority: int = 0,
        goal: str | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        source: str | None = None,
        trust: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember an open task.

        `recurrence` is "daily", "weekly", "monthly", "yearly" or a span of time, and needs a due time to count from. The
        calendar's words keep the time of day in the zone of `due`. A due time in the past is taken as it is: the task is
        due now, once, however many times have passed, and `done` moves it past now. A `parent`, the task that this one
        is a part of, must be there, or `NotFound` is raised.
        """
        self._check_plan_text(text)
        data = drop_none(
            status="open",
            priority=check_priority(priority),
            goal=None if goal is None else check_label(goal, "goal"),
            parent=None if parent is None else self._need_parent(parent),
        )
        return self._add_record(
            key, text=text, data=data | drop_none(**_timing(due, recurrence)), metadata=metadata, id=id, pinned=pinned,
            importance=importance, source=source, trust=trust,
        )  # fmt: skip

    def get(self, id: str, *, known_at: datetime | None = None) -> Task:
        """Return a task; one that is not in this scope raises `NotFound`."""
        return Task(self._record(id, known_at=known_at))

    def update(
        self,
        id: str,
        *,
        text: str | Unset = UNSET,
        status: str | Unset = UNSET,
        due: datetime | Unset | None = UNSET,
        recurrence: Recurrence | Unset | None = UNSET,
        priority: int | Unset = UNSET,
        parent: str | Unset | None = UNSET,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Change some of a task; what is not given stays. A new due time is what its recurrence counts from then on.

        A task cannot become a part of itself or of its own parts.
        """
        changed = self._changed_data(id, status, priority, parent)
        text_change = self._changed_text(text)
        timed = due is not UNSET or recurrence is not UNSET
        if not changed and not text_change and not timed:
            raise InvalidInput("update() was given nothing to change")

        def change(record: Record) -> dict[str, Any]:
            data = record.data | changed
            if timed:
                when = _due_in_zone(record) if due is UNSET else due
                interval = data.get("recurrence") if recurrence is UNSET else recurrence
                data |= _timing(when, interval)
            return text_change | {"data": drop_none(**data)}

        return self._change(id, change, expected_version, key)

    def done(self, id: str, *, key: str | None = None) -> Receipt:
        """Mark a task as done; one that is done already stays as it is (`unchanged`).

        A recurring one stays open and is due the next time that lies past both its due time and now. When two do the
        same one at once it moves on once.
        """
        now = self._view.engine.now()
        first: list[str | None] = []

        def change(record: Record) -> dict[str, Any] | None:
            data = record.data
            first.append(data.get("due"))
            # Another was faster: that time is done, and the next one is not ours to do.
            if data.get("status") == "done" or first[0] != data.get("due"):
                return None
            completion = {"done_at": now.isoformat(), "times_done": data.get("times_done", 0) + 1}
            interval, due = data.get("recurrence"), read_time(record, "due")
            later = None
            if interval is not None and due is not None:
                later = next_due(read_time(record, "first") or due, interval, max(due, now), data.get("zone"))
            if later is None:
                return {"data": {**data, **completion, "status": "done"}}
            return {"data": {**data, **completion, "status": "open", "due": later.isoformat()}}

        return self._change(id, change, None, key)

    def drop(self, id: str, *, key: str | None = None) -> Receipt:
        """Mark a task as dropped; a recurring one does not recur any more."""
        return self._set_status(id, "dropped", key)

    def due(self, now: datetime | None = None, *, limit: int = 100) -> "list[Task]":
        """Return the open tasks that are due at a moment (the present one unless given), longest due first."""
        when = self._view.engine.now() if now is None else to_utc(now, "now")
        filter = self._filter(data={"status": "open"})
        filter = filter.narrowed(conditions=(*filter.conditions, Condition("data", ("due",), "$lte", when.isoformat())))
        return self._sorted([Task(record) for record in self._read(filter, None)])[: check_limit(limit)]

    def open(self, *, limit: int = 100) -> "list[Task]":
        """Return the open tasks: those due first come first, then the more urgent, then the older."""
        tasks = [Task(record) for record in self._read(self._filter(data={"status": "open"}), None)]
        return self._sorted(tasks)[: check_limit(limit)]

    def list(
        self,
        *,
        status: str | None = None,
        goal: str | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Task]":
        """Return the latest `limit` tasks, oldest first; `parent` asks for the parts of a task."""
        checked_status = None if status is None else check_choice(status, "status", STATUSES)
        filter = self._filter(
            data={"status": checked_status, "goal": goal, "parent": parent}, metadata=metadata, known_at=known_at
        )
        return [Task(record) for record in self._read(filter, limit, offset)]

    def _sorted(self, tasks: "list[Task]") -> "list[Task]":
        return sorted(tasks, key=lambda task: (task.due or NO_DUE_TIME, -task.priority))


def _timing(due: object, recurrence: object) -> dict[str, Any]:
    """Return what data holds of when a task is due; None where nothing is to be held."""
    interval = check_recurrence(recurrence)
    when = to_iso(due, "due")
    if interval is not None and when is None:
        raise InvalidInput("recurrence needs a due time to count from; give due= too")
    zone = zone_of(due) if interval in CALENDAR and isinstance(due, datetime | str) else None
    return {"due": when, "recurrence": interval, "first": when if interval is not None else None, "zone": zone}


def _due_in_zone(record: Record) -> datetime | None:
    """Return when a task is due, in the zone that was told where it is known."""
    due, zone = read_time(record, "due"), record.data.get("zone")
    return due if due is None or zone is None else due.astimezone(zone_named(zone))
