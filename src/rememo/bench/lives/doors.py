"""Doors: the ways into a memory, each used as its users do.

``python``
    `Memory`, a new one for each life.
``rest``
    `Client` on a `rememo serve` of its own, a tenant for each life.
``mcp``
    The tools ``recall`` and ``context`` of the same kind of server, through the protocol's official client. The tools that write
    take no time of their own, so messages are told over REST.
``mem0``
    mem0's own `MemoryClient` on a `rememo serve`, in an environment of its own.
``langgraph``
    LangGraph's store on a memory, in an environment of its own.

The last two have no context: what was found stands there instead, a line each, as their guides paste it into prompts;
of LangGraph's items without those that are marked as superseded and stand behind what replaced them.
"""

import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, cast

from rememo.bench.lives.data import Life, LifeMessage, LifeQuestion
from rememo.bench.lives.drivers import Driver, run_driver
from rememo.errors import MissingExtra, Unavailable
from rememo.memory import Memory
from rememo.model.hit import Hit

DOORS: Final = ("python", "rest", "mcp", "mem0", "langgraph")
_TOKENS: Final = 800
_PATIENCE: Final = 60.0
"""Seconds in which a server must answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a door gave for a question: hits as text, each with the texts it was learned from, and the context."""

    hits: Sequence[str]
    context: str


class Door(Protocol):
    """A way into a memory."""

    def tell(self, life: Life) -> None:
        """Store the messages of a life, and wait until they were learned from."""
        ...

    def ask(self, life: Life, question: LifeQuestion) -> Answered:
        """Ask one of its questions."""
        ...


@contextmanager
def open_door(name: str, lives: Sequence[Life], python: Path | None = None) -> Generator[Door]:
    """Open a door for some lives, and close what it needed; raise `MissingExtra` where that is not installed."""
    with ExitStack() as stack:
        match name:
            case "python":
                door = _Python()
                stack.callback(door.close)
                yield door
            case "langgraph":
                yield _Outside(stack.enter_context(run_driver(name, python)))
            case "mem0":
                driver = stack.enter_context(run_driver(name, python))
                url, keys = stack.enter_context(_serving(lives))
                yield _Outside(driver, host=url, keys=keys)
            case _:
                url, keys = stack.enter_context(_serving(lives))
                yield stack.enter_context(_mcp(url, keys)) if name == "mcp" else _Rest(url, keys)


# ---- Python and REST


class _Python:
    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}

    def tell(self, life: Life) -> None:
        self.close()  # lives are told and asked one after the other
        self._memories[life.name] = Memory(":memory:")
        tell_messages(self._memories[life.name], life.messages)

    def ask(self, life: Life, question: LifeQuestion) -> Answered:
        return _ask(self._memories[life.name], question)

    def close(self) -> None:
        while self._memories:
            self._memories.popitem()[1].close()


class _Rest:
    def __init__(self, url: str, keys: dict[str, str]) -> None:
        self._url, self._keys = url, keys

    def view(self, life: Life) -> Memory:
        from rememo.client import Client  # noqa: PLC0415 - the extra may not be installed

        # Its surface is the same.
        return cast("Memory", Client(self._url, self._keys[life.name], tenant=life.name))

    def tell(self, life: Life) -> None:
        with self.view(life) as view:
            tell_messages(view, life.messages)

    def ask(self, life: Life, question: LifeQuestion) -> Answered:
        with self.view(life) as view:
            return _ask(view, question)


def tell_messages(memory: Memory, messages: Sequence[LifeMessage]) -> None:
    """Store messages with their times, and wait until they were learned from."""
    for message in messages:
        view = memory.scope(user=message.user, room=message.room, agent=message.agent)
        view.messages.add(message.role, message.text, at=message.at).wait()


def _ask(memory: Memory, question: LifeQuestion) -> Answered:
    view = memory if question.user is None else memory.scope(user=question.user)
    hits = view.search(question.text, at=question.at)
    context = view.context(question.text, max_tokens=_TOKENS, at=question.at)
    return Answered(hits=[_text(hit) for hit in hits], context=context.text)


