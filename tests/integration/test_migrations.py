"""Stores in use are migrated: by one of many who open at once, in phases, and the release of now works with what comes next."""

import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
from psycopg import sql
from typer.testing import CliRunner

from rememo import Memory, Settings
from rememo.cli.app import cli
from rememo.engine.opening import migrate_store
from rememo.errors import Busy, IncompatibleStore, StorageError
from rememo.store.migrations import Migration, MigrationOptions
from rememo.store.postgres import migrate as on_server
from rememo.store.sqlite import migrate as in_file
from rememo.store.sqlite.connection import connect
from rememo.testing import WordEmbedder
from rememo.testing.postgres import DatabasePool

FAST = Settings(durability="fast", worker=False)
pytestmark = pytest.mark.requirement("store.migrations")

EXPAND = """-- Adds what today's release does not notice.
-- phase: expand
ALTER TABLE records ADD COLUMN mood text DEFAULT 'calm';
CREATE TABLE moods (tenant text NOT NULL, mood text NOT NULL, PRIMARY KEY (tenant, mood));
CREATE INDEX records_by_mood ON records (tenant, mood);
"""
CONTRACT = """-- Takes away what only older releases need.
-- phase: contract
ALTER TABLE records DROP COLUMN speaker;
"""
AFTER = "CREATE TABLE after_all (tenant text PRIMARY KEY);\n"


def steps(own: tuple[Migration, ...], *more: str) -> tuple[Migration, ...]:
    return (*own, *(Migration(own[-1].number + at, f"step_{at}", text) for at, text in enumerate(more, 1)))


