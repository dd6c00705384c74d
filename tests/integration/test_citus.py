"""A Citus cluster: every table can be cut by its tenant, and the statements that do it. No cluster is started here."""

from collections.abc import Iterator
from typing import Any, LiteralString, cast

import psycopg
import pytest

from rememo import Memory, Settings
from rememo.engine.opening import migrate_store
from rememo.engine.view import view_of
from rememo.errors import StorageError
from rememo.jobs.worker import Worker
from rememo.store.migrations import MigrationOptions
from rememo.store.postgres.citus import Table, spread
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.store import PostgresStore
from rememo.testing.postgres import DatabasePool

pytestmark = pytest.mark.requirement("postgres.citus")

KEYS = """SELECT t.relname, i.relname, a.attname FROM pg_index x
JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY(x.indkey)
WHERE t.relnamespace = 'rememo'::regnamespace AND (x.indisunique OR x.indisprimary)"""
WITHOUT_TENANT = """SELECT relname FROM pg_class WHERE relnamespace = 'rememo'::regnamespace AND relkind IN ('r', 'p')
AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant')"""
STORE_WIDE = {"models", "migrations"}


@pytest.fixture
def database(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    yield databases.url(name)
    databases.take_back(name)


def ask(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(cast("LiteralString", statement)).fetchall()


def test_every_key_contains_the_tenant_and_nothing_ties_tenants_together(database: str):
    indexes: dict[tuple[str, str], set[str]] = {}
    for table, index, column in ask(database, KEYS):
        indexes.setdefault((table, index), set()).add(column)
    assert len(indexes) > 50
    assert [name for name, columns in indexes.items() if "tenant" not in columns and name[0] not in STORE_WIDE] == []
    assert {row[0] for row in ask(database, WITHOUT_TENANT)} == STORE_WIDE
    assert (
        ask(database, "SELECT 1 FROM pg_constraint WHERE contype = 'f' AND connamespace = 'rememo'::regnamespace") == []
    )
    assert ask(database, "SELECT 1 FROM pg_class WHERE relkind = 'S' AND relnamespace = 'rememo'::regnamespace") == []
    assert (
        ask(
            database,
            "SELECT 1 FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = 'rememo'::regnamespace",
        )
        == []
    )


def test_one_table_is_spread_first_and_the_others_beside_it():
    tables = [Table("kv", True), Table("models", False), Table("migrations", False), Table("tenants", True)]
    assert [statement.as_string() for statement in spread("mine", tables)] == [
        "SELECT create_reference_table('mine.models')",
        "SELECT create_distributed_table('mine.tenants', 'tenant', colocate_with => 'none')",
        "SELECT create_distributed_table('mine.kv', 'tenant', colocate_with => 'mine.tenants')",
    ]


def test_the_plan_names_every_table_once_and_parts_go_with_their_whole(database: str):
    planned = migrate_store(database, MigrationOptions(citus=True), dry=True)
    named = [statement.split("'")[1].removeprefix("rememo.") for statement in planned.statements]
    wholes = {
        row[0]
        for row in ask(
            database,
            "SELECT relname FROM pg_class WHERE relnamespace = 'rememo'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition",
        )
    }
    assert sorted(named) == sorted(wholes - {"migrations"})
    assert named.index("models") < named.index("tenants") < min(named.index(name) for name in ("records", "jobs", "kv"))
    assert ["has not the extension citus" in note for note in planned.notes] == [True]


def test_without_the_extension_nothing_is_done(database: str):
    with pytest.raises(StorageError, match=r"has not the extension citus.*CREATE EXTENSION citus"):
        migrate_store(database, MigrationOptions(citus=True))


def test_jobs_are_taken_and_ended_tenant_by_tenant(database: str, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    execute = PostgresSession.execute

    def listen(self: PostgresSession, statement: str, values: Any = ()) -> Any:
        said.append(statement)
        return execute(self, statement, values)

    with Memory(database, embedder=None, settings=Settings(durability="fast", worker=False)) as memory:
        store = view_of(memory).engine.store
        assert isinstance(store, PostgresStore)
        store._database.distributed = True  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(PostgresSession, "execute", listen)
        for tenant in ("one", "two", "three"):
            for number in range(5):
                memory.scope(tenant=tenant, user="ana").messages.add("user", f"I love thing {number}.")
        worker = Worker(view_of(memory).engine)
        assert worker.run_until_idle() == 15
        store._database.distributed = False  # pyright: ignore[reportPrivateUsage] - what a cluster weighs only it can tell
        for tenant in ("one", "two", "three"):
            assert memory.scope(tenant=tenant).stats().jobs == {"done": 5}
            assert memory.scope(tenant=tenant, user="ana").count(kind="fact") == 5
    locking = [statement for statement in said if "FOR UPDATE" in statement or "UPDATE jobs" in statement]
    assert locking
    assert [statement for statement in locking if "tenant = %" not in statement] == []
