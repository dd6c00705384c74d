"""Client of a model's HTTP endpoint: retries, a limit of concurrent calls, a deadline for all of it, and cancellation.

Calls are made on an event loop of their own, in a thread of their own: only so can a call that waits for its response be
cancelled from outside, and only so does a deadline hold against an endpoint that sends one byte a second.
"""

import asyncio
import json
import os
import queue
import random
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from rememo.endpoint.cancellation import cancellable
from rememo.endpoint.event_loop import EventLoopThread
from rememo.errors import InvalidInput, MissingExtra, ModelFailed

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT: Final = 30.0
"""The longest `Retry-After` that is waited for inside a call; a longer one raises an error that says when."""
_RETRYABLE: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LONGEST_PAUSE: Final = 8.0
_CONNECT_SECONDS: Final = 10.0
_MOST_BYTES: Final = 32 * 1024 * 1024
_ERROR_EXCERPT: Final = 300
_END: Final = object()
_forked_loops: list[object] = []
"""Loops of the process that forked this one: nothing may close them here."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """The JSON body of a response."""

    body: Mapping[str, Any]
    tries: int
    """How many requests it took."""


class Endpoint:
    """A client for one base URL that speaks JSON. Safe for threads; close it, or let it be collected."""

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
        """Call `base_url`; `timeout` is for a whole call with its `retries`, in seconds.

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
        """The base URL as it may be logged: without a password."""
        self._headers = {**(headers or {}), **({"Authorization": f"Bearer {api_key}"} if api_key else {})}
        self._timeout = timeout
        self._retries = retries
        self._concurrency = concurrency
        self._sleep = sleep
        self._lock = threading.Lock()
        self._loop_thread: EventLoopThread | None = None
        self._closed = False

    def post(
        self, path: str, body: Mapping[str, Any], *, timeout: float | None = None, retries: int | None = None
    ) -> EndpointResponse:
        """Post a JSON body and return the response; raises `ModelFailed` with its reason when there is no usable one.

        Retried: what could not be sent, 429 and passing faults of the server. Not retried: what was sent and not answered
        in time, because it may have been paid for.
        """
        limit = self._timeout if timeout is None else timeout
        loop_thread = self._open()
        return self._wait(
            loop_thread, self._post(loop_thread, path, body, limit, self._retries if retries is None else retries)
        )

    def stream(
        self, path: str, body: Mapping[str, Any], *, timeout: float | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the JSON objects of a stream of server-sent events until `[DONE]`.

        Closing the iterator cancels the call. Nothing is retried once an event has come.
        """
        limit = self._timeout if timeout is None else timeout
        loop_thread, events = self._open(), cast("queue.SimpleQueue[object]", queue.SimpleQueue())

        async def run() -> None:
            try:
                async with asyncio.timeout(limit):
                    async with aclosing(self._stream_events(loop_thread, path, body)) as incoming:
                        async for event in incoming:
                            events.put(event)
                events.put(_END)
            except TimeoutError:
                events.put(self._slow(path, limit))
            except asyncio.CancelledError:
                events.put(self._stopped(path))
                raise
            except BaseException as error:  # noqa: BLE001 - it is raised where the events are read
                events.put(error)

        call = self._begin(loop_thread, run())
        try:
            with cancellable(call):
                while (event := events.get()) is not _END:
                    if isinstance(event, BaseException):
                        raise event
                    yield cast("Mapping[str, Any]", event)
        finally:
            call.cancel()

    def close(self) -> None:
        """Cancel the calls that run, and take no more; closing twice is harmless."""
        with self._lock:
            self._closed = True
            loop_thread, self._loop_thread = self._loop_thread, None
        if loop_thread is not None and loop_thread.process == os.getpid():
            loop_thread.end()
            loop_thread.join()

    # ---- inside

    def _open(self) -> EventLoopThread:
        with self._lock:
            if self._closed:
                raise ModelFailed(f"{self.address} was closed; make another one", reason="stopped")
            if self._loop_thread is not None and self._loop_thread.process != os.getpid():
                _forked_loops.append(self._loop_thread)
                self._loop_thread = None
            if self._loop_thread is None:
                timeout = self._httpx.Timeout(None, connect=_CONNECT_SECONDS)
                # Reading the certificates takes a tenth of a second, and a plain address has no use for them.
                verify = self.address.startswith("https:")
                self._loop_thread = EventLoopThread(
                    lambda: self._httpx.AsyncClient(timeout=timeout, verify=verify), self._concurrency
                )
                weakref.finalize(self, self._loop_thread.end)
            return self._loop_thread

    def _begin(self, loop_thread: EventLoopThread, work: Coroutine[Any, Any, T]) -> "Future[T]":
        call = loop_thread.begin(work)
        if call is None:
            raise self._stopped("")
        return call

    def _wait(self, loop_thread: EventLoopThread, work: Coroutine[Any, Any, T]) -> T:
        call = self._begin(loop_thread, work)
        with cancellable(call):
            try:
                return call.result()
            except CancelledError:
                raise self._stopped("") from None
            except BaseException:
                call.cancel()  # the caller was interrupted: nobody waits for the answer any more
                raise

    async def _post(
        self, loop_thread: EventLoopThread, path: str, body: Mapping[str, Any], limit: float, retries: int
    ) -> EndpointResponse:
        deadline = asyncio.get_running_loop().time() + limit
        try:
            async with asyncio.timeout(limit):
                for attempt in range(retries + 1):
                    try:
                        return EndpointResponse(await self._send_once(loop_thread, path, body), attempt + 1)
                    except _RetryableFailure as error:
                        await self._pause(error, retries - attempt, attempt, deadline)
        except TimeoutError:
            raise self._slow(path, limit) from None
        raise AssertionError("the last attempt returns or raises")

    async def _pause(self, error: "_RetryableFailure", left_tries: int, attempt: int, deadline: float) -> None:
        """Wait before the next attempt, or raise the failure when there is none."""
        pause = random.uniform(0, min(0.5 * 2**attempt, _LONGEST_PAUSE))  # noqa: S311 - full jitter, not a secret
        if error.retry_after is not None:
            pause = error.retry_after + pause / 10
        left = deadline - asyncio.get_running_loop().time()
        if not left_tries or (error.retry_after or 0.0) > LONGEST_WAIT or pause > left:
            raise error.failure from None
        await self._sleep(pause)

    async def _send_once(self, loop_thread: EventLoopThread, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        async with self._request(loop_thread, path, body) as response:
            try:
                content = await _read_body(response)
            except self._httpx.TransportError as error:
                raise ModelFailed(f"{self.address}{path} broke off its answer: {error!r}", reason="broken") from error
        if content is None:
            raise ModelFailed(f"{self.address}{path} answered more than {_MOST_BYTES:,} bytes", reason="malformed")
        return self._parse(content, f"{self.address}{path} did not answer with a JSON object")

    async def _stream_events(
        self, loop_thread: EventLoopThread, path: str, body: Mapping[str, Any]
    ) -> AsyncGenerator[Mapping[str, Any]]:
        deadline = asyncio.get_running_loop().time() + self._timeout
        for attempt in range(self._retries + 1):
            try:
                async with self._request(loop_thread, path, body) as response:
                    try:
                        async for text in response.aiter_lines():
                            if not text.startswith("data:"):
                                continue
                            if (data := text.removeprefix("data:").strip()) == "[DONE]":
                                return
                            yield self._parse(data, f"{self.address}{path} sent an event that is no JSON object")
                    except self._httpx.TransportError as error:
                        raise ModelFailed(
                            f"{self.address}{path} broke off its answer: {error!r}", reason="broken"
                        ) from error
            except _RetryableFailure as error:
                await self._pause(error, self._retries - attempt, attempt, deadline)
            else:
                return

    @staticmethod
    def _parse(content: str | bytes, problem: str) -> Mapping[str, Any]:
        """Return a JSON object; raises `ModelFailed` with the problem for anything else."""
        try:
            value: object = json.loads(content)
        except ValueError as error:
            raise ModelFailed(f"{problem}: {error}", reason="malformed") from error
        if not isinstance(value, dict):
            raise ModelFailed(problem, reason="malformed")
        return cast("dict[str, Any]", value)

    @asynccontextmanager
    async def _request(
        self, loop_thread: EventLoopThread, path: str, body: Mapping[str, Any]
    ) -> "AsyncGenerator[httpx.Response]":
        """Send a request and lend its response, or raise its failure."""
        url, name = self._base + path, f"{self.address}{path}"
        async with loop_thread.slots, AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(
                    loop_thread.client.stream("POST", url, json=body, headers=self._headers)
                )
                content = await _read_body(response) if response.is_error else None
            except self._httpx.HTTPError as error:
                reason = str(error) or repr(error)
                raise _RetryableFailure(
                    ModelFailed(f"{name} cannot be reached: {reason}", reason="unreachable")
                ) from error
            if response.is_error:
                raise _error_of_response(name, response, content)
            yield response

    def _slow(self, path: str, limit: float) -> ModelFailed:
        return ModelFailed(f"{self.address}{path} did not answer within {limit:g} seconds", reason="slow")

    def _stopped(self, path: str) -> ModelFailed:
        return ModelFailed(f"the call to {self.address}{path} was ended before its answer", reason="stopped")


class _RetryableFailure(Exception):
    """A failure that may pass: the request can be sent again."""

    def __init__(self, failure: ModelFailed, retry_after: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.retry_after = retry_after


def _error_of_response(name: str, response: "httpx.Response", content: bytes | None) -> Exception:
    """Return the error for an HTTP error response."""
    status, retry_after = response.status_code, _parse_retry_after(response.headers.get("retry-after"))
    excerpt = (content or b"").decode(errors="replace")[:_ERROR_EXCERPT]
    if status not in _RETRYABLE:
        return ModelFailed(f"{name} answered {status}: {excerpt}", reason="rejected")
    later = "" if retry_after is None else f" and asks to come back in {retry_after:g} seconds"
    failure = ModelFailed(f"{name} answered {status}{later}: {excerpt}", reason="busy", retry_after=retry_after)
    return _RetryableFailure(failure, retry_after)


async def _read_body(response: "httpx.Response") -> bytes | None:
    """Return the body; None when it is larger than allowed."""
    parts, size = list[bytes](), 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            return None
    return b"".join(parts)


def _parse_retry_after(value: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or a date; None when it is neither."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def require(module: str) -> Any:
    """Import an optional package; raise `MissingExtra` with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f'asking a model needs the package {module}, which cannot be imported ({error}): pip install "rememo[llm]"'
        ) from error
