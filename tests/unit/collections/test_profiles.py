"""Profiles under any key: merged in part, cached, never stale."""

import threading
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.errors import InvalidInput, ReadOnly
from rememo.testing.clock import START

from .faces import profiles


@pytest.mark.requirement("profile.update-get-forget")
def test_profiles_are_updated_in_part_read_and_forgotten(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as memory:
        collection = profiles(memory)
        assert collection.get("0xabc") is None
        collection.update("0xabc", name="Ana", address={"city": "Porto", "zip": "4000"})
        whole = collection.update("0xabc", {"favourite colour": "blue"}, address={"city": "Lisbon", "zip": None})
        assert whole.fields == {"name": "Ana", "address": {"city": "Lisbon"}, "favourite colour": "blue"}
        collection.update("ana@example.org", name="Ana")
    with Memory(path, embedder=None) as memory:
        collection = profiles(memory)
        assert collection.get("0xabc") == whole
        assert collection.keys() == ["0xabc", "ana@example.org"]
        assert profiles(memory.scope(user="u")).get("0xabc") is None
        assert collection.forget("0xabc")
        assert not collection.forget("0xabc")
        assert collection.get("0xabc") is None
        assert collection.forget_all() == 1
        assert collection.get("ana@example.org") is None
        assert memory.kv.keys() == []


@pytest.mark.requirement("profile.update-get-forget")
def test_another_process_is_seen_by_the_next_read(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as first, Memory(path, embedder=None) as there:
        profiles(first).update("k", name="Ana")
        profiles(there).get("k")
        profiles(first).update("k", name="Bo")
        profile = profiles(there).get("k")
        assert profile is not None
        assert profile.fields == {"name": "Bo"}
        profiles(first).forget("k")
        assert profiles(there).get("k") is None
        profiles(first).update("k", name="Cy")
        again = profiles(there).get("k")
        assert again is not None
        assert again.fields == {"name": "Cy"}
        assert again.version > profile.version


@pytest.mark.requirement("profile.update-get-forget")
def test_nothing_comes_between_two_updates(tmp_path: Path):
    path = tmp_path / "m.db"
    settings = Settings(durability="fast")
    with Memory(path, embedder=None, settings=settings) as first, Memory(path, embedder=None, settings=settings) as two:

        def write(memory: Memory, name: str) -> None:
            for number in range(40):
                profiles(memory).update("k", {f"{name}{number}": number})

        threads = [
            threading.Thread(target=write, args=(memory, name))
            for memory, name in ((first, "a"), (first, "b"), (two, "c"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        profile = profiles(two).get("k")
        assert profile is not None
        assert len(profile.fields) == 120


def test_what_is_read_is_a_copy():
    with Memory(":memory:", embedder=None) as memory:
        collection = profiles(memory)
        collection.update("k", tags=["a"])
        for _ in range(2):
            read = collection.get("k")
            assert read is not None
            assert read.fields == {"tags": ["a"]}
            read.fields["tags"].append("b")


def test_profiles_that_cannot_be_meant():
    with Memory(":memory:", embedder=None) as memory:
        collection = profiles(memory)
        with pytest.raises(InvalidInput, match="key is empty"):
            collection.update("", name="Ana")
        with pytest.raises(InvalidInput, match="no field to change"):
            collection.update("k")
        with pytest.raises(InvalidInput, match=r"fields\.name"):
            collection.update("k", name=object())
        with pytest.raises(ReadOnly):
            profiles(memory.as_of(START)).get("k")
