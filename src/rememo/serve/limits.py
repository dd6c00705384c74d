"""Limits of serving: how often a key may ask, and how much is under way at once."""

import asyncio
import hashlib
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rememo.errors import RateLimited, Unavailable

T = TypeVar("T")

_BURST_SECONDS = 2.0
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
        now, most = self._clock(), max(1.0, rate * _BURST_SECONDS)
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


class Requester:
    """Who a request is counted for: a key and its tenant, as soon as the key has proven itself."""

    __slots__ = ("key", "tenant")

    def __init__(self, tenant: str = "", key: str = "") -> None:
        """Count for a key; without one, for the server itself."""
        self.tenant = tenant
        self.key = key

    @property
    def name(self) -> tuple[str, str]:
        """What it is counted under."""
        return self.tenant, self.key


SERVER: Final = Requester()
"""What the server does for everybody, or for itself."""
_requester: ContextVar[Requester] = ContextVar("rememo_asking", default=SERVER)


def current_requester() -> Requester:
    """Return whom this context does something for."""
    return _requester.get()


@contextmanager
def requesting_as(asker: Requester) -> Generator[None]:
    """Do something for somebody meanwhile."""
    token = _requester.set(asker)
    try:
        yield
    finally:
        _requester.reset(token)


class VerifiedKeys:
    """The keys that have proven themselves by what was sent, known again by a digest of that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[str, str]] = {}

    def find(self, credentials: str) -> tuple[str, str] | None:
        """Return whose credentials these are."""
        return self._known.get(_digest(credentials))

    def add(self, credentials: str, name: tuple[str, str]) -> None:
        """Keep whose they are."""
        digest = _digest(credentials)
        if self._known.get(digest) == name:
            return
        with self._lock:
            self._known[digest] = name
            if len(self._known) > _MOST_BUCKETS:
                del self._known[next(iter(self._known))]


def _digest(credentials: str) -> bytes:
    return hashlib.blake2b(credentials.encode(errors="replace"), digest_size=16).digest()


class ConcurrencyLimit:
    """So many places for what lasts, of which one key and one tenant have a part: others always find some."""

    def __init__(self, what: str, places: int, *, of_key: int, of_tenant: int) -> None:
        self._what = what
        self._places = places
        self._of_key = max(1, of_key)
        self._of_tenant = max(1, of_tenant)
        self._lock = threading.Lock()
        self._keys: Counter[tuple[str, str]] = Counter()
        self._tenants: Counter[str] = Counter()

    @contextmanager
    def place(self, asker: Requester) -> Generator[None]:
        """Have a place meanwhile; raises `RateLimited` when the key or its tenant has its part, `Unavailable` when all are taken."""
        tenant, key = asker.name
        with self._lock:
            if self._tenants.total() >= self._places:
                raise Unavailable(f"the server has {self._places} {self._what} open already; come back later")
            if self._keys[tenant, key] >= self._of_key:
                raise RateLimited(f"this key has {self._of_key} {self._what} open already; end one, or come back later")
            if self._tenants[tenant] >= self._of_tenant:
                raise RateLimited(f"this tenant has {self._of_tenant} {self._what} open already; come back later")
            self._keys[tenant, key] += 1
            self._tenants[tenant] += 1
        try:
            yield
        finally:
            with self._lock:
                self._keys[tenant, key] -= 1
                self._tenants[tenant] -= 1
                self._keys, self._tenants = +self._keys, +self._tenants


@dataclass(slots=True, eq=False)
class _QueuedCall:
    """One call that waits for a thread, or has one."""

    tenant: str
    key: str
    work: Callable[[], Any]
    context: Context
    future: Future[Any]


class FairThreadPool:
    """So many calls at once, and so many more that wait for a thread, shared out among tenants and their keys.

    Whoever waits is served in turn: tenant by tenant, and within one key by key. One key may have all threads while nobody
    else asks. When somebody does who has less than an equal part, there are as many threads again, so that nobody waits for
    the long calls of another.
    """

    def __init__(self, threads: int, queue: int) -> None:
        self._threads = threads
        self._queue = queue
        self._pool = ThreadPoolExecutor(threads * 2, "rememo-serve")
        self._idle = threading.Condition()
        self._waiting: dict[str, dict[str, deque[_QueuedCall]]] = {}
        self._running: Counter[tuple[str, str]] = Counter()
        self._closed = False

    async def run(self, work: Callable[[], T], asker: Requester = SERVER) -> T:
        """Run a call on a thread; raises `Unavailable` when too many wait already, `RateLimited` when they are the asker's own."""
        # What the request was begun under, a trace for one, goes with it.
        call = _QueuedCall(*asker.name, work, copy_context(), Future())
        with self._idle:
            if self._closed:
                raise Unavailable("the server is being stopped; come back when it is up again")
            self._enter(call)
            started = self._start()
        for call in started:
            self._pool.submit(self._do, call)
        # By the thread's end and not by the request's: whoever stops waiting leaves a call that still runs.
        return await asyncio.wrap_future(call.future)

    def close(self) -> None:
        """Wait for the calls that run and wait, and take no more."""
        with self._idle:
            self._closed = True
            self._idle.wait_for(lambda: not self._running and not self._waiting)
        self._pool.shutdown()

    # ---- inside; all of it under the lock but `_do`

    def _enter(self, call: _QueuedCall) -> None:
        keys = self._waiting.get(call.tenant, {})
        mine = len(keys.get(call.key, ()))
        if mine or not self._may_start(call.tenant, call.key):
            ours = sum(map(len, keys.values()))
            if sum(len(calls) for held in self._waiting.values() for calls in held.values()) >= self._queue:
                raise Unavailable("the server has too much to do; come back in a second")
            if mine >= max(1, self._queue // 2) or ours >= max(1, self._queue * 3 // 4):
                raise RateLimited("too many requests of this key or tenant wait already; wait for their answers")
        self._waiting.setdefault(call.tenant, {}).setdefault(call.key, deque()).append(call)

    def _may_start(self, tenant: str, key: str) -> bool:
        """Whether there is a thread for a key: one of those for all, or one that makes up an equal part."""
        running, most = self._running.total(), self._threads
        if running < most:
            return True
        if running >= most * 2:
            return False
        active = self._running.keys() | {(other, name) for other, keys in self._waiting.items() for name in keys}
        active |= {(tenant, key)}
        ours = sum(count for (other, _), count in self._running.items() if other == tenant)
        if ours < max(1, most // len({other for other, _ in active})):
            return True
        # Keys of one tenant share what it has, and leave something for the others.
        return self._running[tenant, key] < max(1, most // len(active)) and ours < most + max(1, most // 2)

    def _start(self) -> list[_QueuedCall]:
        """Return the calls whose turn it is, each of which has a thread now."""
        started: list[_QueuedCall] = []
        while (turn := self._next()) is not None:
            tenant, key = turn
            keys = self._waiting.pop(tenant)
            calls = keys.pop(key)
            started.append(calls.popleft())
            self._running[tenant, key] += 1
            # The next time it is the others' turn.
            if calls:
                keys[key] = calls
            if keys:
                self._waiting[tenant] = keys
        return started

    def _next(self) -> tuple[str, str] | None:
        for tenant, keys in self._waiting.items():
            for key in keys:
                if self._may_start(tenant, key):
                    return tenant, key
        return None

    def _do(self, call: _QueuedCall) -> None:
        result, failure = None, None
        wanted = call.future.set_running_or_notify_cancel()
        if wanted:
            try:
                result = call.context.run(call.work)
            except BaseException as error:  # noqa: BLE001 - whoever waits for it is told
                failure = error
        with self._idle:
            # Before it is answered: whoever asks again at once finds the thread free.
            self._running[call.tenant, call.key] -= 1
            self._running = +self._running
            started = self._start()
            self._idle.notify_all()
        for started_call in started:
            self._pool.submit(self._do, started_call)
        if failure is not None:
            call.future.set_exception(failure)
        elif wanted:
            call.future.set_result(result)
