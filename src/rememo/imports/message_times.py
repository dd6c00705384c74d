"""When a message was sent, as sources write it, and what keeps messages in their order."""

import math
from datetime import UTC, datetime


def parse_time(value: object) -> datetime | None:
    """Return a parsed time: ISO 8601, with a zone or in UTC, or seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str) and value:
            parsed = datetime.fromisoformat(value)
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def in_order(at: datetime | None, previous: datetime | None) -> datetime | None:
    """Return a message's time, but never before the previous one's, so that messages keep their order."""
    if at is None or previous is None:
        return at or previous
    return max(at, previous)


def sort_time(value: object) -> float:
    """Return a parsed time as seconds since 1970, to compare messages by; 0 where there is none."""
    at = parse_time(value)
    return 0.0 if at is None else at.timestamp()
