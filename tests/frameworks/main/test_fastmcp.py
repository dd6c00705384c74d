"""The contract that py-key-value holds its own stores to (its suite is not in the package), and a FastMCP server."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_session
from fastmcp.server.sessions import SessionId, SessionProvider
from hypothesis import given, settings
from hypothesis import strategies as st
from key_value.aio.errors import InvalidTTLError, SerializationError
from key_value.aio.protocols.key_value import (
    AsyncDestroyCollectionProtocol,
    AsyncDestroyStoreProtocol,
    AsyncEnumerateCollectionsProtocol,
    AsyncEnumerateKeysProtocol,
    AsyncKeyValueProtocol,
)
from key_value.aio.stores.memory import MemoryStore

from rememo import Memory
from rememo.adapters.fastmcp import RememoKeyValueStore

pytestmark = pytest.mark.asyncio


class Clock:
    """The time, moved by hand."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncGenerator[RememoKeyValueStore]:
    with Memory(tmp_path / "state.db", embedder=None, clock=clock) as memory:
        async with RememoKeyValueStore(memory) as made:
            yield made


async def test_the_store_has_every_ability_of_the_protocol(store: RememoKeyValueStore):
    for ability in (
        AsyncKeyValueProtocol,
        AsyncEnumerateKeysProtocol,
        AsyncEnumerateCollectionsProtocol,
        AsyncDestroyCollectionProtocol,
        AsyncDestroyStoreProtocol,
    ):
        assert isinstance(store, ability)


async def test_an_empty_store_has_nothing(store: RememoKeyValueStore):
    assert await store.get("k", collection="c") is None
    assert await store.ttl("k", collection="c") == (None, None)
    assert await store.get_many(["k", "l"], collection="c") == [None, None]
    assert await store.delete("k", collection="c") is False
    assert await store.delete_many(["k", "l"], collection="c") == 0
    assert await store.keys("c") == []
    assert await store.collections() == []


async def test_a_value_is_put_replaced_and_deleted(store: RememoKeyValueStore):
    await store.put("k", {"n": 1}, collection="c")
    assert await store.get("k", collection="c") == {"n": 1}
    await store.put("k", {"n": 2}, collection="c")
    assert await store.get("k", collection="c") == {"n": 2}
    assert await store.get("k", collection="other") is None
    assert await store.delete("k", collection="c") is True
    assert await store.delete("k", collection="c") is False
    assert await store.get("k", collection="c") is None


async def test_many_at_once(store: RememoKeyValueStore):
    await store.put_many(["a", "b"], ({"n": 1}, {"n": 2}), collection="c", ttl=100)
    assert await store.get_many(["b", "x", "a"], collection="c") == [{"n": 2}, None, {"n": 1}]
    [(value, left), missing] = await store.ttl_many(["a", "x"], collection="c")
    assert value == {"n": 1}
    assert left == pytest.approx(100, abs=30)
    assert missing == (None, None)
    assert await store.delete_many(["a", "b", "x"], collection="c") == 2
    with pytest.raises(ValueError, match="different number"):
        await store.put_many(["a", "b"], [{"n": 1}], collection="c")


async def test_one_that_json_cannot_hold_keeps_all_of_many_out(store: RememoKeyValueStore):
    with pytest.raises(SerializationError):
        await store.put_many(["a", "b"], [{"n": 1}, {"n": {1, 2}}], collection="c")
    assert await store.keys("c") == []


async def test_time_to_live(store: RememoKeyValueStore, clock: Clock):
    await store.put("k", {"n": 1}, collection="c", ttl=100)
    await store.put("stays", {"n": 2}, collection="c")
    value, left = await store.ttl("k", collection="c")
    assert value == {"n": 1}
    assert left == pytest.approx(100, abs=30)
    assert await store.ttl("stays", collection="c") == ({"n": 2}, None)
    clock.ahead = timedelta(seconds=101)
    assert await store.get("k", collection="c") is None
    assert await store.ttl("k", collection="c") == (None, None)
    assert await store.keys("c") == ["stays"]
    for wrong in (0, -1, True):
        with pytest.raises(InvalidTTLError):
            await store.put("k", {"n": 1}, collection="c", ttl=wrong)


async def test_a_life_that_is_over_when_it_is_stored(store: RememoKeyValueStore):
    await store.put("k", {"n": 1}, collection="c")
    await store.put("k", {"n": 2}, collection="c", ttl=1e-9)
    assert await store.get("k", collection="c") is None


@pytest.mark.parametrize("name", ["n" * 1500, "!@#$%^&*()[]?/ =~", "日本 🌍", "a/b", "a\0b", "\ud800", "=" + "f" * 64])
async def test_names_of_any_length_and_any_characters(store: RememoKeyValueStore, name: str):
    await store.put(name, {"as": "key"}, collection="c")
    await store.put("k", {"as": "collection"}, collection=name)
    await store.put(name, {"as": "both"}, collection=name)
    assert await store.get(name, collection="c") == {"as": "key"}
    assert await store.get("k", collection=name) == {"as": "collection"}
    assert await store.keys("c") == [name]
    assert sorted(await store.keys(name)) == sorted(["k", name])
    assert sorted(await store.collections()) == sorted(["c", name])
    assert await store.destroy_collection(name)
    assert await store.keys(name) == []
    assert await store.keys("c") == [name]


async def test_names_are_listed_and_destroyed(store: RememoKeyValueStore):
    for collection in ("one", "two", "on*"):
        for key in ("a", "b", "c"):
            await store.put(key, {"n": 1}, collection=collection)
    assert await store.keys("one") == ["a", "b", "c"]
    assert await store.keys("one", limit=2) == ["a", "b"]
    assert await store.collections() == ["on*", "one", "two"]
    assert await store.collections(limit=1) == ["on*"]
    assert await store.destroy_collection("on*") is True
    assert await store.destroy_collection("on*") is False
    assert await store.keys("one") == ["a", "b", "c"]
    assert await store.destroy() is True
    assert await store.collections() == []
    await store.put("a", {"n": 1}, collection="one")
    assert await store.keys("one") == ["a"]


