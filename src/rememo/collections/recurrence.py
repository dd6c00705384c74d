"""When something recurs, by the calendar.

The n-th time is counted from the first, not from the one before: what is due on the 31st of January is due on the last
day of February and on the 31st of March again, and what began on a 29th of February comes back to it in leap years.
"Daily at nine" is nine o'clock where the first due time was given, in summer and in winter; an hour that the clocks skip
is taken by the offset before the change, one that comes twice is its first.
"""

from calendar import monthrange
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rememo.errors import InvalidInput
from rememo.model.times import to_seconds

CALENDAR = ("daily", "weekly", "monthly", "yearly")
_SHORTEST = 1.0


def check_recurrence(value: object) -> str | float | None:
    """Return a recurrence as it stands in data: a word of the calendar, or seconds."""
    if value is None or (isinstance(value, str) and value in CALENDAR):
        return value
    try:
        seconds = to_seconds(value, "recurrence")
    except InvalidInput:
        raise InvalidInput(
            f'recurrence must be "daily", "weekly", "monthly", "yearly", or a time span above zero, not {value!r}'
        ) from None
    if seconds < _SHORTEST:
        raise InvalidInput(f"recurrence must be a second or more, not {value!r}")
    return seconds


def zone_of(time: datetime | str) -> str | None:
    """Return the zone that a time was told in: its name, else its offset such as "+02:00"; None is UTC."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    if isinstance(time.tzinfo, ZoneInfo):
        return time.tzinfo.key
    return time.isoformat()[-6:] if time.utcoffset() else None


def next_due(first: datetime, recurrence: str | float, after: datetime, zone: str | None = None) -> datetime | None:
    """Return the first time it comes round later than `after`, in UTC; None when that is beyond the year 9999."""
    time_zone = zone_named(zone)
    try:
        if not isinstance(recurrence, str):
            step = timedelta(seconds=recurrence)
            return first + max(1, (after - first) // step + 1) * step
        local = first.astimezone(time_zone)
        passed = max(0, (after - first).days)
        # A few before what the days make of it, so that no leap year or change of clocks is passed over.
        per = {"daily": 1, "weekly": 7, "monthly": 31, "yearly": 366}[recurrence]
        number = max(1, passed // per - 1)
        while (following := _nth(local, recurrence, number)) <= after:
            number += 1
    except (OverflowError, ValueError):
        return None
    return following


def _nth(first: datetime, recurrence: str, number: int) -> datetime:
    """Return the n-th time after the first, in UTC: the same time of day by the clocks of its zone."""
    if recurrence in ("daily", "weekly"):
        day = first + timedelta(days=number if recurrence == "daily" else 7 * number)
        return day.replace(fold=0).astimezone(UTC)
    months = first.month - 1 + number * (1 if recurrence == "monthly" else 12)
    year, month = first.year + months // 12, months % 12 + 1
    day = min(first.day, monthrange(year, month)[1])
    return first.replace(year=year, month=month, day=day, fold=0).astimezone(UTC)


def zone_named(name: str | None) -> tzinfo:
    """Return the zone that `zone_of` named."""
    if name is None:
        return UTC
    if name[0] in "+-":
        return datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo or UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(f"the time zone {name!r} is not known on this machine; install the package tzdata") from None
