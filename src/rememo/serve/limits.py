"""Limits of the server: request rates, concurrent transfers and streams, and a thread pool shared fairly."""

import asyncio
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from rememo.errors import RateLimited, Unavailable
from rememo.serve.shared_limits import Holder, SharedConnections
from rememo.serve.token_buckets import Bucket, LocalBuckets, TokenBuckets, digest

T = TypeVar("T")

_BURST_SECONDS = 2.0
"""Seconds' worth of requests that may come at once."""
_MOST_BUCKETS = 10_000


class RateLimit:
    """A token bucket for each key."""

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        buckets: TokenBuckets | None = None,
    ) -> None:
        """Allow `rate` requests per second, None for no limit; a key may have a rate of its own."""
        self._rate = rate
        self._clock = clock
        self._buckets = buckets or LocalBuckets()

    def take(self, id: str, rate: float | None = None) -> None:
        """Take a token; raises `RateLimited` when there is none."""
        rate = rate or self._rate
        if rate is None:
            return
        now, most, tokens = self._clock(), max(1.0, rate * _BURST_SECONDS), 0.0

        def refill(bucket: Bucket | None) -> Bucket:
            nonlocal tokens
            left, then = bucket or (most, now)
            tokens = min(most, left + max(0.0, now - then) * rate)
            return (tokens - 1 if tokens >= 1 else tokens), now

        self._buckets.change(id, refill)
        if tokens < 1:
            wait = math.ceil((1 - tokens) / rate)
            raise RateLimited(
                f"rate limit exceeded: this key allows {rate:g} requests per second; retry in {wait} seconds"
            )


class Requester:
    """The key and tenant that a request counts against, once the key is verified."""

    __slots__ = ("key", "tenant")

    def __init__(self, tenant: str = "", key: str = "") -> None:
        """Identify a key; without one, the server itself."""
        self.tenant = tenant
        self.key = key

    @property
    def name(self) -> tuple[str, str]:
        """Tenant and key id."""
        return self.tenant, self.key


SERVER: Final = Requester()
"""The server's own work."""
_requester: ContextVar[Requester] = ContextVar("rememo_asking", default=SERVER)


def current_requester() -> Requester:
    """Return the requester of this context."""
    return _requester.get()


@contextmanager
def requesting_as(asker: Requester) -> Generator[None]:
    """Set the requester of this context for the block."""
    token = _requester.set(asker)
    try:
        yield
    finally:
        _requester.reset(token)


class VerifiedKeys:
    """Cache of verified credentials: digest of the credentials to tenant and key id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[str, str]] = {}

    def find(self, credentials: str) -> tuple[str, str] | None:
        """Return tenant and key id of credentials that were verified before."""
        return self._known.get(digest(credentials))

    def add(self, credentials: str, name: tuple[str, str]) -> None:
        """Remember verified credentials."""
        known_as = digest(credentials)
        if self._known.get(known_as) == name:
            return
        with self._lock:
            self._known[known_as] = name
            if len(self._known) > _MOST_BUCKETS:
                del self._known[next(iter(self._known))]


class Places(Protocol):
    """Who holds the places of a limit."""

    def take(self, holder: Holder, check: Callable[[Sequence[Holder]], None]) -> int:
        """Take a place and return its number, unless `check` raises when it is given those who hold one."""
        ...

    def give_back(self, place: int) -> None:
        """Free a place."""
        ...


class LocalPlaces:
    """Places of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, Holder] = {}
        self._last = 0

    def take(self, holder: Holder, check: Callable[[Sequence[Holder]], None]) -> int:
        """Take a place."""
        with self._lock:
            check(list(self._held.values()))
            self._last += 1
            self._held[self._last] = holder
            return self._last

    def give_back(self, place: int) -> None:
        """Free a place."""
        with self._lock:
            del self._held[place]


class ConnectionLimit:
    """A limit of open connections, over all workers of a server."""

    def __init__(self, most: int, shared: SharedConnections | None = None) -> None:
        self._most = most
        self._shared = shared

    def count(self, own: int) -> bool:
        """Note how many this process has open; says whether that is within the limit."""
        return (own if self._shared is None else self._shared.count(own)) <= self._most


class ConcurrencyLimit:
    """A limit of concurrent long operations, with a share for each key and each tenant."""

    def __init__(self, what: str, most: int, *, of_key: int, of_tenant: int, places: Places | None = None) -> None:
        self._what = what
        self._most = most
        self._of_key = max(1, of_key)
        self._of_tenant = max(1, of_tenant)
        self._places = places or LocalPlaces()

    @contextmanager
    def place(self, asker: Requester) -> Generator[None]:
        """Hold a slot for the block; raises `RateLimited` when the key's or tenant's share is used, `Unavailable` when all are taken."""
        tenant, key = map(digest, asker.name)

        def check(held: Sequence[Holder]) -> None:
            if len(held) >= self._most:
                raise Unavailable(f"the server has {self._most} {self._what} open already; retry later")
            # A key of all tenants has one share, whichever of them it names.
            if sum(other == key for _, other in held) >= self._of_key:
                raise RateLimited(f"this key has {self._of_key} {self._what} open already; close one, or retry later")
            if sum(holder == tenant for holder, _ in held) >= self._of_tenant:
                raise RateLimited(f"this tenant has {self._of_tenant} {self._what} open already; retry later")

        place = self._places.take((tenant, key), check)
        try:
            yield
        finally:
            self._places.give_back(place)


@dataclass(slots=True, eq=False)
class _QueuedCall:
    """A call that waits for a thread or runs on one."""

    tenant: str
    key: str
    work: Callable[[], Any]
    context: Context
    future: Future[Any]


class FairThreadPool:
    """A thread pool with a bounded queue, shared fairly among tenants and their keys.

    Waiting calls are served round robin by tenant, and by key within a tenant. One key may use all threads while no other
    key has requests. For requesters below their equal share there are as many threads again, so that nobody waits for the
    long calls of another.
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
        """Run a call on a thread; raises `Unavailable` when the queue is full, `RateLimited` when it is full of the requester's calls."""
        # The context of the request, such as its trace, goes with the call.
        call = _QueuedCall(*asker.name, work, copy_context(), Future())
        with self._idle:
            if self._closed:
                raise Unavailable("the server is shutting down; retry when it is up again")
            self._enter(call)
            started = self._start()
        for call in started:
            self._pool.submit(self._do, call)
        # By the thread's end and not by the request's: a call keeps running when its request is cancelled.
        return await asyncio.wrap_future(call.future)

    def close(self) -> None:
        """Wait for running and queued calls, and accept no more."""
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
                raise Unavailable("the server is overloaded; retry in a second")
            if mine >= max(1, self._queue // 2) or ours >= max(1, self._queue * 3 // 4):
                raise RateLimited("too many queued requests of this key or tenant; wait for their responses")
        self._waiting.setdefault(call.tenant, {}).setdefault(call.key, deque()).append(call)

    def _may_start(self, tenant: str, key: str) -> bool:
        """Whether a thread is free for a key: a shared one, or one that makes up its equal share."""
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
        # Keys of one tenant divide its share, and leave something for the others.
        return self._running[tenant, key] < max(1, most // len(active)) and ours < most + max(1, most // 2)

    def _start(self) -> list[_QueuedCall]:
        """Dequeue the calls that have a thread now, and return them."""
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
            except BaseException as error:  # noqa: BLE001 - it is set on the future
                failure = error
        with self._idle:
            # Before the future is resolved: a requester that calls again at once finds the thread free.
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
