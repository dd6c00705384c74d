"""HTTP protocol class for uvicorn, with limits on the size and duration of request heads and unread responses.

A request that fails before the application sees it (head too large, too slow, or malformed) gets the JSON error body of
all errors. A client that does not read its response is disconnected.
"""

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from rememo.model.ids import new_id
from rememo.serve.http_errors import HTTP_CODES, SECURITY_HEADERS, error_body
from rememo.serve.service import ServerOptions, Service

_MOST_HEADERS = 200
_LINGER_SECONDS = 1.0
"""Seconds that an idle connection stays open when the server stops: a request that is on its way is answered."""
_log = logging.getLogger("rememo.serve")


class BoundedHttpProtocol(HttpToolsProtocol):
    """One client connection."""

    def __init__(self, config: Any, *more: Any, **named: Any) -> None:
        super().__init__(config, *more, **named)
        self._service: Service = config.app.state.service
        self._options: ServerOptions = self._service.options
        self._refused = False
        self._head = 0
        """Bytes that have come since the last request was complete."""
        self._in_head = True
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._lingering: asyncio.TimerHandle | None = None
        self._last = False
        """Whether the next response is the last one."""

    # ---- reading

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as its parent
        """Start, or refuse with 503 when there are too many connections."""
        super().connection_made(transport)
        if not self._service.connections.count(len(self.connections)):
            self.refuse(503, "the server has too many connections; retry in a second", b"retry-after: 1\r\n")
            return
        self._await_head()
        if self._service.stopping.is_set():
            self.shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop(self._late, self._stalled, self._lingering)
        super().connection_lost(exc)
        self._service.connections.count(len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._refused:
            return
        self._head += len(data)
        super().data_received(data)
        if self._refused or self.transport.is_closing():
            return
        # Part of the next head has come; idle connections are closed by uvicorn.
        if self._in_head and self._head:
            if self._head > self._options.max_head:
                self._refuse_head()
            elif self._late is None:
                self._await_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._in_head, self._head = True, max(self._head, 1)

    def on_headers_complete(self) -> None:
        """Pass the request to the application, unless the head is too large."""
        self._in_head, self._head = False, 0
        self._stop(self._late)
        self._late = None
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if len(self.url) > self._options.max_head // 2:
            self.refuse(414, f"the URL is longer than {self._options.max_head // 2:,} bytes; send parameters in a body")
        elif size > self._options.max_head or len(self.headers) > _MOST_HEADERS:
            self._refuse_head()
        else:
            super().on_headers_complete()
            if self._last:
                self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Receive a piece of a body."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request; what comes next is the head of another."""
        if not self._refused:
            self._in_head, self._head = True, 0
            super().on_message_complete()

    # ---- stopping

    def shutdown(self) -> None:
        """Close after the response to the request in progress, or to one that is on its way."""
        self._last = True
        if self._may_have_more:
            self._lingering = self.loop.call_later(_LINGER_SECONDS, self._close_if_idle)
        else:
            super().shutdown()

    def _close_if_idle(self) -> None:
        # A head of which a part has come may take as long as any.
        if self._may_have_more and not self._head:
            self.transport.close()

    @property
    def _may_have_more(self) -> bool:
        """Whether all requests so far are answered, and another may come."""
        return self._in_head and (not self.cycle or self.cycle.response_complete)

    # ---- refusing

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self.refuse(400, f"{msg.rstrip('.')}: this is an HTTP/1.1 server")

    def refuse(self, status: int, message: str, more: bytes = b"") -> None:
        """Send an error response and close the connection."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        id, body = new_id(), error_body(HTTP_CODES.get(status, "unavailable"), message)
        headers = b"".join(name + b": " + value + b"\r\n" for name, value in SECURITY_HEADERS)
        self.transport.write(
            STATUS_LINE[status] + headers + more + b"content-type: application/json\r\ncontent-length: "
            + str(len(body)).encode() + b"\r\nx-request-id: " + id.encode() + b"\r\nconnection: close\r\n\r\n" + body
        )  # fmt: skip
        self.transport.close()
        _log.info("%s refused %d: %s", id, status, message)

    def _refuse_head(self) -> None:
        most = self._options.max_head
        self.refuse(431, f"the head of the request has more than {most:,} bytes or {_MOST_HEADERS} headers; send less")

    def _await_head(self) -> None:
        self._late = self.loop.call_later(self._options.head_seconds, self._give_up)

    def _give_up(self) -> None:
        if self.cycle and not self.cycle.response_complete:
            self._await_head()  # a response is still being sent, and nothing may be written into it
        else:
            seconds = self._options.head_seconds
            self.refuse(408, f"the head of the request did not arrive within {seconds:g} seconds")

    def _unsupported_upgrade_warning(self) -> None:
        """Ignore upgrade requests without a warning: they are answered over HTTP/1.1."""

    # ---- writing

    def pause_writing(self) -> None:
        """Pause writing, and start watching whether the client reads."""
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Resume writing."""
        self._stop(self._stalled)
        super().resume_writing()

    def _watch_reader(self, unsent: int) -> None:
        self._stop(self._stalled)
        self._stalled = self.loop.call_later(self._options.stall * 3, self._look_at_reader, unsent)

    def _look_at_reader(self, before: int) -> None:
        """Disconnect a client that has read nothing since; a slow one may go on."""
        unsent = self.transport.get_write_buffer_size()
        if unsent < before:
            self._watch_reader(unsent)
            return
        _log.warning("a client has read nothing for %g seconds and is disconnected", self._options.stall * 3)
        self.transport.abort()

    def _stop(self, *timers: asyncio.TimerHandle | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()
