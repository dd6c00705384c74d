"""A server that restarts, is full, is a copy, or lets nobody in: nothing is lost, nothing doubled, and the error says why."""

# pyright: reportPrivateUsage=false

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import psycopg
import pytest
from psycopg import OperationalError, sql
from psycopg.pq import TransactionStatus

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import Busy, InvalidInput, ReadOnlyStore, StorageError
from rememo.store.postgres.address import parse_address
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.store.postgres.errors import translate
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.store import PostgresStore

PLAIN = Settings(worker=False)
FAST = Settings(durability="fast", worker=False)
pytestmark = pytest.mark.requirement("postgres.failures")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(settings=("max_connections = 20", "superuser_reserved_connections = 0")) as started:
        yield started


@pytest.fixture
def url(server: EmbeddedPostgres) -> Iterator[str]:
    run(server.url(), "CREATE DATABASE work")
    yield server.url("work")
    run(server.url(), "DROP DATABASE work WITH (FORCE)")


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(sql.SQL(statement))  # pyright: ignore[reportArgumentType] - constants of this file


def database_of(memory: Memory) -> PostgresDatabase:
    store = view_of(memory).engine.store
    assert isinstance(store, PostgresStore)
    return store._database  # pyright: ignore[reportPrivateUsage]


def in_threads(*acts: Callable[[], object]) -> list[BaseException]:
    """Run functions side by side; returns what they raised."""
    raised: list[BaseException] = []

    def guarded(act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return raised


# ---- restarts


def test_a_server_killed_under_load_loses_and_doubles_nothing(server: EmbeddedPostgres, url: str):
    written: list[str] = []
    failed: list[StorageError] = []
    stop = threading.Event()

    def write(memory: Memory, number: int) -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            text = f"thread{number} turn{turn}"
            try:
                # With a key, without one, and several at once: each has its own way of finding out what became of it.
                if number % 3 == 0:
                    memory.add(text, key=text)
                elif number % 3 == 1:
                    memory.add(text)
                else:
                    memory.add_many([text, f"{text} too"])
            except StorageError as error:
                failed.append(error)
            else:
                written.append(text)

    with Memory(url, embedder=None, settings=PLAIN) as memory:
        threads = [threading.Thread(target=write, args=(memory, number)) for number in range(6)]
        for thread in threads:
            thread.start()
        for mode in ("immediate", "fast", "immediate"):
            wait_for_more(written)
            server.stop(mode)
            server.start()
        wait_for_more(written)
        stop.set()
        for thread in threads:
            thread.join()
        texts = [
            record.text
            for offset in range(0, memory.count(), 10_000)
            for record in memory.list(limit=10_000, offset=offset)
        ]
        assert failed == []
        assert set(written) == {text for text in texts if not text.endswith("too")}
        assert len(set(texts)) == len(texts)
        assert memory.verify().ok


def wait_for_more(written: list[str]) -> None:
    enough, pause = len(written) + 40, threading.Event()
    for _ in range(3_000):
        if len(written) > enough:
            return
        pause.wait(0.01)
    raise AssertionError("nothing more was written within half a minute")


def test_connections_that_a_restart_has_ended_are_not_written_to(server: EmbeddedPostgres, url: str):
    with Memory(url, embedder=None, settings=PLAIN) as memory:
        gate = threading.Barrier(4)

        def read() -> None:
            with database_of(memory).snapshot():
                gate.wait(20)

        assert in_threads(*[read] * 4) == []
        server.stop("fast")
        server.start()
        for number in range(6):
            memory.add(f"entry {number}")
            memory.kv.set(f"key {number}", number)
        assert memory.count() == 6


def test_a_server_that_stays_away_is_an_error_and_its_return_is_noticed(server: EmbeddedPostgres, url: str):
    with Memory(url, embedder=None, settings=Settings(worker=False, busy_timeout=0.5)) as memory:
        memory.add("before")
        server.stop("fast")
        try:
            began = time.monotonic()
            for act in (lambda: memory.add("meanwhile"), memory.count, lambda: memory.kv.set("a", 1)):
                with pytest.raises(StorageError, match=r"cannot be reached.*nothing was changed"):
                    act()
            assert time.monotonic() - began < 30
            with pytest.raises(StorageError, match="cannot be reached"):
                Memory(url, embedder=None)
        finally:
            server.start()
        memory.add("after")
        assert [record.text for record in memory.list()] == ["before", "after"]


def test_a_commit_that_was_cut_off_is_looked_for(url: str):
    """The line is cut between the commit and its confirmation: the write is there, and is not done again."""
    with Memory(url, embedder=None, settings=PLAIN) as memory:
        memory.add("first")
        with pytest.MonkeyPatch.context() as patch:
            execute, cuts = PostgresSession.execute, iter([True, True])

            def cut_after(self: PostgresSession, statement: str, values: object = ()) -> object:
                done = execute(self, statement, values)  # pyright: ignore[reportArgumentType]
                connection = self._connection  # pyright: ignore[reportPrivateUsage]
                committed = connection.pgconn.transaction_status == TransactionStatus.IDLE
                if committed and (statement == "COMMIT" or "INSERT" in statement) and next(cuts, False):
                    connection.close()
                    raise OperationalError("server closed the connection unexpectedly")
                return done

            patch.setattr(PostgresSession, "execute", cut_after)
            receipt = memory.add("alone")
            many = memory.add_many(["one of two", "two of two"])
        assert [record.text for record in memory.list()] == ["first", "alone", "one of two", "two of two"]
        assert memory.get(receipt.id).recorded_at == receipt.recorded_at
        assert [memory.get(id).version for id in many.ids] == [1, 1]
        with pytest.MonkeyPatch.context() as patch:
            cuts = iter([True])
            patch.setattr(PostgresSession, "execute", cut_after)
            with pytest.raises(StorageError, match=r"may have been done or not.*give such writes a key"):
                memory.delete(receipt.id)


# ---- writers in each other's way


def test_a_deadlock_is_tried_again(url: str):
    address = parse_address(f"{url}&options=-cdeadlock_timeout%3D20ms")
    database = PostgresDatabase(address, durability="fast", busy_timeout=10)
    hold = "UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s"
    try:
        database.write(lambda session: session.execute("INSERT INTO tenants (tenant) VALUES ('a'), ('b')"))
        gate, first = threading.Barrier(2), [True, True]

        def cross(number: int, tenants: tuple[str, str]) -> None:
            def act(session: PostgresSession) -> None:
                session.execute(hold, (tenants[0],))
                if first[number]:
                    first[number] = False
                    gate.wait(20)
                session.execute(hold, (tenants[1],))

            database.write(act)

        assert in_threads(lambda: cross(0, ("a", "b")), lambda: cross(1, ("b", "a"))) == []
        assert database.rows("SELECT epoch FROM tenants ORDER BY tenant") == [(2,), (2,)]
    finally:
        database.close()


def test_the_servers_default_isolation_does_not_matter(url: str):
    run(url, "ALTER DATABASE work SET default_transaction_isolation = 'serializable'")
    with Memory(url, embedder=None, settings=FAST) as memory:
        acts = [lambda: [memory.add("side by side", key=f"{number}") for number in range(20)]] * 4
        assert in_threads(*acts) == []
        assert memory.count() == 20


def test_a_pool_that_is_lent_out_says_so(url: str):
    settings = Settings(durability="fast", worker=False, busy_timeout=0.2)
    with Memory(f"{url}&pool_size=1", embedder=None, settings=settings) as memory:
        memory.add("here")
        with (
            database_of(memory).snapshot(),
            pytest.raises(Busy, match="raise pool_size"),
        ):
            memory.add("there")
        memory.add("again")
        assert [record.text for record in memory.list()] == ["here", "again"]


def test_a_statement_that_takes_too_long_says_so(url: str):
    with Memory(f"{url}&options=-cstatement_timeout%3D200ms", embedder=None, settings=FAST) as memory:
        memory.add("here")
        with psycopg.connect(url) as other:
            other.execute("SELECT 1 FROM rememo.tenants FOR UPDATE")
            with pytest.raises(Busy, match=r"statement timeout.*nothing was changed.*raise statement_timeout"):
                memory.add("there")
        memory.add("again")
        assert [record.text for record in memory.list()] == ["here", "again"]


def test_a_writer_that_is_waited_for_too_long_says_so(url: str):
    with Memory(url, embedder=None, settings=FAST.but(busy_timeout=0.2)) as memory:
        memory.add("here")
        with psycopg.connect(url) as other:
            other.execute("SELECT 1 FROM rememo.tenants FOR UPDATE")
            with pytest.raises(Busy, match="raise busy_timeout"):
                memory.add("there")
        assert memory.count() == 1


# ---- at the door


def test_a_full_server_says_so(server: EmbeddedPostgres, url: str):
    with ExitStack() as stack:
        with suppress(psycopg.OperationalError):
            for _ in range(30):
                stack.enter_context(psycopg.connect(server.url()))
        with pytest.raises(Busy, match=r"takes no more connections; lower pool_size"):
            Memory(url, embedder=None)


def test_who_is_not_let_in_is_told_why(server: EmbeddedPostgres, url: str):
    run(url, "CREATE ROLE ana LOGIN PASSWORD 'right'", "CREATE ROLE shut NOLOGIN")
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text("local all ana scram-sha-256\nlocal all bob reject\n" + before)
    run(url, "SELECT pg_reload_conf()")
    try:
        for who, says in (
            ("ana:wrong-secret", r"refused.*authentication failed.*see to the user and the password"),
            ("ana", r"refused.*no password supplied.*see to the user and the password"),
            ("bob:wrong-secret", r"refused.*pg_hba.*let this user"),
            ("nobody:wrong-secret", r'refused.*role "nobody" does not exist.*create the role'),
            ("shut:wrong-secret", r'refused.*role "shut" is not permitted'),
        ):
            address = url.replace("postgres@", f"{who}@")
            with pytest.raises(StorageError, match=says) as raised:
                Memory(address, embedder=None)
            assert "wrong-secret" not in told(raised.value)
        with pytest.raises(StorageError, match=r'database "none" does not exist.*createdb'):
            Memory(server.url("none"), embedder=None)
        run(url, "GRANT CREATE ON DATABASE work TO ana")
        with Memory(url.replace("postgres@", "ana:right@"), embedder=None, settings=FAST) as memory:
            memory.add("let in")
            assert "right" not in repr(parse_address(url.replace("postgres@", "ana:right@")))
        run(url, "REVOKE CREATE ON DATABASE work FROM ana", "DROP OWNED BY ana CASCADE")
        with pytest.raises(StorageError, match=r"refused: permission denied.*grant the role what it needs"):
            Memory(url.replace("postgres@", "ana:right@"), embedder=None)
    finally:
        rules.write_text(before)
        run(url, "SELECT pg_reload_conf()", "DROP OWNED BY ana CASCADE", "DROP ROLE ana, shut")


def told(error: BaseException | None) -> str:
    """Return an error's text with those of all that caused it, as a traceback shows them."""
    return "" if error is None else f"{error!r} {error} {told(error.__cause__)} {told(error.__context__)}"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:sec%ret@host/db",
        "postgresql://ana:sec@ret@host/db",
        "postgresql://ana:sec?ret@host/db",
        "postgresql://ana:sec/ret@host/db",
        "postgresql://ana:sec#ret@host/db",
        "postgresql://host:1,other:2,third:3,fourth/db?password=secret&port=1,2",
    ],
)
def test_an_address_that_cannot_be_read_does_not_show_its_password(url: str):
    with pytest.raises(InvalidInput) as raised:
        Memory(url, embedder=None)
    assert "sec" not in told(raised.value)
    assert "ret@" not in told(raised.value)


