"""What one SQL store checks or keeps, the other does too: on a file and on PostgreSQL, encrypted."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rememo import Keyring, Memory, Scope, Settings
from rememo.engine.view import view_of
from rememo.keep.erase import need_erasing_store
from rememo.model.erasure import ErasureTarget
from rememo.store.sql.session import SqlDatabase, SqlSession
from rememo.testing.postgres import DatabasePool

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
FAST = Settings(durability="fast", worker=False, learn=False)

Open = Callable[..., Memory]


@pytest.fixture(params=["file", "postgres"])
def open_memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []
    databases: DatabasePool | None = request.getfixturevalue("databases") if request.param == "postgres" else None
    name = "" if databases is None else databases.lend()
    url = str(tmp_path / "a.db") if databases is None else databases.url(name)

    def open_store(*keys: bytes) -> Memory:
        memory = Memory(url, embedder=None, settings=FAST, encryption=Keyring(*keys) if keys else None)
        opened.append(memory)
        return memory

    yield open_store
    for memory in opened:
        memory.close()
    if databases is not None:
        databases.take_back(name)


def store_of(memory: Memory) -> Any:
    return view_of(memory).engine.store  # what a user cannot reach


def change(memory: Memory, sql: str) -> None:
    """Change one row past the store."""
    database: SqlDatabase = store_of(memory)._database

    def run(session: SqlSession) -> int:
        return session.changed(sql)

    assert database.write(run) == 1


def test_an_erasure_that_was_interrupted_goes_on_after_the_keys_were_rotated(open_memory: Open):
    target = ErasureTarget(scope=Scope(tenant="default", user="ana"), ids=None)
    with open_memory(OLD) as memory:
        memory.scope(user="ana").add("the telescope is broken", id="a")
        store = need_erasing_store(view_of(memory).engine)
        number = store.begin_erasure(target, datetime.now(UTC))
        store.obliterate(number, "default", {"a": {"pieces": [["the telescope"]]}})
    with open_memory(NEW, OLD) as memory:
        memory.rotate_keys(reencrypt=True).wait(60)
    with open_memory(NEW) as memory:
        assert store_of(memory).marks(number, "default") == {"a": {"pieces": [["the telescope"]]}}
        memory.maintain()
        # What is left names nobody: the counts, for whoever asks for the same again.
        assert store_of(memory).erasures("default") == [(number, None)]
        assert not store_of(memory).marks(number, "default")
        assert memory.erase(user="ana").ok
        assert store_of(memory).erasures("default") == []


def test_verify_opens_the_names_of_speakers(open_memory: Open):
    with open_memory(OLD) as memory:
        memory.scope(user="ana").add("the telescope is broken", id="a")
        memory.scope(user="ben").add("no, it is not", id="b")
        store = store_of(memory)
        assert memory.verify().ok
        # As if it had come from another store: a name of a key that is not here.
        sign = "'bm9uZQ=='" if "postgres" in type(store).__module__ else "x'026e6f6e65'"
        change(memory, f"UPDATE records SET speaker = {sign} WHERE id = 'a'")
        assert memory.verify().faults == ("default/a version 1 is not what was written",)


def test_a_value_that_is_no_json_object_is_a_fault(open_memory: Open):
    with open_memory() as memory:
        memory.add("the telescope is broken", id="a")
        change(memory, "UPDATE records SET metadata = '[1]' WHERE id = 'a'")
        assert memory.verify().faults == ("default/a version 1 is not what was written",)


def test_a_row_is_a_row_and_a_value_its_first_column(open_memory: Open):
    with open_memory() as memory:
        memory.add("the telescope is broken", id="a")
        database: SqlDatabase = store_of(memory)._database
        sql = "SELECT id, version FROM records WHERE tenant = ?"
        with database.snapshot() as session:
            assert tuple(session.row(sql, ("default",))) == ("a", 1)
            assert session.value(sql, ("default",)) == "a"
            assert session.row(sql, ("nobody",)) is None
            assert session.value(sql, ("nobody",)) is None
