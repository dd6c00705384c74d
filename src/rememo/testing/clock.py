"""A clock that moves only by hand, so that no test waits."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 5, 1, 12, tzinfo=UTC)


class ManualClock:
    """A clock that returns the time it was set to."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def __call__(self) -> datetime:
        """Return the time."""
        return self._now

    def advance(self, seconds: float = 1.0) -> datetime:
        """Move on, or back by a negative number as a corrected system clock does, and return the time."""
        self._now += timedelta(seconds=seconds)
        return self._now
