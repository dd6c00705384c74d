"""Limits of serving: how often a key may ask, and how much is under way at once."""

import math
import threading
import time
from collections.abc import Callable

from rememo.errors import RateLimited

_BURST = 2.0
"""Seconds' worth of requests that may come at once."""
_MOST_BUCKETS = 10_000


class RateLimit:
    """A bucket of tokens for each key; one that is empty refuses."""

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow so many requests a second, None for any number; a key may have a rate of its own."""
        self._rate = rate
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, id: str, rate: float | None = None) -> None:
        """Take a token; raises `RateLimited` when there is none."""
        rate = rate or self._rate
        if rate is None:
            return
        now, most = self._clock(), max(1.0, rate * _BURST)
        with self._lock:
            tokens, then = self._buckets.pop(id, (most, now))
            tokens = min(most, tokens + (now - then) * rate)
            left = tokens - 1 if tokens >= 1 else tokens
            self._buckets[id] = (left, now)  # the latest stands last
            if len(self._buckets) > _MOST_BUCKETS:
                del self._buckets[next(iter(self._buckets))]
        if tokens < 1:
            wait = math.ceil((1 - tokens) / rate)
            raise RateLimited(f"more than {rate:g} requests a second came under this key; wait {wait} seconds")