def test_several_servers_may_stand_in_an_address(server: EmbeddedPostgres, url: str):
    folder = server.folder
    address = f"postgresql://postgres@/work?host=/nowhere,{folder}&target_session_attrs=read-write"
    with Memory(address, embedder=None, settings=FAST) as memory:
        memory.add("on the one that writes")
    assert parse_address("postgresql://a:b@one:1,two:2/db").shown == "postgresql://one:1,two:2/db"
    with Memory(url, embedder=None, settings=FAST) as memory:
        assert memory.count() == 1


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("the database system is starting up", Busy),
        ("the database system is in recovery mode", Busy),
        ("the database system is shutting down", Busy),
        ("remaining connection slots are reserved for roles with the SUPERUSER attribute", Busy),
        ("something quite different", StorageError),
    ],
)
def test_what_a_server_says_at_the_door(said: str, error: type[StorageError]):
    shown = translate(OperationalError(f'connection to server at "h", port 1 failed: FATAL:  {said}'), "h")
    assert type(shown) is error
    assert said in str(shown) or "no more connections" in str(shown)
    assert "nothing was changed" in str(shown) or "no more connections" in str(shown)


# ---- copies


def test_a_standby_is_read_and_says_that_it_cannot_be_written(server: EmbeddedPostgres, url: str):
    with Memory(url, embedder=None, settings=PLAIN) as memory:
        memory.add("on the first server")
    with (
        server.standby() as standby,
        Memory(standby.url("work"), embedder=None, settings=PLAIN) as copy,
        Memory(url, embedder=None, settings=PLAIN) as memory,
    ):
        assert [record.text for record in copy.list()] == ["on the first server"]
        assert copy.search("server")
        assert any("can only be read" in lack for lack in view_of(copy).engine.store.health().lacks)
        assert (view_of(copy).engine.is_read_only(), view_of(memory).engine.is_read_only()) == (True, False)
        for act in (lambda: copy.add("there"), lambda: copy.kv.set("a", 1), lambda: copy.snapshot("s")):
            with pytest.raises(ReadOnlyStore, match=r"read-only replica; nothing was changed"):
                act()
        with pytest.raises(ReadOnlyStore, match="read-only replica"):
            Memory(f"{standby.url('work')}&schema=another", embedder=None)
        assert copy.count() == 1
