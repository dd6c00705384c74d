"""Change stream as server-sent events: each change of a record in the key's scope, committed by any process.

Nothing is queued: each follower is served from the store, from its own position, as fast as it reads. One that does not
read is disconnected with a `dropped` event; it reconnects with `Last-Event-ID` and misses nothing.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rememo.engine.view import view_of
from rememo.errors import Forbidden, InvalidInput, RememoError, Unauthorised, Unavailable
from rememo.keep.changes import changes, current_cursor
from rememo.model.change_event import ChangeEvent, parse_cursor
from rememo.serve.auth import ApiKey
from rememo.serve.http_errors import error_body
from rememo.serve.limits import SERVER, current_requester
from rememo.serve.rest.routes import Endpoint
from rememo.serve.rest.signature import parse_time_or_snapshot
from rememo.serve.rest.transfer import parse_scope
from rememo.serve.serializer import encode
from rememo.serve.service import Service, require_right

EVENT_STREAM: Final = "text/event-stream"
_PAGE: Final = 100
_log = logging.getLogger("rememo.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """A client of the change stream with its key and scope."""

    request: Request
    key: ApiKey
    scope: dict[str, list[str]]
    tenant: str


class ChangeStreams:
    """The change streams of one server, with one watch for each tenant that is followed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._watches: dict[str, ClockWatch] = {}

    def endpoint(self, page: Endpoint) -> Endpoint:
        """Return the endpoint of `GET /changes`: an event stream for clients that accept one, else a page."""

        async def answer(request: Request) -> Response:
            if EVENT_STREAM not in request.headers.get("accept", ""):
                return await page(request)
            return await self._follow(request)

        return answer

    async def _follow(self, request: Request) -> Response:
        service = self._service
        key = await service.admit(request)
        require_right(key, "read", "scope")
        scope, rest = parse_scope(request, "after")
        if "as_of" in scope:
            raise InvalidInput("a change stream cannot be combined with as_of; leave as_of out")
        after = request.headers.get("last-event-id") or rest.get("after")
        parse_cursor(None if after is None else parse_time_or_snapshot(after))
        with ExitStack() as stack:
            stack.enter_context(service.streams.place(current_requester()))
            bound = await service.run(lambda: service.view(key, scope).bound)
            follower = Follower(request=request, key=key, scope=scope, tenant=bound.tenant)
            return _EventStreamResponse(self._events(follower, after), service.options.stall, stack.pop_all().close)

    async def _events(self, follower: Follower, after: str | None) -> AsyncGenerator[bytes]:
        """Yield events: `ready` first, then each change, and comments that keep the connection open."""
        service = self._service
        watch = self._watches.setdefault(follower.tenant, ClockWatch(service, follower.tenant))
        watch.followers += 1
        try:
            cursor, changes = await self._read(follower, after)
            yield b"retry: 1000\n" + _event("ready", b"{}", cursor)
            while not service.stopping.is_set():
                for change in changes:
                    cursor = change.cursor
                    yield _event("changed", encode(change), cursor)
                if len(changes) < _PAGE and not await watch.wait(service.options.heartbeat):
                    yield b": still here\n\n"
                cursor, changes = await self._read(follower, cursor)
            yield _event("stopping", b"{}", cursor)
        except (Unauthorised, Forbidden) as error:  # the key was revoked or has expired
            yield _event("error", error_body(error.code, str(error)))
        finally:
            watch.followers -= 1
            if not watch.followers:
                watch.close()
                self._watches.pop(follower.tenant, None)

    async def _read(self, follower: Follower, after: str | None) -> tuple[str, list[ChangeEvent]]:
        """Return the cursor and the next changes after it; checks the key again."""

        def read() -> tuple[str, list[ChangeEvent]]:
            self._service.reauthenticate(follower.request, follower.key)
            memory = self._service.view(follower.key, follower.scope)
            view = view_of(memory)
            begin = current_cursor(view) if after is None else after
            return begin, changes(view, parse_time_or_snapshot(begin), _PAGE)

        while True:
            try:
                return await self._service.run(read)
            except Unavailable:
                if self._service.stopping.is_set():
                    return after or "", []
                await asyncio.sleep(self._service.options.poll)


class ClockWatch:
    """Polls the clock of a tenant while it is followed."""

    def __init__(self, service: Service, tenant: str) -> None:
        self.followers = 0
        self._service = service
        self._tenant = tenant
        self._moved = asyncio.Event()
        self._task = asyncio.create_task(self._look())

    async def wait(self, seconds: float) -> bool:
        """Wait for a write to the tenant or the server's stop; False after the timeout."""
        moved = asyncio.ensure_future(self._moved.wait())
        stopping = asyncio.ensure_future(self._service.stopping.wait())
        try:
            done, _ = await asyncio.wait((moved, stopping), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Also when the client has left: an event keeps those who wait for it.
            moved.cancel()
            stopping.cancel()
        return bool(done)

    def close(self) -> None:
        """Stop polling."""
        self._task.cancel()

    async def _look(self) -> None:
        store = view_of(self._service.memory).engine.store
        last = -1
        while True:
            try:
                now = await self._service.run(lambda: store.clock(self._tenant), asker=SERVER)
            except RememoError as error:
                # Busy or unreachable for a while: followers see the changes later, and lose nothing.
                _log.debug("cannot read the clock of tenant %s: %s", self._tenant, error)
                now = last
            if now != last:
                last = now
                # Wake the present waiters; later ones wait on a new event.
                self._moved.set()
                self._moved = asyncio.Event()
            await asyncio.sleep(self._service.options.poll)


class _EventStreamResponse(Response):
    """Sends events one by one, and disconnects clients that do not read them in time."""

    def __init__(self, events: AsyncGenerator[bytes], stall: float, leave: Callable[[], None]) -> None:
        super().__init__(media_type=EVENT_STREAM)
        self._events = events
        self._leave = leave
        self._stall = stall
        del self.headers["content-length"]
        self.headers["x-accel-buffering"] = "no"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as all answers
        """Send until the client disconnects or is too slow."""
        try:
            await self._give(receive, send)
        finally:
            self._leave()

    async def _give(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        disconnected = asyncio.ensure_future(_wait_for_disconnect(receive))
        sending = asyncio.ensure_future(self._tell(send))
        try:
            await asyncio.wait((disconnected, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            disconnected.cancel()
            if sending.done():
                sending.result()
            else:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
            await self._events.aclose()

    async def _tell(self, send: Send) -> None:
        async for event in self._events:
            sending = asyncio.ensure_future(send({"type": "http.response.body", "body": event, "more_body": True}))
            done, _ = await asyncio.wait((sending,), timeout=self._stall)
            if done:
                sending.result()
                continue
            _log.warning("a client of the change stream has not read for %g seconds and is disconnected", self._stall)
            # One that only paused finds out why when it reads on; one that is gone is cut off.
            message = f"disconnected: nothing was read for {self._stall:g} seconds; reconnect with Last-Event-ID, nothing is lost"
            done, _ = await asyncio.wait((sending,), timeout=self._stall)
            if not done:
                sending.cancel()
                raise ClientDisconnect
            await send(
                {
                    "type": "http.response.body",
                    "body": _event("dropped", error_body("unavailable", message)),
                    "more_body": True,
                }
            )
            break
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(name: str, data: bytes, cursor: str | None = None) -> bytes:
    id = b"" if cursor is None else b"id: " + cursor.encode() + b"\n"
    return id + b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
