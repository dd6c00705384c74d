"""The stdio transport: one memory for the one client at the other end of a pipe.

The handshake is answered at once; the memory is opened meanwhile, and the first call waits for it. If opening fails, each
call reports it and tries again: a server that was down may be up.
"""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from mcp.server.context import CallNext, HandlerResult

from rememo.errors import RememoError
from rememo.serve.mcp.server import Context, build_graph_server, build_server, source_of
from rememo.serve.mcp.tool import Right, ToolCaller

if TYPE_CHECKING:
    from rememo.memory import Memory

T = TypeVar("T")

_THREADS: Final = 8
_log = logging.getLogger("rememo.serve.mcp")


class BackgroundMemory:
    """A memory that is opened in the background; after a failure, each `get()` tries again."""

    def __init__(self, opener: "Callable[[], Memory]") -> None:
        self._open = opener
        self._lock = threading.Lock()
        self._memory: Memory | None = None
        self._begun = False

    def begin(self) -> None:
        """Start opening without waiting; further calls do nothing."""
        if self._begun:
            return
        self._begun = True
        threading.Thread(target=self._quietly, name="rememo-mcp-opening", daemon=True).start()

    def get(self) -> "Memory":
        """Return the opened memory; raises what opening raised."""
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    def close(self) -> None:
        """Close the memory, if it was opened."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()

    def _quietly(self) -> None:
        try:
            self.get()
        except RememoError as error:
            _log.error("the memory cannot be opened: %s", error)
        except Exception:  # noqa: BLE001 - the next call reports it
            _log.exception("the memory cannot be opened")


class StdioAccess:
    """Access for one local client, with rights and labels that are fixed when the server starts."""

    def __init__(self, opening: BackgroundMemory, *, rights: frozenset[Right], bound: frozenset[str]) -> None:
        self._opening = opening
        self._rights = rights
        self._bound = bound
        self._threads: CapacityLimiter | None = None

    async def caller(self, ctx: Context) -> ToolCaller:
        """Return the client."""
        return ToolCaller(source=source_of(ctx), rights=self._rights, bound=self._bound)

    async def call(self, ctx: Context, work: "Callable[[Memory], T]") -> T:
        """Run something on a thread."""
        if self._threads is None:  # belongs to the event loop
            self._threads = CapacityLimiter(_THREADS)
        source = source_of(ctx)

        def serve_stdio() -> T:
            memory = self._opening.get()
            from rememo.engine.audit import acting  # noqa: PLC0415 - see the package

            with acting(actor=source):
                return work(memory)

        return await to_thread.run_sync(serve_stdio, limiter=self._threads)


def serve_stdio(
    opening: BackgroundMemory, *, read_only: bool = False, bound: frozenset[str] = frozenset(), graph: bool = False
) -> None:
    """Serve until the client closes the pipe; only the protocol is written to standard output."""
    rights: frozenset[Right] = frozenset({"read"}) if read_only else frozenset({"read", "write"})
    access = StdioAccess(opening, rights=rights, bound=bound)
    server = build_graph_server(access) if graph else build_server(access)

    async def serve() -> None:
        from mcp.server.stdio import stdio_server  # noqa: PLC0415 - only here

        async def first(ctx: Context, call_next: CallNext) -> HandlerResult:
            # Opening blocks the interpreter: the first request is answered before it starts.
            try:
                return await call_next(ctx)
            finally:
                opening.begin()

        server.middleware.append(first)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