@pytest.mark.parametrize(
    "value",
    [
        {"x": None, "y": [None], "z": {"deep": {"er": None}}},
        {"true": True, "false": [False]},
        {"int": 10**18, "beyond": 2**70, "float": 1.0, "large": 12345678901.2345},
        {"text": "Hello 世界 🌍", "lines": "a\n\tb", "nul": "a\0b", "half": "\ud83c"},
        {"long": "a" * 10_000, "list": list(range(1000))},
        {"items": [{"id": 1}] * 1000},
    ],
)
async def test_values_come_back_as_they_were(store: RememoKeyValueStore, value: dict[str, Any]):
    await store.put("k", value, collection="c")
    assert await store.get("k", collection="c") == value


async def test_values_may_be_nested_deeply(store: RememoKeyValueStore):
    value: dict[str, Any] = {"end": 1}
    for _ in range(100):
        value = {"in": value}
    await store.put("k", value, collection="c")
    assert await store.get("k", collection="c") == value


@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), b"bytes", {1, 2}, object(), "a" * 5_000_000])
async def test_what_cannot_be_stored_is_refused(store: RememoKeyValueStore, value: object):
    with pytest.raises(SerializationError):
        await store.put("k", {"x": value}, collection="c")
    assert await store.get("k", collection="c") is None


async def test_many_tasks_at_once(store: RememoKeyValueStore):
    async def work(worker: int) -> None:
        for turn in range(5):
            key = f"{worker}/{turn}"
            assert await store.get(key) is None
            await store.put(key, {"n": turn})
            assert await store.get(key) == {"n": turn}
            assert await store.delete(key)

    await asyncio.gather(*[work(item) for item in range(5)])
    assert await store.keys() == []


async def test_a_seed_and_a_default_collection(tmp_path: Path):
    async with RememoKeyValueStore(
        tmp_path / "state.db", default_collection="mine", seed={"mine": {"k": {"n": 1}}}
    ) as store:
        assert await store.get("k") == {"n": 1}
        assert await store.keys("mine") == ["k"]


async def test_what_it_opened_is_closed_and_there_again(tmp_path: Path):
    async with RememoKeyValueStore(tmp_path / "state.db") as store:
        await store.put("k", {"n": 1})
    again = RememoKeyValueStore(tmp_path / "state.db")
    assert await again.get("k") == {"n": 1}
    await again.close()
    await again.close()


async def test_a_memory_that_was_given_stays_open_and_scopes_are_apart():
    with Memory(":memory:", embedder=None) as memory:
        async with RememoKeyValueStore(memory.scope(user="ana")) as ana, RememoKeyValueStore(memory) as all_of_it:
            await ana.put("k", {"n": 1})
            assert await all_of_it.get("k") is None
        assert memory.count() == 0


texts = st.text(max_size=8)
values = st.dictionaries(texts, st.integers() | texts | st.none() | st.lists(st.floats(allow_nan=False)), max_size=3)
steps = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "destroy"]), st.sampled_from(["c", "d/", "*"]), texts, values),
    max_size=12,
)


@settings(max_examples=15, deadline=None)
@given(steps)
async def test_it_does_what_their_own_store_does(taken: list[tuple[str, str, str, dict[str, Any]]]):
    theirs = MemoryStore()
    with Memory(":memory:", embedder=None) as memory:
        ours = RememoKeyValueStore(memory)
        for what, collection, key, value in taken:
            if what == "put":
                await ours.put(key, value, collection=collection)
                await theirs.put(key, value, collection=collection)
            elif what == "delete":
                assert await ours.delete(key, collection=collection) == await theirs.delete(key, collection=collection)
            else:
                # A collection of theirs that was destroyed cannot be used again.
                await theirs.delete_many(await theirs.keys(collection), collection=collection)
                await ours.destroy_collection(collection)
            assert await ours.get(key, collection=collection) == await theirs.get(key, collection=collection)
            assert sorted(await ours.keys(collection)) == sorted(await theirs.keys(collection))


def server_of(memory: Memory) -> FastMCP:
    server = FastMCP("counter", session_state_store=RememoKeyValueStore(memory.scope(agent="counter")))
    server.add_provider(SessionProvider())

    @server.tool
    async def count(session_id: SessionId) -> int:  # pyright: ignore[reportUnusedFunction] - the server calls it
        session = await get_session(session_id)
        seen = await session.get("seen", 0) + 1
        await session.set("seen", seen)
        return seen

    return server


async def test_a_server_keeps_its_sessions_over_a_restart(tmp_path: Path):
    with Memory(tmp_path / "server.db") as memory:
        async with Client(server_of(memory)) as client:
            [own, other] = [(await client.call_tool("create_session")).data for _ in range(2)]
            assert (await client.call_tool("count", {"session_id": own})).data == 1
            assert (await client.call_tool("count", {"session_id": own})).data == 2
            assert (await client.call_tool("count", {"session_id": other})).data == 1
    with Memory(tmp_path / "server.db") as memory:
        async with Client(server_of(memory)) as client:
            assert (await client.call_tool("count", {"session_id": own})).data == 3
            await client.call_tool("end_session", {"session_id": own})
            with pytest.raises(ToolError):
                await client.call_tool("count", {"session_id": own})
        assert len(memory.scope(agent="counter").kv.keys("key_value/fastmcp_state/*")) == 1