class Store:
    """A server's database or a file, and the release that works with it."""

    def __init__(self, url: str, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url, self._module, self._patch = url, module, monkeypatch
        self._own: tuple[Migration, ...] = module.migrations()

    @property
    def own(self) -> list[str]:
        """The steps of the release of now."""
        return [step.name for step in self._own]

    def older(self) -> None:
        """Be the release of now."""
        self.newer()

    def newer(self, *more: str) -> None:
        """Be a release that knows some more steps."""
        known = steps(self._own, *more)
        self._patch.setattr(self._module, "migrations", lambda: known)

    def open(self) -> Memory:
        return Memory(self.url, embedder=WordEmbedder(), settings=FAST)

    def names(self, wishes: MigrationOptions | None = None, *, dry: bool = True) -> tuple[list[str], list[str]]:
        found = migrate_store(self.url, wishes or MigrationOptions(), dry=dry)
        return [step.name for step in found.steps], [step.name for step in found.waiting]


@pytest.fixture(params=["server", "file"])
def store(
    request: pytest.FixtureRequest, databases: DatabasePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    if request.param == "file":
        yield Store(str(tmp_path / "memory.db"), in_file, monkeypatch)
        return
    with empty(databases) as url:
        yield Store(url, on_server, monkeypatch)


@pytest.fixture
def database(databases: DatabasePool) -> Iterator[str]:
    with empty(databases) as url:
        yield url


@contextmanager
def empty(databases: DatabasePool) -> Generator[str]:
    """Lend a database with nothing in it."""
    name, beside = f"rememo_empty_{os.getpid()}", databases.lend()
    run(databases.url(beside), f"CREATE DATABASE {name}")
    yield databases.url(name)
    run(databases.url(beside), f"DROP DATABASE {name} WITH (FORCE)")
    databases.take_back(beside)


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True, options="-c search_path=rememo") as connection:
        for statement in statements:
            connection.execute(sql.SQL(statement))  # pyright: ignore[reportArgumentType] - constants of this file


def live(memory: Memory, word: str) -> None:
    """Do something of everything that touches the tables."""
    chat = memory.scope(user="ana", room=word)
    chat.messages.add("user", f"I love thing {len(word)}.").wait()
    first = chat.add(f"a {word} in the harbour", key=word).id
    chat.add_many([f"{word} number {number}" for number in range(5)])
    chat.update(first, text=f"the quay of the {word}")
    memory.kv.set(word, 1)
    memory.snapshot(word)
    assert chat.search("quay")[0].text == f"the quay of the {word}"
    assert [fact.object for fact in chat.facts.list()] == [f"thing {len(word)}"]
    chat.undo(chat.delete(first))
    assert len(chat.history(first)) == 3
    assert memory.maintain().reclaimed >= 0
    assert memory.verify().ok


def test_the_release_of_now_works_with_an_expanded_store(store: Store):
    with store.open() as old:
        live(old, "ship")
        store.newer(EXPAND)
        with store.open() as new:
            live(new, "boat")
            # The old one has it still open, and opens it again.
            live(old, "raft")
        store.older()
        live(old, "canoe")
    with store.open() as again:
        live(again, "dinghy")
        assert again.scope(room="ship").search("ship")
    assert store.names() == ([], [])


def test_what_is_taken_away_waits_until_it_is_asked_for(store: Store):
    store.open().close()
    store.newer(EXPAND, "-- phase: contract\nDROP TABLE snapshots;", AFTER)
    assert store.names() == (["step_1", "step_3"], ["step_2"])
    store.open().close()
    assert store.names() == ([], ["step_2"])
    store.older()
    with store.open() as old:
        old.snapshot("still there")
    store.newer(EXPAND, "-- phase: contract\nDROP TABLE snapshots;", AFTER)
    assert store.names(MigrationOptions(contract=True)) == (["step_2"], [])
    assert store.names(MigrationOptions(contract=True), dry=False) == (["step_2"], [])
    assert store.names(MigrationOptions(contract=True), dry=False) == ([], [])
    store.older()
    known = len(store.own)
    schemas = rf"newer Rememo \(schema {known + 2}, this one knows {known}\); upgrade rememo"
    with pytest.raises(IncompatibleStore, match=schemas):
        store.open()
    with pytest.raises(IncompatibleStore, match="newer Rememo"):
        store.names()


def test_a_store_of_an_unreleased_version_is_told_what_to_do(store: Store):
    store.open().close()
    drop = "ALTER TABLE migrations DROP COLUMN phase"
    if "://" in store.url:
        run(store.url, drop)
    else:
        with closing(connect(store.url)) as connection:
            connection.execute(drop)
    with pytest.raises(
        IncompatibleStore, match=r"made by an unreleased version of Rememo.*export it with that version"
    ):
        store.open()
    with pytest.raises(IncompatibleStore, match="unreleased"):
        store.names()


def test_a_new_store_takes_everything(store: Store):
    store.newer(EXPAND, "-- phase: contract\nDROP TABLE moods;", AFTER)
    assert store.names() == ([*store.own, "step_1", "step_2", "step_3"], [])
    assert store.names() == store.names(), "a plan changes nothing"
    assert store.names(dry=False)[0] == [*store.own, "step_1", "step_2", "step_3"]
    assert store.names() == ([], [])


def test_a_step_that_fails_leaves_everything_as_it_was(store: Store):
    with store.open() as memory:
        live(memory, "ship")
    store.newer(EXPAND + "\nCREATE TABLE records (again integer);")
    with pytest.raises(StorageError):
        store.open()
    store.older()
    with store.open() as memory:
        live(memory, "boat")
    store.newer(EXPAND)
    assert store.names(dry=False) == (["step_1"], [])


def test_many_who_open_at_once_migrate_once(database: str):
    source = "import sys; from rememo import Memory; Memory(sys.argv[1], embedder=None).add('here')"
    processes = [subprocess.Popen([sys.executable, "-c", source, database]) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    with Memory(database, embedder=None, settings=FAST) as memory:
        assert memory.count() == 4


def test_many_threads_take_a_step_once(database: str, monkeypatch: pytest.MonkeyPatch):
    Memory(database, embedder=None, settings=FAST).close()
    known = steps(on_server.migrations(), EXPAND)
    monkeypatch.setattr(on_server, "migrations", lambda: known)
    taken: list[tuple[Migration, ...]] = []
    gate = threading.Barrier(4)

    def act() -> None:
        gate.wait(20)
        taken.append(migrate_store(database, MigrationOptions()).steps)

    threads = [threading.Thread(target=act) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(len(backups) for backups in taken) == [0, 0, 0, 1]


def test_a_table_in_use_is_waited_for_without_holding_up_others(database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(on_server, "_SHORTLY", "SET LOCAL lock_timeout = '50ms'")
    monkeypatch.setattr(on_server, "_PAUSE", 0.02)
    with Memory(database, embedder=None, settings=FAST) as memory:
        memory.add("here")
        known = steps(on_server.migrations(), EXPAND)
        monkeypatch.setattr(on_server, "migrations", lambda: known)
        monkeypatch.setenv("REMEMO_BUSY_TIMEOUT", "0.5")
        with psycopg.connect(database) as reader:
            reader.execute("SELECT count(*) FROM rememo.records")
            with pytest.raises(Busy, match=r"for too long.*busy_timeout"):
                migrate_store(database, MigrationOptions())
            assert memory.count() == 1
            monkeypatch.setenv("REMEMO_BUSY_TIMEOUT", "30")
            waiting = threading.Thread(target=migrate_store, args=(database, MigrationOptions()))
            waiting.start()
            for number in range(20):
                memory.add(f"meanwhile {number}")
            assert waiting.is_alive()
            reader.rollback()
        waiting.join(60)
        assert not migrate_store(database, MigrationOptions()).steps
        assert memory.count() == 21


def test_an_index_is_built_while_others_write(database: str, monkeypatch: pytest.MonkeyPatch):
    Memory(database, embedder=None, settings=FAST).close()
    building = (
        "-- transaction: none\n-- phase: expand\nDROP INDEX CONCURRENTLY IF EXISTS rememo.kv_by_value;\n"
        "CREATE INDEX CONCURRENTLY kv_by_value ON rememo.kv (tenant, value);\n"
    )
    known = steps(on_server.migrations(), building)
    assert len(known[-1].one_by_one) == 2
    monkeypatch.setattr(on_server, "migrations", lambda: known)
    # As one who was interrupted left it.
    run(database, "CREATE INDEX kv_by_value ON kv (value)")
    with Memory(database, embedder=None, settings=FAST) as memory:
        memory.kv.set("a", 1)
    with psycopg.connect(database) as connection:
        made = connection.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'kv_by_value'").fetchone()
    assert made is not None
    assert "(tenant, value)" in made[0]


def test_the_command_plans_and_does(store: Store):
    runner = CliRunner()
    store.open().close()
    store.newer(EXPAND, CONTRACT)
    told = runner.invoke(cli, ["migrate", store.url, "--plan"])
    assert told.exit_code == 0
    assert "step_1 (expand)" in told.stdout
    assert "ADD COLUMN mood" in told.stdout
    assert "step_2 waits for --contract" in told.stdout
    assert "would be done" in " ".join(told.stdout.split())
    done = runner.invoke(cli, ["migrate", store.url])
    assert "step_1 (expand)" in done.stdout
    assert "ADD COLUMN" not in done.stdout
    as_json = runner.invoke(cli, ["migrate", store.url, "--plan", "--contract", "--json"])
    assert '"step_2"' in as_json.stdout
    assert "is up to date" in " ".join(runner.invoke(cli, ["migrate", store.url]).stdout.split())