def _text(hit: Hit) -> str:
    return " | ".join([hit.text, *(source.text for source in hit.sources)])


# ---- a server


@contextmanager
def _serving(lives: Sequence[Life]) -> Generator[tuple[str, dict[str, str]]]:
    """Run `rememo serve` on a new file until the block ends; give its address, and a key for the tenant of each life."""
    for package in ("fastapi", "httpx", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtra(f'it needs {package}: pip install "rememo[server,client,mcp]"')
    import httpx  # noqa: PLC0415 - the extra may not be installed

    from rememo.serve.auth import ApiKeys  # noqa: PLC0415 - the same

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lives.db"
        with Memory(file) as memory:
            keys = {life.name: ApiKeys(memory).add(tenant=life.name)[1] for life in lives}
        command = [sys.executable, "-c", "from rememo.cli import main; main()", "serve", str(file), "--port", "0"]
        with subprocess.Popen(  # noqa: S603 - our own command
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                line = process.stdout.readline() if process.stdout is not None else ""
                if not line.startswith("dashboard: "):
                    raise Unavailable("`rememo serve` did not start; run it by hand to see why")
                url = line.removeprefix("dashboard: ").strip()
                httpx.get(f"{url}/healthz", trust_env=False, timeout=_PATIENCE)  # from then on it can be stopped
                yield url, keys
            finally:
                process.terminate()


# ---- MCP


@contextmanager
def _mcp(url: str, keys: dict[str, str]) -> Generator[Door]:
    for package in ("mcp", "anyio"):
        if find_spec(package) is None:
            raise MissingExtra(f'it needs {package}: pip install "rememo[mcp,server,client]"')
    from anyio.from_thread import start_blocking_portal  # noqa: PLC0415 - the extra may not be installed

    with start_blocking_portal() as portal:
        yield _Mcp(url, keys, portal)


class _Mcp(_Rest):
    def __init__(self, url: str, keys: dict[str, str], portal: Any) -> None:
        super().__init__(url, keys)
        self._portal = portal

    def ask(self, life: Life, question: LifeQuestion) -> Answered:
        arguments = {"query": question.text, "at": question.at.isoformat()}
        arguments |= {} if question.user is None else {"user": question.user}
        result = self._portal.call(self._call, life, "recall", arguments)
        context = self._portal.call(self._call, life, "context", {**arguments, "max_tokens": _TOKENS})
        items = cast("list[dict[str, Any]]", result.get("items", []))
        return Answered(
            hits=[" | ".join([item["text"], *item.get("sources", ())]) for item in items], context=context["text"]
        )

    async def _call(self, life: Life, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool as an assistant does, in a connection of its own."""
        from mcp import Client  # noqa: PLC0415 - the extra may not be installed
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the same
        from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415 - the same

        headers = {"Authorization": f"Bearer {self._keys[life.name]}"}
        async with (
            create_mcp_http_client(headers=headers) as web,
            Client(streamable_http_client(f"{self._url}/mcp", http_client=web)) as client,
        ):
            answer = await client.call_tool(tool, arguments)
            if answer.is_error or answer.structured_content is None:
                raise Unavailable(f"the tool {tool} failed: {answer.content}")
            return answer.structured_content


# ---- packages of others


class _Outside:
    """A way in that another process goes."""

    def __init__(self, driver: Driver, **place: Any) -> None:
        """Use a driver; `place` is where the memory is, and is sent with every request."""
        self._driver, self._place = driver, place

    def tell(self, life: Life) -> None:
        messages = [
            {
                "at": message.at.isoformat(),
                **{name: getattr(message, name) for name in ("user", "room", "agent", "role", "text")},
            }
            for message in life.messages
        ]
        self._driver.send({**self._place, "life": life.name, "messages": messages})

    def ask(self, life: Life, question: LifeQuestion) -> Answered:
        arguments = {"question": question.text, "user": question.user, "at": question.at.isoformat()}
        result: dict[str, list[str]] = self._driver.send({**self._place, "life": life.name, **arguments})
        return Answered(hits=result["hits"], context="\n".join(" ".join(hit.split()) for hit in result["prompt"]))
