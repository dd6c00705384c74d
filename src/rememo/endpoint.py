"""Asking an HTTP endpoint of a model: with retries, a limit of calls at once, a deadline for all of it, and an end at any time.

Calls are made on an event loop of their own, in a thread of their own: only so can a call that waits for its answer be
ended from outside, and only so does a deadline hold against an endpoint that sends one byte a second.
"""

import asyncio
import json
import os
import queue
import random
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from rememo.errors import InvalidInput, MissingExtra, ModelFailed

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT: Final = 30.0
"""How long an endpoint may tell us to wait inside one call; whoever asks for more gets an error that says when."""
_WORTH_ANOTHER_TRY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_TOO_MANY: Final = 429
_LONGEST_PAUSE: Final = 8.0
_CONNECT_SECONDS: Final = 10.0
_MOST_BYTES: Final = 32 * 1024 * 1024
_SHOWN_OF_AN_ERROR: Final = 300
_END: Final = object()
_kept: list[object] = []
"""Loops of the process that forked this one: nothing may close them here."""

T = TypeVar("T")


class Stop:
    """Ends the calls that are made under it, and lets none begin after. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._calls: set[Future[Any]] = set()

    @property
    def over(self) -> bool:
        """Whether it was set."""
        return self._over

    def set(self) -> None:
        """End what is being asked."""
        with self._lock:
            self._over = True
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    @contextmanager
    def holding(self, call: "Future[Any]") -> Generator[None]:
        """Let a call be ended as long as the block lasts."""
        with self._lock:
            self._calls.add(call)
        if self._over:
            call.cancel()
        try:
            yield
        finally:
            with self._lock:
                self._calls.discard(call)


_stops: ContextVar[tuple[Stop, ...]] = ContextVar("rememo_stops", default=())


@contextmanager
def stopped_by(stop: Stop) -> Generator[None]:
    """Let every call that this thread makes inside the block be ended by `stop`, and by those of blocks around it."""
    token = _stops.set((*_stops.get(), stop))
    try:
        yield
    finally:
        _stops.reset(token)


@contextmanager
def _holding(call: "Future[Any]") -> Generator[None]:
    with ExitStack() as stack:
        for stop in _stops.get():
            stack.enter_context(stop.holding(call))
        yield


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint answered."""

    body: Mapping[str, Any]
    tries: int
    """How many requests it took."""


