"""A real server on a free port, in a thread of the test's own process so that its clock and memory are at hand."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from rememo import Memory, Settings
from rememo.serve.app import create_app
from rememo.serve.auth import Keys
from rememo.serve.listen import listen
from rememo.serve.service import Options
from rememo.testing import ManualClock, WordEmbedder

Serve = Callable[..., str]


@contextmanager
def running(memory: Memory, options: Options | None = None) -> Generator[str]:
    """Serve a memory and give the address; it is stopped and waited for."""
    listening = listen("127.0.0.1", 0)
    config = uvicorn.Config(
        create_app(memory, options), log_config=None, access_log=False, server_header=False, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        assert not thread.is_alive()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    settings = Settings(durability="fast", audit=True)
    with Memory(":memory:", embedder=WordEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


@pytest.fixture
def keys(memory: Memory) -> Keys:
    return Keys(memory)


@pytest.fixture
def serve(memory: Memory) -> Iterator[Serve]:
    """Serve the memory with options and give the address."""
    with ExitStack() as stack:

        def start(**options: Any) -> str:
            return stack.enter_context(running(memory, Options(**options)))

        yield start


@pytest.fixture
def web(serve: Serve) -> Iterator[httpx.Client]:
    """Ask the memory without a key."""
    with httpx.Client(base_url=serve(), timeout=30, trust_env=False) as client:
        yield client


@pytest.fixture(name="running")
def running_fixture() -> Any:
    return running
