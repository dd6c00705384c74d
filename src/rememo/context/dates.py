"""Dates in words that a model understands: the day itself, and how long ago it was."""

from datetime import datetime
from typing import Final

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WEEK, _MONTH, _YEAR = 7, 30.44, 365.25
_FEW_DAYS, _FEW_WEEKS, _FEW_MONTHS = 14, 60, 730


def day(time: datetime) -> str:
    """Return a day: "Tuesday 5 May 2026"."""
    return f"{_WEEKDAYS[time.weekday()]} {time.day} {_MONTHS[time.month - 1]} {time.year}"


def day_and_time(time: datetime) -> str:
    """Return a moment: "Tuesday 5 May 2026, 09:12 UTC"."""
    return f"{day(time)}, {time:%H:%M} UTC"


def ago(time: datetime, now: datetime) -> str:
    """Return how far a day lies from another: "today", "3 days ago", "6 months ago", "in 2 weeks"."""
    days = (now.date() - time.date()).days
    if days == 0:
        return "today"
    if abs(days) == 1:
        return "yesterday" if days > 0 else "tomorrow"
    span = abs(days)
    if span < _FEW_DAYS:
        far = f"{span} days"
    elif span < _FEW_WEEKS:
        far = _several(span / _WEEK, "week")
    elif span < _FEW_MONTHS:
        far = _several(span / _MONTH, "month")
    else:
        far = _several(span / _YEAR, "year")
    return f"{far} ago" if days > 0 else f"in {far}"


def _several(count: float, unit: str) -> str:
    number = round(count)
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
