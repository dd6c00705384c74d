"""Times are aware UTC datetimes outside and whole microseconds since 1970 inside."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from rememo.errors import InvalidInput

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CENTURY = 3.2e9
_LEAST_MILLISECONDS = 100_000_000_000
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*", re.IGNORECASE)


def now() -> datetime:
    """Return the present moment: the default clock."""
    return datetime.now(UTC)


def to_utc(value: object, field: str) -> datetime:
    """Return an aware datetime, ISO 8601 text or milliseconds since 1970 as UTC; a time without a zone is refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = _from_milliseconds(value, field)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{field} is not an ISO 8601 time: {value!r}") from None
    if not isinstance(value, datetime):
        hint = "; seconds since 1970 are datetime.fromtimestamp(seconds, UTC)" if isinstance(value, float) else ""
        raise InvalidInput(f"{field} must be a datetime, not {type(value).__name__}{hint}")
    if value.tzinfo is None:
        raise InvalidInput(f"{field} has no time zone; give it one, such as {field}=value.replace(tzinfo=UTC)")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{field} lies outside the years 1 to 9999: {value!r}") from None


def to_utc_or_none(value: object, field: str) -> datetime | None:
    """Return a time that may be left out as UTC."""
    return None if value is None else to_utc(value, field)


def _from_milliseconds(value: int, field: str) -> datetime:
    # Milliseconds after 1973: as seconds, this number would lie beyond the year 5000.
    if value < _LEAST_MILLISECONDS:
        raise InvalidInput(
            f"{field} must be a datetime, not int; milliseconds since 1970 will do, seconds are datetime.fromtimestamp(seconds, UTC)"
        )
    try:
        return _EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        raise InvalidInput(f"{field} lies outside the years 1 to 9999: {value!r}") from None


def to_micros(value: datetime) -> int:
    """Return an aware datetime as microseconds since 1970, exactly."""
    return (value - _EPOCH) // _MICROSECOND


def from_micros(value: int) -> datetime:
    """Return the UTC datetime of a number of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=value)


def to_seconds(value: object, field: str) -> float:
    """Return a duration (seconds, a timedelta, or text such as "90s", "15m", "24h", "7d") in seconds, above zero."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        match = _SPAN.fullmatch(value)
        if match is None:
            raise InvalidInput(
                f'{field} is not a duration: {value!r}; write seconds, or text such as "15m", "24h", "7d"'
            )
        seconds = float(match[1]) * _UNITS[match[2].lower()]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value) if -_CENTURY < value < _CENTURY else _CENTURY
    else:
        raise InvalidInput(f"{field} must be seconds, a timedelta or text such as '24h', not {type(value).__name__}")
    if not 0 < seconds < _CENTURY:  # NaN fails this too
        raise InvalidInput(f"{field} must be above zero and below a century, not {value!r}")
    return seconds
