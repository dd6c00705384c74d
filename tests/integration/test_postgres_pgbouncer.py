"""Through PgBouncer in transaction mode: found out by itself, and nothing is left behind on the connections it lends."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any, LiteralString, cast

import psycopg
import pytest

from rememo import Memory, Settings
from rememo.engine.opening import migrate_store
from rememo.engine.view import view_of
from rememo.errors import Busy, StorageError
from rememo.jobs.worker import Worker
from rememo.store.migrations import Migration, MigrationOptions
from rememo.store.postgres import migrate as migrating
from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.store.postgres.store import PostgresStore
from rememo.store.postgres.tenant_guard import ALL_TENANTS, acting_for
from rememo.testing import WordEmbedder
from rememo.testing.pgbouncer import PgBouncer

pytestmark = pytest.mark.requirement("postgres.pgbouncer")
FAST = Settings(durability="fast", worker=False)
LEFT = """SELECT name, setting FROM pg_settings WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding')
UNION ALL SELECT 'search_path', current_setting('search_path')
UNION ALL SELECT 'tenant', current_setting('rememo.tenant', true) || current_setting('rememo.everywhere', true)
UNION ALL SELECT 'prepared', name FROM pg_prepared_statements
UNION ALL SELECT 'listens', channel FROM pg_listening_channels() AS channel
UNION ALL SELECT 'lock', objid::text FROM pg_locks WHERE locktype = 'advisory'"""


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres() as started:
        yield started


@pytest.fixture(scope="module", params=["refuses what it does not know", "passes over what it does not know"])
def pooler(request: pytest.FixtureRequest, server: EmbeddedPostgres, pgbouncer: str) -> Iterator[PgBouncer]:
    ignored = ("ignore_startup_parameters = options,extra_float_digits",) if "over" in request.param else ()
    with PgBouncer(server, program=pgbouncer, settings=("default_pool_size = 3", *ignored)) as started:
        yield started


@pytest.fixture
def url(server: EmbeddedPostgres, pooler: PgBouncer) -> Iterator[str]:
    ask(server.url(), "CREATE DATABASE work")
    yield pooler.url("work")
    ask(server.url(), "DROP DATABASE work WITH (FORCE)")


def ask(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        cursor = connection.execute(cast("LiteralString", statement))
        return cursor.fetchall() if cursor.description else []


def open_memory(url: str, **options: Any) -> Memory:
    return Memory(url, embedder=WordEmbedder(), settings=options.pop("settings", FAST), **options)


def store_of(memory: Memory) -> PostgresStore:
    store = view_of(memory).engine.store
    assert isinstance(store, PostgresStore)
    return store


def test_all_tables_are_in_the_schema_and_nothing_is_left_on_a_connection(url: str, server: EmbeddedPostgres):
    with open_memory(f"{url}&schema=mine", settings=FAST.but(worker=True)) as memory:
        chat = memory.scope(user="ana", room="one")
        chat.messages.add("user", "I live in Lisbon and my cat is called Miso.").wait()
        chat.add_many([f"ship {number} in the harbour" for number in range(20)])
        assert len(chat.search("ship harbour", limit=5)) == 5
        assert [fact.object for fact in chat.facts.list()] != []
        assert memory.verify().ok
        memory.erase(user="ana")
        # Each connection of the pooler has its turn.
        left = [row for _ in range(6) for row in ask(url, LEFT)]
        assert {row for row in left if row[0] != "tenant"} == {("search_path", '"$user", public')}
        assert {said for name, said in left if name == "tenant"} <= {None, ""}
    tables = (
        "SELECT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind IN ('r', 'p')"
    )
    schemas = {row[0] for row in ask(server.url("work"), tables)}
    assert schemas == {"mine", "pg_catalog", "information_schema"}


def test_each_transaction_has_what_connections_are_told_elsewhere(url: str):
    memory = open_memory(f"{url}&options=-c%20statement_timeout%3D7s%20--work-mem%3D5MB")
    with memory:
        database = store_of(memory)._database  # pyright: ignore[reportPrivateUsage]
        assert database.pooled
        names = ("enable_seqscan", "jit", "synchronous_commit", "statement_timeout", "work_mem", "lock_timeout")
        sql = f"SELECT {', '.join(f'current_setting({name!r})' for name in names)}"
        wanted = ("off", "off", "off", "7s", "5MB", "30s")
        assert database.row(sql) == wanted
        with database.snapshot() as session:
            assert session.row(sql) == wanted
        assert database.write(lambda session: session.row(sql)) == wanted


def test_a_receipt_is_on_the_disk_whatever_the_server_would_do(url: str, server: EmbeddedPostgres):
    ask(server.url(), "ALTER DATABASE work SET synchronous_commit = off")
    with open_memory(url, settings=Settings(worker=False)) as memory:
        database = store_of(memory)._database  # pyright: ignore[reportPrivateUsage]
        assert database.value("SHOW synchronous_commit") == "on"
    ask(server.url(), "ALTER DATABASE work SET synchronous_commit = remote_write")
    with open_memory(f"{url}&application_name=again", settings=Settings(worker=False)) as memory:
        database = store_of(memory)._database  # pyright: ignore[reportPrivateUsage]
        # Sessions that the pooler has open already keep what the database said when they began.
        assert database.value("SHOW synchronous_commit") in {"on", "remote_write"}


def test_many_clients_share_few_connections(url: str):
    with open_memory(url) as memory:
        memory.add("first")

    def act(name: str) -> None:
        with open_memory(url) as memory:
            chat = memory.scope(tenant=name, user="ana")
            for number in range(10):
                chat.add(f"{name} number {number}", key=str(number))
                chat.add_many([f"{name} and {number}", f"{name} or {number}", f"{name} not {number}"])
                assert chat.search(f"{name} number {number}")[0].text == f"{name} number {number}"

    threads = [Thread(target=act, args=(f"tenant{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    with open_memory(url) as memory:
        assert [memory.scope(tenant=f"tenant{number}").count() for number in range(6)] == [40] * 6
        assert memory.verify().ok


def test_row_level_security_holds_each_transaction_to_its_tenant(url: str, server: EmbeddedPostgres):
    ask(server.url(), "CREATE ROLE app LOGIN")
    migrate_store(url, MigrationOptions(row_level_security=True, grant="app"))
    try:
        with (
            PgBouncer(server, user="app") as pooler,
            open_memory(pooler.url("work"), settings=FAST.but(audit=True)) as memory,
        ):
            for tenant in ("one", "two"):
                chat = memory.scope(tenant=tenant)
                chat.add_many([f"{tenant} {number}" for number in range(5)])
                chat.add(f"{tenant} alone")
            assert [memory.scope(tenant=tenant).count() for tenant in ("one", "two")] == [6, 6]
            assert [memory.scope(tenant=tenant).search("alone")[0].text for tenant in ("one", "two")] == [
                "one alone",
                "two alone",
            ]
            database = store_of(memory)._database  # pyright: ignore[reportPrivateUsage]
            count = "SELECT current_user::text, count(*) FROM records"
            with acting_for("one"):
                assert [database.row(count) for _ in range(3)] == [("app", 6)] * 3
            with acting_for(ALL_TENANTS):
                assert database.row(count) == ("app", 12)
            # Nobody's: what the transaction before was told does not hold any more.
            assert ask(pooler.url("work"), "SELECT count(*) FROM rememo.records") == [(0,)]
    finally:
        ask(server.url("work"), "DROP OWNED BY app")
        ask(server.url(), "DROP ROLE app")


def test_workers_look_by_themselves_where_nothing_can_be_heard(url: str):
    with open_memory(url) as memory, open_memory(url) as other:
        listener = store_of(other).listen(lambda: None)
        try:
            memory.scope(user="ana").messages.add("user", "I love sailing.")
            assert Worker(view_of(other).engine).run_until_idle() > 0
            assert not listener.connected
            assert memory.scope(user="ana").facts.list()
        finally:
            listener.close()


def test_a_held_row_is_waited_for_no_longer_than_allowed(url: str, server: EmbeddedPostgres):
    with open_memory(url, settings=FAST.but(busy_timeout=0.3)) as memory:
        memory.add("here")
        with psycopg.connect(server.url("work")) as holder:
            holder.execute("UPDATE rememo.tenants SET epoch = epoch")
            with pytest.raises(Busy, match="another writer"):
                memory.add("more")
            holder.rollback()
        memory.add("more")
        assert memory.count() == 2


def test_steps_that_need_a_connection_of_their_own_are_refused(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    open_memory(url).close()
    own = migrating.migrations()
    alone = Migration(
        own[-1].number + 1, "alone", "-- transaction: none\nCREATE INDEX CONCURRENTLY later ON kv (tenant);"
    )
    monkeypatch.setattr(migrating, "migrations", lambda: (*own, alone))
    with pytest.raises(StorageError, match="the step alone cannot be taken through a pooler"):
        open_memory(url)
    monkeypatch.undo()
    with open_memory(url) as memory:
        memory.add("still here")
        memory.export(tmp_path / "all.jsonl")
