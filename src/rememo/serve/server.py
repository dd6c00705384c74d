"""The server: uvicorn, told how to stop."""

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from rememo.serve.http_protocol import BoundedHttpProtocol

if TYPE_CHECKING:
    from fastapi import FastAPI

GRACE: Final = 30
"""Seconds that requests under way have to end when the server stops."""


class Server(uvicorn.Server):
    """Serves an application of ours until it is told to stop; then those who would stay for ever are asked to leave."""

    def __init__(self, app: "FastAPI", **more: Any) -> None:
        settings: dict[str, Any] = {
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "ws": "none",
            "http": BoundedHttpProtocol,
            # Longer than clients keep a line that they do not use: they let go first, and none is cut as it is used.
            "timeout_keep_alive": 20,
            "timeout_graceful_shutdown": GRACE,
        }
        super().__init__(uvicorn.Config(app, **settings | more))
        self._stopping: asyncio.Event = app.state.service.stopping

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more, let what is under way end, and close."""
        self._stopping.set()
        await super().shutdown(sockets)
