"""AsyncMemory has the surface of Memory, call by call, and gives the same results."""

import asyncio
import inspect
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from rememo import AsyncMemory, Memory, aio
from rememo.errors import AlreadyExists, Closed
from rememo.public_operations import WITHOUT_IO

ROOT = Path(__file__).parents[2]


def own(mirrored: type) -> type:
    """Return the class that a twin is made of."""
    if "_own" in vars(mirrored):
        kind = get_type_hints(vars(mirrored)["_own"].fget)["return"]
    else:
        [kind] = get_args(vars(mirrored)["__orig_bases__"][0])
    return get_origin(kind) or kind


MIRRORS: list[type] = [
    mirrored
    for name, mirrored in vars(aio).items()
    if name.startswith("Async") and isinstance(mirrored, type) and aio.Mirror in mirrored.__mro__
]
PAIRS = [(own(mirrored), mirrored) for mirrored in MIRRORS]


def public(kind: type) -> dict[str, Any]:
    """Return what can be called or asked for; constants of a class are its own affair."""
    found = {name: value for name, value in inspect.getmembers(kind) if not name.startswith("_")}
    return {name: value for name, value in found.items() if callable(value) or isinstance(value, property)}


def test_every_collection_has_its_twin():
    faces = {type(value) for name, value in _faces() if name not in ("hooks", "providers")}
    assert faces <= {plain for plain, _ in PAIRS}


def _faces() -> list[tuple[str, object]]:
    with Memory(":memory:", embedder=None) as memory:
        names = [name for name, value in inspect.getmembers(Memory) if isinstance(value, property)]
        return [(name, getattr(memory, name)) for name in names if not name.startswith("_") and name != "bound"]


@pytest.mark.parametrize(("plain", "mirrored"), PAIRS)
def test_names_and_signatures_are_the_same(plain: type, mirrored: type):
    assert public(plain).keys() <= public(mirrored).keys() | {"receipt"}
    for name, method in public(plain).items():
        twin = getattr(mirrored, name)
        if not inspect.isfunction(method):
            assert isinstance(twin, property), name
            continue
        assert list(inspect.signature(method).parameters) == list(inspect.signature(twin).parameters), name
        ours = [parameter.default for parameter in inspect.signature(method).parameters.values()]
        theirs = [parameter.default for parameter in inspect.signature(twin).parameters.values()]
        assert ours == theirs, name
        waits = inspect.iscoroutinefunction(twin) or inspect.isasyncgenfunction(inspect.unwrap(twin))
        assert waits != (name in WITHOUT_IO), name


def test_the_same_calls_give_the_same_results():
    moment = datetime(2026, 5, 1, tzinfo=UTC)

    def script(memory: Memory) -> list[object]:
        room = memory.scope(user="ana", room="r")
        results: list[object] = [room.add("cat sleeps", id="a", learn=False, metadata={"n": 1})]
        results += [memory.snapshot("first"), room.update("a", metadata={"n": 2}), room.get("a"), room.list()]
        results += [room.search("cat"), memory.as_of("first").get("a"), memory.diff("first"), room.count()]
        with memory.batch() as batch:
            batch.add("one", id="b")
        results += [batch.receipt, memory.kv.set("k", {"v": 1}), memory.kv.get("k"), memory.rooms()]
        with pytest.raises(AlreadyExists):
            room.add("again", id="a")
        return results

    async def async_script(memory: AsyncMemory) -> list[object]:
        room = memory.scope(user="ana", room="r")
        results: list[object] = [await room.add("cat sleeps", id="a", learn=False, metadata={"n": 1})]
        results += [await memory.snapshot("first"), await room.update("a", metadata={"n": 2})]
        results += [await room.get("a"), await room.list(), await room.search("cat")]
        view = await memory.as_of("first")
        results += [await view.get("a"), await memory.diff("first"), await room.count()]
        async with memory.batch() as batch:
            await batch.add("one", id="b")
        results += [batch.receipt, await memory.kv.set("k", {"v": 1}), await memory.kv.get("k"), await memory.rooms()]
        with pytest.raises(AlreadyExists):
            await room.add("again", id="a")
        return results

    async def run() -> list[object]:
        async with AsyncMemory(":memory:", clock=lambda: moment) as memory:
            return await async_script(memory)

    with Memory(":memory:", clock=lambda: moment) as memory:
        expected = script(memory)
    assert asyncio.run(run()) == expected


def test_many_calls_at_once_and_an_exception_in_a_batch(tmp_path: Path):
    async def run() -> None:
        async with AsyncMemory(tmp_path / "a.db") as memory:
            await asyncio.gather(*(memory.add(f"note number {number}", id=str(number)) for number in range(50)))
            assert await memory.count() == 50
            with pytest.raises(RuntimeError, match="changed my mind"):  # noqa: PT012 - the block is what is tested
                async with memory.batch() as batch:
                    await batch.add("never", id="never")
                    raise RuntimeError("changed my mind")
            assert await memory.count() == 50
        with pytest.raises(Closed):
            await memory.scope(user="x").kv.get("a")

    asyncio.run(run())
