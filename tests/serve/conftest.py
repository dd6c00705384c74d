"""A real server on a free port, in a thread of the test's own process so that its clock and memory are at hand."""

import os
import runpy
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CallToolResult, TextContent
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.serve.pages import Page, checked

from rememo import Memory, Settings
from rememo.model.ids import new_id
from rememo.serve.app import create_app
from rememo.serve.auth import ApiKeys
from rememo.serve.listen import listen
from rememo.serve.server import Server
from rememo.serve.service import ServerOptions
from rememo.testing import ManualClock, WordEmbedder

Serve = Callable[..., str]


@contextmanager
def running(memory: Memory, options: ServerOptions | None = None) -> Generator[str]:
    """Serve a memory and give the address; it is stopped and waited for."""
    with listening(Server(create_app(memory, options))) as address:
        yield address


@contextmanager
def listening(server: uvicorn.Server) -> Generator[str]:
    """Let a server run on a free port."""
    line = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [line]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{line.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        line.close()
        assert not thread.is_alive()


class Hub:
    """Many applications behind one server, each below a path of its own: a server for each would take longer than a test."""

    def __init__(self) -> None:
        self.apps: dict[str, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, name, rest = scope["raw_path"].split(b"/", 2)
        inner = {**scope, "raw_path": b"/" + rest, "path": "/" + rest.decode("latin-1")}
        await self.apps[name.decode()](inner, receive, send)


@pytest.fixture(scope="session")
def hub() -> Iterator[tuple[Hub, str]]:
    apps = Hub()
    config = uvicorn.Config(apps, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off")
    with listening(uvicorn.Server(config)) as address:
        yield apps, address


@pytest.fixture
def hosted(hub: tuple[Hub, str]) -> Iterator[Callable[[Memory], str]]:
    """Serve memories below paths of one server, until the test ends."""
    apps, address = hub
    mine: dict[str, FastAPI] = {}

    def host(memory: Memory, options: ServerOptions | None = None) -> str:
        name = new_id()
        apps.apps[name] = mine[name] = create_app(memory, options)
        return f"{address}/{name}"

    yield host
    for name, app in mine.items():
        del apps.apps[name]
        app.state.service.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    settings = Settings(durability="fast", audit=True, learn_wait=10.0)  # a busy machine learns late
    with Memory(":memory:", embedder=WordEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


@pytest.fixture
def keys(memory: Memory) -> ApiKeys:
    return ApiKeys(memory)


@pytest.fixture
def serve(memory: Memory) -> Iterator[Serve]:
    """Serve the memory with options and give the address."""
    with ExitStack() as stack:

        def start(**options: Any) -> str:
            return stack.enter_context(running(memory, ServerOptions(**options)))

        yield start


@pytest.fixture
def web(serve: Serve) -> Iterator[httpx.Client]:
    """Ask the memory without a key."""
    with httpx.Client(base_url=serve(), timeout=30, trust_env=False) as client:
        yield client


@pytest.fixture
def board(web: httpx.Client) -> Callable[..., Page]:
    """Look at a page of the dashboard, strictly."""

    def get(path: str, status: int = 200, /, **query: Any) -> Page:
        return checked(web.get(path, params=query or None), status)

    return get


@pytest.fixture(name="running", scope="session")
def running_fixture() -> Any:
    return running


class Assistant:
    """The official client of the protocol, without waiting in the test."""

    def __init__(self, portal: BlockingPortal, client: McpClient) -> None:
        self._portal = portal
        self.client = client

    def use(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """Call a tool."""
        return self.ask("call_tool", tool, arguments)

    def got(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool that must succeed, and return its structured answer."""
        answer = self.use(tool, **arguments)
        assert not answer.is_error, answer
        return answer.structured_content

    def said(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool and return its text."""
        [content] = self.use(tool, **arguments).content
        assert isinstance(content, TextContent)
        return content.text

    def fault(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must fail, and return what it says."""
        answer = self.use(tool, **arguments)
        assert answer.is_error, answer
        [content] = answer.content
        assert isinstance(content, TextContent)
        return content.text

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the client."""
        return self._portal.call(getattr(self.client, method), *arguments)

    def tools(self) -> dict[str, Any]:
        """Return the tools by name."""
        return {tool.name: tool for tool in self.ask("list_tools").tools}


@pytest.fixture
def assistant() -> Iterator[Callable[..., Assistant]]:
    """Connect to an in-process server, a process (its arguments) or an address with headers."""
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())

        def connect(
            server: Any = None,
            *,
            command: "list[str] | None" = None,
            url: str | None = None,
            key: str | None = None,
            mode: str = "legacy",
        ) -> Assistant:
            where: Any = server
            if command is not None:
                start = ["-c", "from rememo.cli import main; main()", "mcp", *command]
                where = stdio_client(StdioServerParameters(command=sys.executable, args=start, env=dict(os.environ)))
            elif url is not None:
                headers = {} if key is None else {"Authorization": f"Bearer {key}"}
                web = stack.enter_context(portal.wrap_async_context_manager(create_mcp_http_client(headers=headers)))
                where = streamable_http_client(url, http_client=web)
            client = stack.enter_context(portal.wrap_async_context_manager(McpClient(where, mode=mode)))
            return Assistant(portal, client)

        yield connect


@pytest.fixture(scope="session")
def script() -> Callable[[str, str], list[str]]:
    """Return how a script of an npm package is run; what is not there yet is installed."""
    return runpy.run_path(str(Path(__file__).parents[2] / "tools" / "node.py"))["script"]
