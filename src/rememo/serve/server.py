"""The server: uvicorn with our protocol class and a graceful shutdown."""

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from rememo.serve.http_protocol import BoundedHttpProtocol

if TYPE_CHECKING:
    from fastapi import FastAPI

GRACE: Final = 30
"""Seconds that requests in progress have to finish when the server stops."""


class Server(uvicorn.Server):
    """Serves an application until it is stopped; open streams are then asked to end."""

    def __init__(self, app: "FastAPI", ready: Callable[[], None] | None = None, **more: Any) -> None:
        """Serve an application; `ready` is called when it accepts requests."""
        settings: dict[str, Any] = {
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "ws": "none",
            "http": BoundedHttpProtocol,
            # Longer than clients keep idle connections: they close first, and none is cut as it is used.
            "timeout_keep_alive": 20,
            "timeout_graceful_shutdown": GRACE,
        }
        super().__init__(uvicorn.Config(app, **settings | more))
        self._stopping: asyncio.Event = app.state.service.stopping
        self._ready = ready
        self._accepting: set[asyncio.Task[object]] = set()

    def stop(self) -> None:
        """Stop at the next opportunity; may be called from a signal handler, and before the server has started."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept requests."""
        await super().startup(sockets)
        if self._ready is not None and self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more requests, let those in progress finish, and close."""
        self._stopping.set()
        for listening in sockets or ():
            self._accept_waiting(listening)
        await super().shutdown(sockets)

    def _accept_waiting(self, listening: socket.socket) -> None:
        """Accept who is connected already: closing the socket would cut them off without an answer."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                connection, _ = listening.accept()
            except ConnectionAbortedError:  # has left meanwhile
                continue
            except OSError:  # nobody waits any more
                return
            connection.setblocking(False)
            task = loop.create_task(loop.connect_accepted_socket(self._make_protocol, connection))
            self._accepting.add(task)
            task.add_done_callback(self._accepting.discard)

    def _make_protocol(self) -> BoundedHttpProtocol:
        return BoundedHttpProtocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
