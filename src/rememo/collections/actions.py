"""Actions: what an agent did with its tools, and how it went."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rememo.collections.base import Collection, drop_none
from rememo.collections.pruning import enforce_limits
from rememo.errors import InvalidInput
from rememo.model.check import check_json, check_label, check_text, dump_json
from rememo.model.receipt import Receipt
from rememo.model.record_wrapper import RecordWrapper
from rememo.model.times import to_utc_or_none

_SEARCHABLE_LENGTH = 1_000
"""How much of parameters and result stands in the text that is searched; the data holds all of it."""


@dataclass(frozen=True, slots=True)
class Action(RecordWrapper):
    """An action, read from its record."""

    @property
    def tool(self) -> str:
        """What was used."""
        return str(self.record.data.get("tool", ""))

    @property
    def parameters(self) -> dict[str, Any]:
        """What it was given."""
        return self.record.data.get("parameters", {})

    @property
    def result(self) -> Any:
        """What it gave back."""
        return self.record.data.get("result")

    @property
    def success(self) -> bool:
        """Whether it did what it should."""
        return bool(self.record.data.get("success", True))

    @property
    def duration(self) -> float | None:
        """How long it took, in seconds."""
        return self.record.data.get("duration")

    @property
    def error(self) -> str | None:
        """What went wrong."""
        return self.record.data.get("error")

    @property
    def at(self) -> datetime:
        """When it was done."""
        return self.record.at


class Actions(Collection):
    """The actions within a view."""

    kind = "action"

    def add(
        self,
        tool: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        result: Any = None,
        success: bool | None = None,
        duration: float | timedelta | None = None,
        error: str | None = None,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        source: str | None = None,
        trust: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember what a tool was given and what came of it.

        `result` is any JSON value; `duration` is in seconds. Without `success` it went well unless there is an `error`.
        """
        settings = self._view.engine.settings
        check_label(tool, "tool")
        if success is not None and not isinstance(success, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"success must be True or False, not {success!r}")
        if error is not None:
            check_text(error, "error", max_bytes=settings.max_data_bytes)
        if parameters is not None and not isinstance(parameters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"parameters must be a mapping, not {type(parameters).__name__}")
        checked_parameters, checked_result = (
            check_json(value, name, max_bytes=settings.max_data_bytes, depth=settings.max_depth - 1)
            for value, name in ((parameters, "parameters"), (result, "result"))
        )
        data = drop_none(
            tool=tool,
            parameters=checked_parameters or None,
            result=checked_result,
            success=error is None if success is None else success,
            duration=_seconds(duration),
            error=error,
        )
        parts = [
            tool,
            *(
                _searchable_text(value)
                for value in (checked_parameters, error, checked_result)
                if value not in (None, {}, [])
            ),
        ]
        receipt = self._add_record(
            key, text="\n".join(parts), data=data, metadata=metadata, occurred_at=to_utc_or_none(at, "at"), id=id,
            pinned=pinned, importance=importance, source=source, trust=trust,
        )  # fmt: skip
        enforce_limits(self._view, (self.kind,), receipt)
        return receipt

    def get(self, id: str, *, known_at: datetime | None = None) -> Action:
        """Return an action; one that is not in this scope raises `NotFound`."""
        return Action(self._record(id, known_at=known_at))

    def latest(self, n: int = 10, *, tool: str | None = None) -> "list[Action]":
        """Return the latest actions, oldest first."""
        return self.list(tool=tool, limit=n)

    def success_rate(
        self, tool: str | None = None, *, after: datetime | None = None, before: datetime | None = None
    ) -> float | None:
        """Return which part of the actions went well, from 0 to 1; None when there were none."""
        engine = self._view.engine
        total = engine.store.count(self._filter(data={"tool": tool}, after=after, before=before), engine.now())
        if not total:
            return None
        good = self._filter(data={"tool": tool, "success": True}, after=after, before=before)
        return engine.store.count(good, engine.now()) / total

    def list(
        self,
        *,
        tool: str | None = None,
        success: bool | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Action]":
        """Return the latest `limit` actions, oldest first; `offset` passes over the newest."""
        filter = self._filter(
            data={"tool": tool, "success": success}, after=after, before=before, metadata=metadata, known_at=known_at
        )
        return [Action(record) for record in self._read(filter, limit, offset)]


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise InvalidInput(f"duration must be seconds from 0, or a timedelta, not {value!r}")
    return float(seconds)


def _searchable_text(value: Any) -> str:
    return (value if isinstance(value, str) else dump_json(value))[:_SEARCHABLE_LENGTH]
