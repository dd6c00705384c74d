"""When an endpoint that failed may be asked again."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from rememo.model.locks import ForkLock

_LONGEST_REST = 60.0
_LONGEST_TOLD = 3_600.0


class Rest:
    """The rest that an endpoint is given after a failure: longer each time, over with the first success. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = ForkLock()
        self._until = 0.0
        self._in_a_row = 0
        self.reason = ""
        """What the last failure said."""
        self.since: datetime | None = None
        """Since when it fails."""
        self.failures = 0
        """How often it failed in all."""

    @property
    def failing(self) -> bool:
        """Whether the last call failed."""
        return self._in_a_row > 0

    def left(self, trial: float) -> float:
        """Return how many seconds of rest are left; 0 says that the caller may ask, alone for `trial` seconds."""
        with self._lock:
            now = self._clock()
            if not self._in_a_row:
                return 0.0
            if now < self._until:
                return self._until - now
            # One tries whether it is back; the others do not queue up behind a call that may take long.
            self._until = now + trial
            return 0.0

    def begin(self, reason: str, told: float | None) -> float:
        """Note a failure and return how many seconds to rest: what the endpoint says, else longer each time."""
        with self._lock:
            self._in_a_row += 1
            self.failures += 1
            self.reason = reason
            self.since = self.since or datetime.now(UTC)
            rest = min(told, _LONGEST_TOLD) if told is not None else min(2.0 ** (self._in_a_row - 1), _LONGEST_REST)
            self._until = self._clock() + rest
            return rest

    def over(self) -> None:
        """Note a success."""
        if self._in_a_row:
            with self._lock:
                self._in_a_row, self._until, self.since = 0, 0.0, None
