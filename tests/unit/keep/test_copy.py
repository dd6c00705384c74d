"""A whole store into another: what arrives, what is refused, and going on after an interruption."""

# pyright: reportPrivateUsage=false

from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import AlreadyExists, StorageError
from rememo.keep.copy import copy
from rememo.testing import ManualClock, WordEmbedder
from rememo.testing.transfer import fill, memory_contents

QUIET = Settings(durability="fast", worker=False)


class Interrupted(Exception):
    pass


def open_file(path: Path, clock: ManualClock, tenant: str = "default") -> Memory:
    return Memory(path, tenant=tenant, embedder=WordEmbedder(), settings=QUIET, clock=clock)


def test_everything_of_every_tenant_arrives(tmp_path: Path):
    clock = ManualClock()
    with open_file(tmp_path / "a.db", clock) as old, open_file(tmp_path / "b.db", clock) as new:
        fill(old, clock)
        with open_file(tmp_path / "a.db", clock, "other") as other:
            other.messages.add("user", "I live in Lisbon.")
        with open_file(tmp_path / "a.db", clock, "keys-only") as third:
            third.kv.set("a", 1)
        done = copy(view_of(old).engine, view_of(new).engine)
        assert done.tenants == 3
        assert done.versions == done.new.versions > 0
        assert memory_contents(new) == memory_contents(old)
        with (
            open_file(tmp_path / "b.db", clock, "other") as other,
            open_file(tmp_path / "b.db", clock, "keys-only") as third,
        ):
            assert [message.content for message in other.messages.history()] == ["I live in Lisbon."]
            assert [job.state for job in other.jobs.list()] == ["waiting"]
            assert third.kv.get("a") == 1
        assert new.verify().ok
        again = copy(view_of(old).engine, view_of(new).engine)
        assert (again.new.versions, again.new.keys, again.new.jobs) == (0, 0, 0)
        assert again.versions == done.versions


def test_an_interrupted_copy_is_gone_on_with(tmp_path: Path):
    clock = ManualClock()
    with open_file(tmp_path / "a.db", clock) as old, open_file(tmp_path / "b.db", clock) as new:
        old.add_many(f"note {number}" for number in range(1_200))

        def stop(_tenant: str, seen: int) -> None:
            if seen >= 500:
                raise Interrupted

        with pytest.raises(Interrupted):
            copy(view_of(old).engine, view_of(new).engine, stop)
        assert new.count() == 500
        done = copy(view_of(old).engine, view_of(new).engine)
        assert (done.versions, done.new.versions) == (1_200, 700)


def test_another_content_is_refused_before_anything_is_touched(tmp_path: Path):
    clock = ManualClock()
    with open_file(tmp_path / "a.db", clock) as old, open_file(tmp_path / "b.db", clock) as new:
        old.add("first")
        old.add("mine", id="x")
        new.add("theirs", id="x")
        with pytest.raises(AlreadyExists, match="'x'"):
            copy(view_of(old).engine, view_of(new).engine)
        assert new.count() == 1


def test_what_the_target_has_besides_is_told(tmp_path: Path):
    clock = ManualClock()
    with open_file(tmp_path / "a.db", clock) as old, open_file(tmp_path / "b.db", clock) as new:
        old.add("mine")
        new.add("theirs")
        with pytest.raises(StorageError, match="1 versions in the source, 2 in the target"):
            copy(view_of(old).engine, view_of(new).engine)


def test_another_model_gets_vectors_of_its_own(tmp_path: Path):
    clock = ManualClock()
    with open_file(tmp_path / "a.db", clock) as old, Memory(tmp_path / "b.db", settings=QUIET, clock=clock) as new:
        old.add("the ship sails on Friday")
        copy(view_of(old).engine, view_of(new).engine)
        assert new.search("when does the ship sail?", mode="vector")[0].record.text == "the ship sails on Friday"
        assert new.verify().ok
