"""Functions that are handed over and called later: async ones would never be awaited, so they are refused at once."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from rememo import AsyncMemory, Memory, Settings
from rememo.errors import InvalidInput
from rememo.testing import WordEmbedder
from rememo.working.working import Working


async def later(*_: object, **__: object) -> None:
    """Be of no use to those who do not await."""


class Later:
    async def __call__(self, *_: object) -> None:
        """Look like a function."""


class Writer:
    async def summarise(self, text: str, *, max_tokens: int) -> str:
        return text[:max_tokens]


class Bench(Working):
    seen: int = 0


GIVEN: dict[str, Callable[[Memory], Any]] = {
    "hook": lambda memory: memory.hooks.on_change(later),
    "hook of a value": lambda memory: memory.typed("n", 0).on_change(later),
    "callable hook": lambda memory: memory.hooks.on_change(Later()),
    "partial hook": lambda memory: memory.hooks.on_change(partial(later, 1)),
    "handler": lambda memory: memory.messages.limit(max_messages=1, on_overflow=later),
    "strategy": lambda memory: memory.messages.limit(max_messages=1, evict=later),  # pyright: ignore[reportArgumentType] - on purpose
    "rule": lambda memory: memory.quarantine.rule("r")(later),  # pyright: ignore[reportArgumentType, reportUnknownLambdaType] - on purpose
    "compliance": lambda memory: memory.compliance(later),  # pyright: ignore[reportArgumentType] - on purpose
    "load": lambda memory: memory.kv.cached("c", later),
    "save": lambda memory: memory.kv.cached("c", str, save=later),
    "update of a key": lambda memory: memory.kv.update("k", later),
    "update of a value": lambda memory: memory.typed("n", 0).update(later),  # pyright: ignore[reportArgumentType] - on purpose
    "migrate": lambda memory: memory.typed("n", 0, migrate=later),  # pyright: ignore[reportArgumentType] - on purpose
    "update of a free value": lambda memory: memory.working.context.update("v", later),
    "change of a field": lambda memory: Bench(memory).change("seen", later),
    "progress": lambda memory: memory.reembed(WordEmbedder(), progress=later),  # pyright: ignore[reportArgumentType] - on purpose
    "writer": lambda memory: memory.summaries.use(Writer()),  # pyright: ignore[reportArgumentType] - on purpose
}


@pytest.mark.parametrize("given", GIVEN)
def test_an_async_function_is_refused_where_nobody_would_await_it(given: str):
    with Memory(":memory:", embedder=None, settings=Settings(audit=True)) as memory:
        room = memory.scope(room="r")
        with pytest.raises(InvalidInput, match="must be a plain function, since an async one would not be awaited"):
            GIVEN[given](room)
        room.messages.add("user", "one")
        room.messages.add("user", "two")
        assert len(room.messages.history()) == 2, "nothing of it was kept"


def test_async_functions_are_refused_by_the_async_face_too():
    async def give() -> None:
        async with AsyncMemory(":memory:", embedder=None) as memory:
            with pytest.raises(InvalidInput, match="load must be a plain function"):
                await memory.kv.cached("c", later)
            loop = asyncio.get_running_loop()

            async def fetch(key: str) -> str:
                return key.upper()

            cached = await memory.kv.cached(
                "c", lambda key: asyncio.run_coroutine_threadsafe(fetch(key), loop).result()
            )
            assert await cached.get("k") == "K"
            hidden = await memory.kv.cached("d", lambda key: fetch(key.lower()))
            with pytest.raises(InvalidInput, match="load gave a coroutine"):
                await hidden.get("k")

    asyncio.run(give())


def test_what_is_no_function_is_refused_when_it_is_given():
    with (
        Memory(":memory:", embedder=None) as memory,
        pytest.raises(InvalidInput, match="a hook must be a function, not int"),
    ):
        memory.hooks.on_change(3)  # pyright: ignore[reportArgumentType] - on purpose
