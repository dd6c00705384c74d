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
        found = profiles(memory)
        assert found.get("0xabc") is None
        found.update("0xabc", name="Ana", address={"city": "Porto", "zip": "4000"})
        whole = found.update("0xabc", {"favourite colour": "blue"}, address={"city": "Lisbon", "zip": None})
        assert whole.fields == {"name": "Ana", "address": {"city": "Lisbon"}, "favourite colour": "blue"}
        found.update("ana@example.org", name="Ana")
    with Memory(path, embedder=None) as memory:
        found = profiles(memory)
        assert found.get("0xabc") == whole
        assert found.keys() == ["0xabc", "ana@example.org"]
        assert profiles(memory.scope(user="u")).get("0xabc") is None
        assert found.forget("0xabc")
        assert not found.forget("0xabc")
        assert found.get("0xabc") is None
        assert found.forget_all() == 1
        assert found.get("ana@example.org") is None
        assert memory.kv.keys() == []


@pytest.mark.requirement("profile.update-get-forget")
def test_another_process_is_seen_by_the_next_read(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as here, Memory(path, embedder=None) as there:
        profiles(here).update("k", name="Ana")
        profiles(there).get("k")
        profiles(here).update("k", name="Bo")
        found = profiles(there).get("k")
        assert found is not None
        assert found.fields == {"name": "Bo"}
        profiles(here).forget("k")
        assert profiles(there).get("k") is None
        profiles(here).update("k", name="Cy")
        again = profiles(there).get("k")
        assert again is not None
        assert again.fields == {"name": "Cy"}
        assert again.version > found.version


@pytest.mark.requirement("profile.update-get-forget")
def test_nothing_comes_between_two_updates(tmp_path: Path):
    path = tmp_path / "m.db"
    settings = Settings(durability="fast")
    with Memory(path, embedder=None, settings=settings) as one, Memory(path, embedder=None, settings=settings) as two:

        def write(memory: Memory, name: str) -> None:
            for number in range(40):
                profiles(memory).update("k", {f"{name}{number}": number})

        threads = [
            threading.Thread(target=write, args=(memory, name)) for memory, name in ((one, "a"), (one, "b"), (two, "c"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = profiles(two).get("k")
        assert found is not None
        assert len(found.fields) == 120


def test_what_is_read_is_a_copy():
    with Memory(":memory:", embedder=None) as memory:
        found = profiles(memory)
        found.update("k", tags=["a"])
        for _ in range(2):
            read = found.get("k")
            assert read is not None
            assert read.fields == {"tags": ["a"]}
            read.fields["tags"].append("b")


def test_profiles_that_cannot_be_meant():
    with Memory(":memory:", embedder=None) as memory:
        found = profiles(memory)
        with pytest.raises(InvalidInput, match="key is empty"):
            found.update("", name="Ana")
        with pytest.raises(InvalidInput, match="no field to change"):
            found.update("k")
        with pytest.raises(InvalidInput, match=r"fields\.name"):
            found.update("k", name=object())
        with pytest.raises(ReadOnly):
            profiles(memory.as_of(START)).get("k")