class Endpoint:
    """One base address of a service that speaks JSON. Safe for threads; close it, or let it go."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 2,
        concurrency: int = 4,
        headers: Mapping[str, str] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Ask at `base_url`; `timeout` is for a whole call with its `retries`, in seconds.

        No more than `concurrency` requests run at once; the others wait their turn within their own time. Raises
        `MissingExtra` without httpx.
        """
        parts = urlsplit(base_url if isinstance(base_url, str) else "")  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput("an endpoint's address must begin with http:// or https:// and name a host")
        if not timeout > 0 or retries < 0 or concurrency < 1:
            raise InvalidInput("timeout must be above 0, retries 0 or more, concurrency 1 or more")
        self._httpx = require("httpx")
        self._base = base_url.rstrip("/")
        host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
        self.address: Final = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        """The base address as it may be shown: without a password."""
        self._headers = {**(headers or {}), **({"Authorization": f"Bearer {api_key}"} if api_key else {})}
        self._timeout = timeout
        self._retries = retries
        self._concurrency = concurrency
        self._sleep = sleep
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._closed = False

    def post(
        self, path: str, body: Mapping[str, Any], *, timeout: float | None = None, retries: int | None = None
    ) -> Answer:
        """Return what is answered to a JSON body; raises `ModelFailed` with its reason when nothing useful is.

        Tried again: what could not be sent, 429 and passing faults of the server. Not tried again: what was sent and not
        answered in time, because it may have been paid for.
        """
        limit = self._timeout if timeout is None else timeout
        line = self._open()
        return self._wait(line, self._posting(line, path, body, limit, self._retries if retries is None else retries))

    def stream(
        self, path: str, body: Mapping[str, Any], *, timeout: float | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Give what an endpoint sends as server-sent events, one JSON object after the other, until it says `[DONE]`.

        Letting go of the iterator ends the call. Nothing is tried again once something has come.
        """
        limit = self._timeout if timeout is None else timeout
        line, events = self._open(), cast("queue.SimpleQueue[object]", queue.SimpleQueue())

        async def run() -> None:
            try:
                async with asyncio.timeout(limit):
                    async with aclosing(self._events(line, path, body)) as found:
                        async for event in found:
                            events.put(event)
                events.put(_END)
            except TimeoutError:
                events.put(self._slow(path, limit))
            except asyncio.CancelledError:
                events.put(self._stopped(path))
                raise
            except BaseException as error:  # noqa: BLE001 - it is raised where the events are read
                events.put(error)

        call = self._begin(line, run())
        try:
            with _holding(call):
                while (event := events.get()) is not _END:
                    if isinstance(event, BaseException):
                        raise event
                    yield cast("Mapping[str, Any]", event)
        finally:
            call.cancel()

    def close(self) -> None:
        """End what is being asked, and ask no more; closing twice is harmless."""
        with self._lock:
            self._closed = True
            line, self._line = self._line, None
        if line is not None and line.process == os.getpid():
            line.end()
            line.join()

    # ---- inside

    def _open(self) -> "_Line":
        with self._lock:
            if self._closed:
                raise ModelFailed(f"{self.address} was closed; make another one", reason="stopped")
            if self._line is not None and self._line.process != os.getpid():
                _kept.append(self._line)
                self._line = None
            if self._line is None:
                timeout = self._httpx.Timeout(None, connect=_CONNECT_SECONDS)
                # Reading the certificates takes a tenth of a second, and a plain address has no use for them.
                verify = self.address.startswith("https:")
                self._line = _Line(lambda: self._httpx.AsyncClient(timeout=timeout, verify=verify), self._concurrency)
                weakref.finalize(self, self._line.end)
            return self._line

    def _begin(self, line: "_Line", work: Coroutine[Any, Any, T]) -> "Future[T]":
        call = line.begin(work)
        if call is None:
            raise self._stopped("")
        return call

    def _wait(self, line: "_Line", work: Coroutine[Any, Any, T]) -> T:
        call = self._begin(line, work)
        with _holding(call):
            try:
                return call.result()
            except CancelledError:
                raise self._stopped("") from None
            except BaseException:
                call.cancel()  # the caller was interrupted: nobody waits for the answer any more
                raise

    async def _posting(self, line: "_Line", path: str, body: Mapping[str, Any], limit: float, retries: int) -> Answer:
        deadline = asyncio.get_running_loop().time() + limit
        try:
            async with asyncio.timeout(limit):
                for attempt in range(retries + 1):
                    try:
                        return Answer(await self._ask(line, path, body), attempt + 1)
                    except _Again as error:
                        await self._rest(error, retries - attempt, attempt, deadline)
        except TimeoutError:
            raise self._slow(path, limit) from None
        raise AssertionError("the last attempt returns or raises")

    async def _rest(self, error: "_Again", left_tries: int, attempt: int, deadline: float) -> None:
        """Wait before another try, or raise what went wrong when there is none."""
        pause = random.uniform(0, min(0.5 * 2**attempt, _LONGEST_PAUSE))  # noqa: S311 - full jitter, not a secret
        if error.told is not None:
            pause = error.told + pause / 10
        left = deadline - asyncio.get_running_loop().time()
        if not left_tries or (error.told or 0.0) > LONGEST_WAIT or pause > left:
            raise error.fault from None
        await self._sleep(pause)

    async def _ask(self, line: "_Line", path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        async with self._sent(line, path, body) as response:
            try:
                content = await _content(response)
            except self._httpx.TransportError as error:
                raise ModelFailed(f"{self.address}{path} broke off its answer: {error!r}", reason="broken") from error
        if content is None:
            raise ModelFailed(f"{self.address}{path} answered more than {_MOST_BYTES:,} bytes", reason="malformed")
        try:
            answer: object = json.loads(content)
        except ValueError as error:
            raise ModelFailed(f"{self.address}{path} did not answer with JSON: {error}", reason="malformed") from error
        if not isinstance(answer, dict):
            raise ModelFailed(f"{self.address}{path} did not answer with a JSON object", reason="malformed")
        return cast("dict[str, Any]", answer)

    async def _events(self, line: "_Line", path: str, body: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any]]:
        deadline = asyncio.get_running_loop().time() + self._timeout
        for attempt in range(self._retries + 1):
            try:
                async with self._sent(line, path, body) as response:
                    try:
                        async for text in response.aiter_lines():
                            if not text.startswith("data:"):
                                continue
                            if (data := text.removeprefix("data:").strip()) == "[DONE]":
                                return
                            yield self._event(path, data)
                    except self._httpx.TransportError as error:
                        raise ModelFailed(
                            f"{self.address}{path} broke off its answer: {error!r}", reason="broken"
                        ) from error
            except _Again as error:
                await self._rest(error, self._retries - attempt, attempt, deadline)
            else:
                return

    def _event(self, path: str, data: str) -> Mapping[str, Any]:
        try:
            event: object = json.loads(data)
        except ValueError as error:
            raise ModelFailed(f"{self.address}{path} sent an event that is not JSON", reason="malformed") from error
        if not isinstance(event, dict):
            raise ModelFailed(f"{self.address}{path} sent an event that is no object", reason="malformed")
        return cast("dict[str, Any]", event)

    @asynccontextmanager
    async def _sent(self, line: "_Line", path: str, body: Mapping[str, Any]) -> "AsyncGenerator[httpx.Response]":
        """Lend the response to a request, or raise the failure that it met."""
        url, name = self._base + path, f"{self.address}{path}"
        async with line.turn, AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(
                    line.client.stream("POST", url, json=body, headers=self._headers)
                )
                shown = await _content(response) if response.is_error else None
            except self._httpx.HTTPError as error:
                told = str(error) or repr(error)
                raise _Again(ModelFailed(f"{name} cannot be reached: {told}", reason="unreachable")) from error
            if response.is_error:
                raise _refused(name, response, shown)
            yield response

    def _slow(self, path: str, limit: float) -> ModelFailed:
        return ModelFailed(f"{self.address}{path} did not answer within {limit:g} seconds", reason="slow")

    def _stopped(self, path: str) -> ModelFailed:
        return ModelFailed(f"the call to {self.address}{path} was ended before its answer", reason="stopped")


class _Again(Exception):
    """A failure that another try may not have."""

    def __init__(self, fault: ModelFailed, told: float | None = None) -> None:
        super().__init__(str(fault))
        self.fault = fault
        self.told = told


def _refused(name: str, response: "httpx.Response", content: bytes | None) -> Exception:
    """Return what an answer that is an error means."""
    status, told = response.status_code, _told(response.headers.get("retry-after"))
    shown = (content or b"").decode(errors="replace")[:_SHOWN_OF_AN_ERROR]
    if status not in _WORTH_ANOTHER_TRY:
        return ModelFailed(f"{name} answered {status}: {shown}", reason="rejected")
    later = "" if told is None else f" and asks to come back in {told:g} seconds"
    fault = ModelFailed(f"{name} answered {status}{later}: {shown}", reason="busy", retry_after=told)
    return _Again(fault, told)


class _Line:
    """The event loop of one endpoint, in its thread, with the connections that belong to it."""

    def __init__(self, make: "Callable[[], httpx.AsyncClient]", concurrency: int) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.turn = asyncio.Semaphore(concurrency)
        self.client = make()
        self._lock = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="rememo-endpoint", daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T] | None":
        """Run something on the loop; None when that has come to its end."""
        with self._lock:
            # What is begun before the end is cancelled by it; what came between the two would never be told.
            if not self._ended:
                return asyncio.run_coroutine_threadsafe(work, self.loop)
        work.close()
        return None

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(self._let_go())
            self.loop.close()

    async def _let_go(self) -> None:
        own, loop = asyncio.current_task(), asyncio.get_running_loop()
        tasks = asyncio.all_tasks() - {own}
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.client.aclose()
        # A stream that was let go of closes itself part by part, each in a task that the one before brings about.
        await loop.shutdown_asyncgens()
        await asyncio.sleep(0)
        while others := asyncio.all_tasks() - {own}:
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0)

    def end(self) -> None:
        """Ask the loop to stop, with whatever runs on it; waits for nobody.

        The collector may call this in any thread and at any moment, with any lock held: what the loop needs for closing,
        such as the lock of an import, may be among them.
        """
        if self.process != os.getpid():
            return
        with self._lock:
            if not self._ended:
                self._ended = True
                self.loop.call_soon_threadsafe(self.loop.stop)

    def join(self) -> None:
        """Wait until the loop has closed its connections."""
        if threading.current_thread() is not self._thread:
            self._thread.join()


async def _content(response: "httpx.Response") -> bytes | None:
    """Return the body; None when it is larger than can be meant."""
    parts, size = list[bytes](), 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            return None
    return b"".join(parts)


def _told(value: str | None) -> float | None:
    """Return the seconds that a `Retry-After` asks for, as a number or as a date; None when it says neither."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def require(module: str) -> Any:
    """Import what asking endpoints needs; raise `MissingExtra` with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f'asking a model needs the package {module}, which cannot be imported ({error}): pip install "rememo[llm]"'
        ) from error
