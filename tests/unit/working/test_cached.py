"""Cached values: read through, shared, and never older than the last write."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rememo import AsyncMemory, Memory
from rememo.errors import InvalidInput, ReadOnly
from rememo.testing.clock import START, ManualClock


class Source:
    """Where values are kept: counts how often it is asked."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {"helper": {"model": "small"}}
        self.asked = 0

    def load(self, key: str) -> Any:
        self.asked += 1
        return self.kept[key]

    def save(self, key: str, value: Any) -> None:
        self.kept[key] = value


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.mark.requirement("kv.session-config-cache")
def test_values_are_read_through_and_a_write_forgets_the_copy(memory: Memory, source: Source, clock: ManualClock):
    configs = memory.kv.cached("config", source.load, save=source.save, ttl="10m")
    for _ in range(3):
        config = configs.get("helper")
        assert config == {"model": "small"}
        config["model"] = "changed"  # a copy
    assert source.asked == 1
    configs.set("helper", {"model": "large"})
    assert configs.get("helper") == {"model": "large"}
    assert source.asked == 2
    source.save("helper", {"model": "tiny"})
    assert configs.get("helper") == {"model": "large"}
    assert configs.forget("helper")
    assert not configs.forget("helper")
    assert configs.get("helper") == {"model": "tiny"}
    clock.advance(601)
    source.save("helper", None)
    assert configs.get("helper") is None
    assert configs.get("helper") is None
    assert source.asked == 4
    assert configs.invalidate("help*") == 1
    assert memory.kv.keys() == []


@pytest.mark.requirement("kv.session-config-cache")
def test_processes_share_one_copy(tmp_path: Path, source: Source):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as first, Memory(path, embedder=None) as two:
        cached = first.kv.cached("config", source.load, save=source.save)
        there = two.kv.cached("config", source.load, save=source.save)
        assert cached.get("helper") == there.get("helper")
        assert source.asked == 1
        there.set("helper", 2)
        assert cached.get("helper") == 2
        assert two.scope(user="ana").kv.cached("config", source.load).get("helper") == 2
        assert source.asked == 3


@pytest.mark.requirement("kv.session-config-cache")
def test_what_is_written_during_a_load_is_not_hidden_by_it(memory: Memory, source: Source):
    writer = memory.kv.cached("config", source.load, save=source.save)

    def slow(key: str) -> Any:
        old = source.load(key)
        writer.set(key, "new")
        return old

    assert memory.kv.cached("config", slow).get("helper") == {"model": "small"}
    assert writer.get("helper") == "new"


def test_two_loads_at_once_do_not_wait_for_each_other(memory: Memory, source: Source, clock: ManualClock):
    inner = memory.kv.cached("config", source.load)
    outer = memory.kv.cached("config", inner.get)
    assert outer.get("helper") == {"model": "small"}
    assert inner.get("helper") == {"model": "small"}
    assert source.asked == 1


def test_a_load_that_fails_is_raised_and_not_kept(memory: Memory, source: Source):
    configs = memory.kv.cached("config", source.load)
    with pytest.raises(KeyError):
        configs.get("missing")
    source.kept["missing"] = 1
    assert configs.get("missing") == 1
    source.kept["odd"] = object()
    with pytest.raises(InvalidInput, match="cached 'config', key 'odd', is a object, which JSON cannot hold"):
        configs.get("odd")
    with pytest.raises(InvalidInput, match="no save="):
        configs.set("helper", 1)
    with pytest.raises(InvalidInput, match="key is empty"):
        configs.get("")
    with pytest.raises(ReadOnly):
        memory.as_of(START).kv.cached("config", source.load)


def test_the_async_twin(tmp_path: Path, source: Source):
    async def run() -> None:
        async with AsyncMemory(tmp_path / "m.db", embedder=None) as memory:
            configs = await memory.kv.cached("config", source.load, save=source.save)
            assert await configs.get("helper") == {"model": "small"}
            await configs.set("helper", 2)
            assert await configs.get("helper") == 2

    asyncio.run(run())
