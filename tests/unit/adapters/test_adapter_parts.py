"""What adapters are made of: any JSON comes back, all of it is read, and calls on an event loop end before it goes on."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as each
from hypothesis import strategies as some

from rememo import AsyncMemory, Memory, Settings
from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import MemoryHolder
from rememo.adapters.paging import list_latest
from rememo.adapters.threads import run_in_thread
from rememo.errors import Closed, InvalidInput

TEXT = some.text(some.characters(exclude_categories=()), max_size=8)
LEAVES = some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | TEXT
VALUES = some.recursive(
    LEAVES, lambda values: some.lists(values, max_size=3) | some.dictionaries(TEXT, values, max_size=3)
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings()) as memory:
        yield memory


@each(value=VALUES, text=TEXT)
def test_any_json_comes_back_equal_and_any_text_can_be_stored(memory: Memory, value: Any, text: str):
    record = memory.get(memory.add(storable_text(text), data=pack_json(value)).id)
    assert unpack_json(record.data) == value
    assert storable_text(storable_text(text)) == storable_text(text)


def test_what_records_cannot_hold_as_it_is_comes_back_too():
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    for value in (deep, "\0", "\ud800", 2**70, -(2**70), float("inf"), {"\0": 1}):
        assert list(pack_json(value)) == ["verbatim_json"]
        assert unpack_json(pack_json(value)) == value
    for bad in (object(), {1, 2}, b"x", {("a", 1): 1}):
        with pytest.raises(InvalidInput, match="cannot be kept as JSON"):
            pack_json(bad)
    with pytest.raises(InvalidInput, match="is JSON no more"):
        unpack_json({"verbatim_json": '"cut'})


def test_redaction_changes_texts_and_nothing_else():
    with Memory(":memory:", embedder=None, settings=Settings(redact=("cards", "keys"))) as memory:
        value = {"number": 4111111111111111, "text": "4111111111111111", "list": ["sk-" + "a" * 30, 1]}
        stored = unpack_json(memory.get(memory.add("x", data=pack_json(value)).id).data)
    assert stored["number"] == 4111111111111111
    assert stored["text"] == "[redacted: card]"
    assert stored["list"][1] == 1


def test_all_is_read_however_much_it_is(memory: Memory):
    memory.add("another")
    for start in range(0, 10_005, 2_001):
        memory.add_many({"text": str(start + n), "kind": "state", "metadata": {"mine": 1}} for n in range(2_001))
    mine = {"mine": 1}
    assert [record.text for record in list_latest(memory, metadata=mine)] == [str(number) for number in range(10_005)]
    assert [record.text for record in list_latest(memory, 10_002, metadata=mine)][:1] == ["3"]
    assert [record.text for record in list_latest(memory, 2, metadata=mine)] == ["10003", "10004"]
    assert list_latest(memory, 0, metadata=mine) == []


def test_a_cancelled_caller_goes_on_after_the_call_has_ended():
    order: list[str] = []
    begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(10)
        order.append("call")

    async def cancelled() -> None:
        task = asyncio.ensure_future(run_in_thread(work))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        task.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        order.append("caller")

    async def failing() -> None:
        with pytest.raises(ZeroDivisionError):
            await run_in_thread(lambda: 1 / 0)

    asyncio.run(cancelled())
    asyncio.run(failing())
    assert order == ["call", "caller"]


def test_what_was_given_stays_open_and_what_was_opened_is_closed(tmp_path: Path):
    with Memory(tmp_path / "given.db", embedder=None) as memory:
        with MemoryHolder(memory.scope(user="alice")):
            pass
        memory.add("still open")
    opened: list[Memory] = []
    with MemoryHolder(str(tmp_path / "own.db"), embedder=None) as holder:
        opened.append(holder._memory)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(Closed):
        opened[0].add("closed")


def test_what_is_no_memory_is_named(tmp_path: Path):
    other = AsyncMemory(tmp_path / "a.db", embedder=None)
    for bad in (other, None, 7):
        with pytest.raises(InvalidInput, match=rf"memory must be a Memory.*not {type(bad).__name__}"):
            MemoryHolder(bad)  # pyright: ignore[reportArgumentType] - that is the test
    asyncio.run(other.close())
    assert not [path for path in Path.cwd().iterdir() if "object at" in path.name]
