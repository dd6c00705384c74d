"""Thoughts: the steps of an agent's reasoning."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.collections.base import Collection, check_choice, check_not_blank
from rememo.collections.pruning import enforce_limits
from rememo.model.receipt import Receipt
from rememo.model.record_wrapper import RecordWrapper
from rememo.model.times import to_utc_or_none

STEPS = ("THINK", "ACT", "OBSERVE", "FINAL")
_ALSO = {"ANSWER": "FINAL"}
"""What agents say for the same step."""


@dataclass(frozen=True, slots=True)
class Thought(RecordWrapper):
    """A thought, read from its record."""

    @property
    def step(self) -> str:
        """`THINK`, `ACT`, `OBSERVE` or `FINAL`."""
        return str(self.record.data.get("step", "THINK"))

    @property
    def text(self) -> str:
        """What was thought."""
        return self.record.text

    @property
    def at(self) -> datetime:
        """When."""
        return self.record.at


class Thoughts(Collection):
    """The thoughts within a view."""

    kind = "thought"

    def add(
        self,
        step: str,
        text: str,
        *,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember a step of reasoning: THINK, ACT, OBSERVE, or FINAL (ANSWER) for the answer; small letters will do."""
        check_not_blank(text, "text", most=self._view.engine.settings.max_text_bytes)
        receipt = self._add_record(
            key, text=text, data={"step": _step(step)}, metadata=metadata, occurred_at=to_utc_or_none(at, "at"), id=id,
            pinned=pinned, importance=importance,
        )  # fmt: skip
        enforce_limits(self._view, (self.kind,), receipt)
        return receipt

    def get(self, id: str, *, known_at: datetime | None = None) -> Thought:
        """Return a thought; one that is not in this scope raises `NotFound`."""
        return Thought(self._record(id, known_at=known_at))

    def latest(self, n: int = 10, *, step: str | None = None) -> "list[Thought]":
        """Return the latest thoughts, oldest first."""
        return self.list(step=step, limit=n)

    def list(
        self,
        *,
        step: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Thought]":
        """Return the latest `limit` thoughts, oldest first; `offset` passes over the newest."""
        checked_step = None if step is None else _step(step)
        filter = self._filter(
            data={"step": checked_step}, after=after, before=before, metadata=metadata, known_at=known_at
        )
        return [Thought(record) for record in self._read(filter, limit, offset)]


def _step(value: object) -> str:
    word = value.upper() if isinstance(value, str) else value
    return check_choice(_ALSO.get(word, word) if isinstance(word, str) else word, "step", STEPS)
