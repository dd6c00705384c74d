"""What goals and tasks share: a status, a priority, a due time, and the item that each is a part of."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rememo.collections.base import Collection, check_choice, check_not_blank, check_priority, read_time
from rememo.model.receipt import Receipt
from rememo.model.record_wrapper import RecordWrapper
from rememo.model.unset import UNSET, Unset

STATUSES: Final = ("open", "done", "dropped")
NO_DUE_TIME: Final = datetime.max.replace(tzinfo=UTC)
"""What sorts items without a due time behind all others."""


@dataclass(frozen=True, slots=True)
class PlanItem(RecordWrapper):
    """A goal or a task, read from its record."""

    @property
    def text(self) -> str:
        """What is to be done or reached."""
        return self.record.text

    @property
    def status(self) -> str:
        """`open`, `done` or `dropped`; a recurring task stays open when it is done."""
        return str(self.record.data.get("status", "open"))

    @property
    def priority(self) -> int:
        """From 0 to 10, the most urgent."""
        return int(self.record.data.get("priority", 0))

    @property
    def due(self) -> datetime | None:
        """When it is due (next), in UTC."""
        return read_time(self.record, "due")

    @property
    def parent(self) -> str | None:
        """The id of the goal or task that it is a part of."""
        return self.record.data.get("parent")


class PlanCollection(Collection):
    """Goals or tasks within a view."""

    def _changed_data(
        self, id: str, status: str | Unset, priority: int | Unset, parent: str | Unset | None
    ) -> dict[str, Any]:
        """Return the checked fields of the data that an update changes."""
        changed: dict[str, Any] = {}
        if status is not UNSET:
            changed["status"] = check_choice(status, "status", STATUSES)
        if priority is not UNSET:
            changed["priority"] = check_priority(priority)
        if parent is not UNSET:
            changed["parent"] = None if parent is None else self._need_parent(parent, id)
        return changed

    def _changed_text(self, text: str | Unset) -> dict[str, Any]:
        """Return the checked text that an update changes, as fields of the record."""
        return {} if text is UNSET else {"text": self._check_plan_text(text)}

    def _check_plan_text(self, text: object) -> str:
        return check_not_blank(text, "text", most=self._view.engine.settings.max_text_bytes)

    def _set_status(self, id: str, status: str, key: str | None) -> Receipt:
        return self._change(
            id,
            lambda record: None if record.data.get("status") == status else {"data": {**record.data, "status": status}},
            None,
            key,
        )
