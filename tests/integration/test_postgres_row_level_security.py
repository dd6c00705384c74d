"""Row-level security: as a role that owns nothing everything works, and a wrong query reaches nothing of another tenant."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rememo import Memory, Settings
from rememo.engine.opening import migrate_store
from rememo.errors import InvalidInput, StorageError
from rememo.keep.keyring import Keyring
from rememo.recall.embed.protocol import Embedder
from rememo.store.migrations import Migration, MigrationOptions
from rememo.store.postgres import migrate as migrating
from rememo.store.postgres.address import parse_address
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.migrate import migrate, migrations
from rememo.store.postgres.row_level_security import has_row_level_security
from rememo.store.postgres.tenant_guard import ALL_TENANTS, acting_for, guard_tenants
from rememo.testing import ManualClock, OpenMemory, WordEmbedder
from rememo.testing.base import STANDARD_EMBEDDER
from rememo.testing.batches import KeySuite
from rememo.testing.key_values import KeyValueSuite
from rememo.testing.postgres import DatabasePool
from rememo.testing.records import RecordSuite
from rememo.testing.scopes import IsolationSuite

FAST = Settings(durability="fast", worker=False)
ROLE = "rememo_app"
pytestmark = pytest.mark.requirement("postgres.row-level-security")


@pytest.fixture(scope="module")
def role(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    with psycopg.connect(databases.url(name), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(ROLE)))
    yield ROLE
    with psycopg.connect(databases.url(name), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(ROLE)))
    databases.take_back(name)


class Walled:
    """Databases with walls, opened by a role that owns nothing; each is used again after it was washed."""

    def __init__(self, databases: DatabasePool, role: str) -> None:
        self._databases, self._role = databases, role
        self._ready: list[str] = []
        self._made: list[str] = []

    def lend(self) -> str:
        if self._ready:
            return self._ready.pop()
        name = self._databases.lend()
        migrate_store(self._databases.url(name), MigrationOptions(row_level_security=True, grant=self._role))
        self._made.append(name)
        return name

    def url(self, name: str, *, owner: bool = False) -> str:
        url = self._databases.url(name)
        return url if owner else url.replace("postgres@", f"{self._role}@")

    def take_back(self, name: str) -> None:
        self._databases.take_back(name)
        assert self._databases.lend() == name
        self._ready.append(name)

    def close(self) -> None:
        """Take the role's rights away; the databases stay as they are and are lent to nobody else."""
        for name in self._made:
            with psycopg.connect(self._databases.url(name), autocommit=True) as connection:
                connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(self._role)))


@pytest.fixture(scope="module")
def places(databases: DatabasePool, role: str) -> Iterator[Walled]:
    lending = Walled(databases, role)
    yield lending
    lending.close()


@pytest.fixture
def place(places: Walled) -> Iterator[str]:
    name = places.lend()
    yield name
    places.take_back(name)


class TestWalled(RecordSuite, IsolationSuite, KeySuite, KeyValueSuite):
    """What comes near every table; the whole suite passes as well, and takes minutes."""

    @pytest.fixture
    def open_memory(self, clock: ManualClock, places: Walled) -> Iterator[OpenMemory]:  # pyright: ignore[reportIncompatibleMethodOverride] - fixtures may yield
        opened: list[Memory] = []
        names: dict[str, str] = {}

        def open_database(
            name: str = "memory",
            *,
            tenant: str = "default",
            embedder: Embedder | None = STANDARD_EMBEDDER,
            settings: Settings | None = None,
        ) -> Memory:
            if name not in names:
                names[name] = places.lend()
            url = places.url(names[name])
            memory = Memory(url, tenant=tenant, embedder=embedder, settings=settings or FAST, clock=clock)
            opened.append(memory)
            return memory

        yield open_database
        for memory in opened:
            memory.close()
        for name in names.values():
            places.take_back(name)


def fill(url: str, *tenants: str) -> None:
    for tenant in tenants:
        with Memory(url, tenant=tenant, embedder=WordEmbedder(), settings=FAST) as memory:
            memory.add_many([f"a ship of {tenant}", f"a boat of {tenant}", f"a raft of {tenant}"])
            memory.add(f"another of {tenant}")
            memory.kv.set("k", tenant)


