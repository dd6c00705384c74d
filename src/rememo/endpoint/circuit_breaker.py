"""Circuit breaker: when an endpoint that failed may be called again."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from rememo.runtime.locks import ForkLock

_LONGEST_PAUSE = 60.0
_LONGEST_RETRY_AFTER = 3_600.0


class CircuitBreaker:
    """Pauses the calls to an endpoint after a failure: longer each time, until the first success. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = ForkLock()
        self._open_until = 0.0
        self._consecutive_failures = 0
        self.reason = ""
        """The message of the last failure."""
        self.since: datetime | None = None
        """Since when it fails."""
        self.failures = 0
        """How often it failed in all."""

    @property
    def failing(self) -> bool:
        """Whether the last call failed."""
        return self._consecutive_failures > 0

    def remaining(self, trial: float) -> float:
        """Return how many seconds to wait; 0 lets the caller make the call, alone for `trial` seconds."""
        with self._lock:
            now = self._clock()
            if not self._consecutive_failures:
                return 0.0
            if now < self._open_until:
                return self._open_until - now
            # One call tries whether it is back; the others do not queue up behind a call that may take long.
            self._open_until = now + trial
            return 0.0

    def record_failure(self, reason: str, retry_after: float | None) -> float:
        """Note a failure and return how many seconds to wait: what the endpoint asked for, else longer each time."""
        with self._lock:
            self._consecutive_failures += 1
            self.failures += 1
            self.reason = reason
            self.since = self.since or datetime.now(UTC)
            if retry_after is not None:
                pause = min(retry_after, _LONGEST_RETRY_AFTER)
            else:
                pause = min(2.0 ** (self._consecutive_failures - 1), _LONGEST_PAUSE)
            self._open_until = self._clock() + pause
            return pause

    def record_success(self) -> None:
        """Note a success."""
        if self._consecutive_failures:
            with self._lock:
                self._consecutive_failures, self._open_until, self.since = 0, 0.0, None
