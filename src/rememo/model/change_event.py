"""Change events: what happened to a record, for subscribers of a memory's change feed."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from rememo.errors import InvalidInput
from rememo.model.record import Record
from rememo.model.times import to_micros, to_utc

_CURSOR: Final = re.compile(r"([0-9a-f]{1,15})-([0-2])-([0-9a-f]{1,15})")
_PAST_ALL: Final = 2
"""After the ends (0) and the beginnings (1) of a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEvent:
    """A record that was added, changed or ended."""

    cursor: str
    """Its position in the change feed: `changes(after=…)` continues behind it."""
    at: datetime
    """The system time of the write."""
    outcome: Literal["added", "updated", "deleted"]
    """`deleted` also for one that was put into quarantine."""
    record: Record
    """The version that began, or the last one of a record that ended."""

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id


def format_cursor(mark: tuple[int, int, int]) -> str:
    """Return the cursor of a position in the change feed."""
    return "-".join(f"{part:x}" for part in mark)


def parse_cursor(after: datetime | str | None) -> tuple[int, int, int]:
    """Return the position that a cursor or a time names in the change feed; the beginning for None."""
    if after is None:
        return 0, 0, 0
    if isinstance(after, datetime):
        return to_micros(to_utc(after, "after")), _PAST_ALL, 0
    match = _CURSOR.fullmatch(after) if isinstance(after, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
    if match is None:
        raise InvalidInput("after must be a time, or the cursor of a change that changes() gave")
    micros, part, number = (int(group, 16) for group in match.groups())
    return micros, part, number