def test_a_wrong_query_reaches_nothing_of_another_tenant(places: Walled, place: str):
    fill(places.url(place), "one", "two")
    database = PostgresDatabase(parse_address(places.url(place)), durability="fast", busy_timeout=10)
    try:
        everything = "SELECT DISTINCT tenant FROM {} ORDER BY tenant"
        part = database.partition
        with acting_for("one"):
            tables = ["records", "words", "vectors", "kv", "tenants", f"records_{part('two')}", f"words_{part('two')}"]
            for table in tables:
                assert database.rows(everything.format(table)) in ([], [("one",)]), table
            assert database.rows("SELECT tenant FROM records WHERE tenant = 'two'") == []
            with database.snapshot() as session:
                assert session.rows(everything.format("records")) == [("one",)]
            assert database.write(lambda session: session.changed("UPDATE records SET text = 'mine'")) == 4
            assert database.write(lambda session: session.changed("DELETE FROM kv")) == 1
            with pytest.raises(StorageError, match="row-level security"):
                database.write_at_once("INSERT INTO snapshots (tenant, name, at) VALUES ('two', 'theirs', 1)")
        with acting_for(ALL_TENANTS):
            assert database.rows(everything.format("records")) == [("one",), ("two",)]
        with pytest.raises(StorageError, match="in nobody's name"):
            database.rows(everything.format("records"))
    finally:
        database.close()
    with Memory(places.url(place), tenant="two", embedder=WordEmbedder(), settings=FAST) as memory:
        assert {record.text for record in memory.list()} == {
            "a ship of two", "a boat of two", "a raft of two", "another of two",
        }  # fmt: skip
        assert memory.kv.get("k") == "two"
        assert memory.search("ship", mode="words")[0].text == "a ship of two"


def test_a_program_that_says_nothing_is_refused(places: Walled, place: str):
    fill(places.url(place), "one")
    with (
        psycopg.connect(places.url(place)) as connection,
        pytest.raises(psycopg.errors.UndefinedObject, match=r"rememo\.tenant"),
    ):
        connection.execute("SELECT count(*) FROM rememo.records")


def test_walls_are_put_up_while_others_work(databases: DatabasePool, role: str):
    name = databases.lend()
    url = databases.url(name)
    places = Walled(databases, role)
    places._made.append(name)  # pyright: ignore[reportPrivateUsage] - so that it is made as before
    migrate_store(url, MigrationOptions(grant=role))
    with Memory(url.replace("postgres@", f"{role}@"), embedder=WordEmbedder(), settings=FAST) as memory:
        memory.add("before")
        done = migrate_store(url, MigrationOptions(row_level_security=True))
        assert any("CREATE POLICY" in statement for statement in done.statements)
        assert [record.text for record in memory.list()] == ["before"]
        memory.add_many(["after", "too", "and again"])
        assert memory.count() == 4
        assert memory.verify().ok
        assert not migrate_store(url, MigrationOptions(row_level_security=True)).statements
    places.close()


def test_tables_of_later_migrations_have_walls_and_rights(places: Walled, place: str, monkeypatch: pytest.MonkeyPatch):
    number = migrations()[-1].number + 1
    later = Migration(
        number,
        f"{number:04}_later",
        "CREATE TABLE later (tenant text PRIMARY KEY, said text); UPDATE records SET source = 'moved'",
    )
    fill(places.url(place), "one", "two")
    with psycopg.connect(places.url(place, owner=True), autocommit=True, options="-c search_path=rememo") as connection:
        # As an owner who is no superuser: policies hold that one too.
        migrate(connection, "rememo", "here", steps=(*migrations(), later))
        assert has_row_level_security(connection, "rememo")
        assert connection.execute("SELECT current_setting('rememo.everywhere', true)").fetchone() == ("",)
        connection.execute(
            "SELECT set_config('rememo.tenant', '', false), set_config('rememo.everywhere', 'on', false)"
        )
        assert connection.execute("SELECT count(*) FROM records WHERE source = 'moved'").fetchone() == (8,)
        connection.execute("INSERT INTO later VALUES ('one', 'a'), ('two', 'b')")
    monkeypatch.setattr(migrating, "migrations", lambda: (*migrations(), later))
    with psycopg.connect(places.url(place), options="-c search_path=rememo") as connection:
        connection.execute("SELECT set_config('rememo.tenant', 'one', true)")
        assert connection.execute("SELECT said FROM later").fetchall() == [("a",)]
    with psycopg.connect(places.url(place, owner=True), autocommit=True) as connection:
        connection.execute("DROP TABLE rememo.later")
        connection.execute("DELETE FROM rememo.migrations WHERE number = %s", (number,))


