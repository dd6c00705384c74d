"""What a time expression means: a half-open stretch of time and how exactly it was said."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Precision = Literal["minute", "hour", "part", "day", "weekend", "week", "month", "season", "year", "decade"]
Direction = Literal["in", "before", "after"]
Lean = Literal["past", "future"]

EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
"""The start of a mention that has none ("before 2020")."""

LATEST = datetime(9999, 12, 30, tzinfo=UTC)
"""The end of a mention that has none ("since April")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMention:
    """One time expression found in a text. ``start < end`` always, both aware UTC, ``end`` excluded."""

    start: datetime
    """The first instant meant; ``EARLIEST`` when open."""
    end: datetime
    """The first instant no longer meant; ``LATEST`` when open."""
    text: str
    """The words as they stand in the text: ``text[position[0]:position[1]]``, with a preposition that belongs to them."""
    position: tuple[int, int]
    """Character offsets of those words."""
    precision: Precision
    """How exactly it was said; "part" is a part of a day such as "this morning"."""
    direction: Direction = "in"
    """"before" has an open start, "after" an open end ("since" and "from … on" are "after")."""
    recurring: bool = False
    """True for "every Monday": start and end are then the occurrence nearest to ``at`` on the leaning side."""
    moment: datetime
    """The best single guess inside the stretch: its start, but the very day for "two weeks ago"."""
