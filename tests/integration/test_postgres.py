"""What PostgreSQL alone can show: its addresses, its rights, and that both stores rank alike."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rememo import Memory, Settings
from rememo.errors import Closed, IncompatibleStore, InvalidInput, MissingExtra, RememoError, StorageError
from rememo.testing import WordEmbedder
from rememo.testing.postgres import DatabasePool

FAST = Settings(durability="fast", worker=False)


@pytest.fixture
def database(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    yield databases.url(name)
    databases.take_back(name)


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(sql.SQL(statement))  # pyright: ignore[reportArgumentType] - constants of this file


def corpus(number: int) -> list[dict[str, object]]:
    """Return texts with common and rare words, some of them several times."""
    random.seed(7)
    words = [
        f"{first}{second}" for first in ("har", "mil", "sto", "ble", "cor") for second in ("bour", "ton", "ven", "dal")
    ]
    weights = [1 / (place + 1) for place in range(len(words))]
    return [
        {
            "text": " ".join(random.choices(words, weights, k=random.randint(3, 25))) + f" item{place % 50}",
            "kind": "message",
            "id": f"r{place}",
        }
        for place in range(number)
    ]


@pytest.mark.requirement("store.postgres")
@pytest.mark.parametrize("mode", ["words", "vector", "hybrid"])
def test_both_stores_rank_alike(database: str, tmp_path: Path, mode: str):
    embedder = WordEmbedder()
    with (
        Memory(database, embedder=embedder, settings=FAST) as server,
        Memory(tmp_path / "file.db", embedder=embedder, settings=FAST) as file,
    ):
        for memory in (server, file):
            for room in ("one", "two"):
                memory.scope(user="ana", room=room).add_many(
                    [{**item, "id": f"{room}-{item['id']}"} for item in corpus(400)]
                )
        shared = total = 0
        for item in range(0, 50, 2):
            for scope in ({"room": "one"}, {"user": "ana"}):
                question = f"harbour milton item{item} blevendal"
                ours = [hit.id for hit in server.scope(**scope).search(question, limit=10, mode=mode)]  # pyright: ignore[reportArgumentType]
                theirs = [hit.id for hit in file.scope(**scope).search(question, limit=10, mode=mode)]  # pyright: ignore[reportArgumentType]
                shared += len(set(ours) & set(theirs))
                total += len(theirs)
        assert total > 0
        assert shared / total >= 0.9


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", StorageError, r"127\.0\.0\.1:1/none cannot be reached"),
        ("postgresql://ana:secret@127.0.0.1:1/none", StorageError, "cannot be reached"),
        ("postgresql://host:port/none", InvalidInput, "address"),
        ("postgresql://host/none?schema=Bad-Name", InvalidInput, "schema must be"),
        ("postgresql://host/none?pool_size=0", InvalidInput, "pool_size must be"),
        ("postgresql://host/none#part", InvalidInput, "#"),
        ("mysql://host/none", InvalidInput, "there is no store for mysql://"),
    ],
)
def test_an_address_that_leads_nowhere_is_named(url: str, error: type[RememoError], says: str):
    with pytest.raises(error, match=says) as raised:
        Memory(url, embedder=None)
    assert "secret" not in str(raised.value)


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr("rememo.engine.opening.find_spec", nothing)
    with pytest.raises(MissingExtra, match=r"rememo\[postgres\]"):
        Memory("postgresql://host/none", embedder=None)


def test_tables_of_others_are_left_alone(database: str):
    run(database, "CREATE SCHEMA theirs", "CREATE TABLE theirs.records (id int)")
    with pytest.raises(IncompatibleStore, match="tables of another program"):
        Memory(f"{database}&schema=theirs", embedder=None)
    run(database, "DROP SCHEMA theirs CASCADE")


def test_a_store_of_a_newer_rememo_is_refused(database: str):
    run(database, "INSERT INTO rememo.migrations VALUES (9999, 'later', '', 'contract')")
    with pytest.raises(IncompatibleStore, match="newer Rememo"):
        Memory(database, embedder=None)
    run(database, "DELETE FROM rememo.migrations WHERE number = 9999")
    run(database, "UPDATE rememo.migrations SET hash = 'x' || hash")
    with pytest.raises(IncompatibleStore, match="changed migration 1"):
        Memory(database, embedder=None)
    run(database, "UPDATE rememo.migrations SET hash = substr(hash, 2)")
    Memory(database, embedder=None).close()


def test_several_memories_live_in_one_database(database: str):
    with (
        Memory(database, embedder=None, settings=FAST) as memory,
        Memory(f"{database}&schema=second", embedder=None, settings=FAST) as other,
    ):
        memory.add("in the first")
        assert other.count() == 0
    run(database, "DROP SCHEMA second CASCADE")


def test_a_read_only_server_says_so(database: str):
    with Memory(database, embedder=None, settings=FAST) as memory:
        memory.add("here")
    with Memory(f"{database}&options=-cdefault_transaction_read_only%3Don", embedder=None, settings=FAST) as memory:
        assert memory.count() == 1
        with pytest.raises(StorageError, match=r"read-only.*nothing was changed"):
            memory.add("there")
        with pytest.raises(StorageError, match="read-only"):
            memory.kv.set("k", 1)
        assert memory.count() == 1


def test_without_pgvector_everything_works(database: str):
    run(
        database,
        "CREATE ROLE modest LOGIN",
        "CREATE SCHEMA plain AUTHORIZATION modest",
        "DROP EXTENSION vector CASCADE",
    )
    try:
        url = database.replace("postgres@", "modest@")
        with Memory(f"{url}&schema=plain", embedder=WordEmbedder(), settings=FAST) as memory:
            ids = memory.add_many(["the cat sleeps", "a ship in the harbour"]).ids
            assert memory.search("harbour", mode="vector")[0].id == ids[1]
            assert memory.stats().vectors == 2
            assert memory.verify().ok
    finally:
        run(
            database,
            "DROP SCHEMA plain CASCADE",
            "DROP ROLE modest",
            "DROP SCHEMA rememo CASCADE",
        )
        Memory(database, embedder=None).close()


def test_a_backup_is_left_to_the_server(database: str, tmp_path: Path):
    memory = Memory(database, embedder=None, settings=FAST)
    with pytest.raises(StorageError, match=r"pg_dump --schema=rememo.*export"):
        memory.backup(tmp_path / "copy")
    memory.close()
    with pytest.raises(Closed):
        memory.backup(tmp_path / "copy")


def test_a_forked_child_has_connections_of_its_own(database: str):
    with Memory(database, embedder=None, settings=FAST) as memory:
        memory.add("parent")
        pid = os.fork()
        if not pid:
            try:
                memory.add("child")
                os._exit(0 if memory.count() == 2 else 1)
            except BaseException:  # noqa: BLE001 - the child must end here whatever happens
                os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        memory.add("parent again")
        assert memory.count() == 3