def test_sealed_contents_and_erasure_work_behind_walls(places: Walled, place: str, tmp_path: Path):
    keyring = Keyring(Keyring.new_key())
    settings = FAST.but(audit=True)
    with Memory(places.url(place), embedder=WordEmbedder(), settings=settings, encryption=keyring) as memory:
        memory.scope(user="ana").add_many(["the cat is called Miso", "a ship in the harbour", "a third"])
        assert memory.search("harbour")[0].text == "a ship in the harbour"
        memory.rotate_keys().wait()
        assert memory.scope(user="ana").count() == 3
        memory.export(tmp_path / "all.jsonl")
        receipt = memory.erase(user="ana")
        assert memory.count() == 0
        assert memory.import_(tmp_path / "all.jsonl").versions == 3
        assert memory.search("harbour")[0].text == "a ship in the harbour"
        assert receipt.ok
        assert memory.audit.verify().ok


def test_words_are_found_alike_whether_their_index_can_be_used_or_not(places: Walled, place: str):
    texts = [
        f"{color} {thing} {number}" for number in range(20) for color in ("red", "blue") for thing in ("ship", "boat")
    ]
    with Memory(places.url(place), embedder=None, settings=FAST) as memory:
        ids = memory.scope(room="r").add_many(texts).ids
        memory.add_many(texts)
        memory.update(ids[0], text="red ship red ship")

    def found() -> list[list[tuple[str, float]]]:
        with Memory(places.url(place), embedder=None, settings=FAST) as memory:
            views = (memory, memory.scope(room="r"))
            return [
                [(hit.id, hit.score) for hit in view.search("red ship 7", limit=20, known_at=known_at)]
                for view in views
                for known_at in (None, memory.get(ids[1]).recorded_at)
            ]

    change = "ALTER FUNCTION pg_catalog.arraycontains(anyarray, anyarray)"
    with psycopg.connect(places.url(place, owner=True), autocommit=True) as connection:
        quick = found()
        connection.execute(f"{change} NOT LEAKPROOF")
        try:
            assert found() == quick
            assert all(quick)
        finally:
            connection.execute(f"{change} LEAKPROOF")


def test_a_method_must_tell_whom_it_reaches():
    class Forgetful:
        def read(self, id: str) -> str:
            return id

    with pytest.raises(TypeError, match="names no tenant"):
        guard_tenants()(Forgetful)
    assert guard_tenants(store_wide=frozenset(("read",)))(Forgetful)().read("a") == "a"


def test_what_cannot_be_is_refused(databases: DatabasePool, tmp_path: Path):
    name = databases.lend()
    with pytest.raises(InvalidInput, match=r"no role 'nobody_here'"):
        migrate_store(databases.url(name), MigrationOptions(grant="nobody_here"))
    with pytest.raises(InvalidInput, match="both row-level security and Citus"):
        migrate_store(databases.url(name), MigrationOptions(row_level_security=True, citus=True), dry=True)
    for wishes in (
        MigrationOptions(row_level_security=True),
        MigrationOptions(grant="a"),
        MigrationOptions(citus=True),
    ):
        with pytest.raises(InvalidInput, match="is a file"):
            migrate_store(str(tmp_path / "file.db"), wishes)
    databases.take_back(name)
