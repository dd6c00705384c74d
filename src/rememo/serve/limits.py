"""Limits of serving: how often a key may ask, and how much is under way at once."""

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from rememo.errors import RateLimited, Unavailable

T = TypeVar("T")

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


class Threads:
    """So many calls at once, and so many more that wait for a thread."""

    def __init__(self, threads: int, queue: int) -> None:
        self._most = threads + queue
        self._pool = ThreadPoolExecutor(threads, "rememo-serve")
        self._lock = threading.Lock()
        self._under_way = 0

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call on a thread; raises `Unavailable` when too many wait already."""
        with self._lock:
            if self._under_way >= self._most:
                raise Unavailable("the server has too much to do; come back in a second")
            self._under_way += 1
        try:
            # What the request was begun under, a trace for one, goes with it.
            future = self._pool.submit(copy_context().run, call)
        except RuntimeError:
            self._leave()
            raise Unavailable("the server is being stopped; come back when it is up again") from None
        # By the thread's end and not by the request's: whoever stops waiting leaves a call that still runs.
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def _leave(self, _: Future[Any] | None = None) -> None:
        with self._lock:
            self._under_way -= 1

    def close(self) -> None:
        """Wait for the calls that run, and take no more."""
        self._pool.shutdown()
