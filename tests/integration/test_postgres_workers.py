"""Several `rememo worker` processes on one server: told of jobs, killed, cut off; each message is learned once."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from rememo import Memory, Settings
from rememo.engine.job_payloads import LEARN
from rememo.engine.view import view_of
from rememo.errors import StorageError
from rememo.jobs import worker_state
from rememo.jobs.worker import Worker
from rememo.model.ids import new_id
from rememo.model.job import NewJob
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.store import PostgresStore
from rememo.testing.postgres import DatabasePool

ELSEWHERE = Settings(durability="fast", worker=False)
BATCH = 256
NEVER = 10_000.0
pytestmark = pytest.mark.requirement("postgres.workers")


@pytest.fixture
def database(databases: DatabasePool) -> Iterator[str]:
    name = databases.lend()
    yield databases.url(name)
    databases.take_back(name)


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    with Memory(database, settings=ELSEWHERE) as memory:
        yield memory


def wait_for(happened: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(6_000):
        if happened():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen within a minute")


def say(memory: Memory, *texts: str) -> None:
    items = [
        {"text": text, "kind": "message", "jobs": (NewJob(id=new_id(), task=LEARN, payload={}),)} for text in texts
    ]
    view_of(memory).put(items)  # jobs are not on the surface


def store_of(memory: Memory) -> PostgresStore:
    store = view_of(memory).engine.store
    assert isinstance(store, PostgresStore)
    return store


@contextmanager
def workers(database: str, number: int) -> "Generator[list[subprocess.Popen[str]]]":
    """Run workers as a user does; whatever is left is killed."""
    with ExitStack() as stack:
        started: list[subprocess.Popen[str]] = []
        for _ in range(number):
            process = subprocess.Popen(
                [sys.executable, "-c", "from rememo.cli.app import app; app()", "worker", database, "--lease", "1.5"],
                stdout=subprocess.PIPE,
                text=True,
                env={name: value for name, value in os.environ.items() if not name.startswith("REMEMO_")}
                | {"REMEMO_DURABILITY": "fast"},
                cwd=Path(__file__).parent,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            started.append(process)
        for process in started:
            assert process.stdout is not None
            stack.enter_context(process.stdout)
            assert process.stdout.readline().startswith("working")
        yield started


def test_one_of_three_workers_is_killed_and_nothing_is_lost_or_repeated(memory: Memory, database: str):
    def running() -> int:
        return memory.stats().jobs.get("running", 0)

    def send(what: signal.Signals, *processes: "subprocess.Popen[str]") -> None:
        for process in processes:
            process.send_signal(what)

    def all_hands_full_or_all_done() -> bool:
        """Whether each of the three holds jobs, and then they stand still; or there is nothing left."""
        if running() > 2 * BATCH:
            send(signal.SIGSTOP, *started)
            if running() > 2 * BATCH:
                return True
            send(signal.SIGCONT, *started)
        return set(memory.stats().jobs) == {"done"}

    users, said = [f"user-{number}" for number in range(20)], 0
    with workers(database, 3) as started:
        killed, *others = started
        # They may miss the moment; then there is more to do.
        while not running():
            send(signal.SIGSTOP, *started)
            for user in users:
                say(memory.scope(user=user), *[f"I love thing {said + number}." for number in range(45)])
            said += 45
            send(signal.SIGCONT, *started)
            wait_for(all_hands_full_or_all_done)
        send(signal.SIGKILL, killed)
        killed.wait(60)
        assert running() > 2 * BATCH
        send(signal.SIGCONT, *others)
        wait_for(lambda: set(memory.stats().jobs) == {"done"})
        send(signal.SIGTERM, *others)
        assert [process.wait(60) for process in others] == [0, 0]
    assert memory.stats().jobs == {"done": 20 * said}
    for user in users:
        facts = memory.scope(user=user).facts.list(predicate="likes", limit=1_000)
        assert sorted(fact.object for fact in facts) == sorted(f"thing {number}" for number in range(said))
        assert all(len(fact.sources) == 1 for fact in facts)
    assert {record.version for record in memory.list(kind="fact", limit=5_000)} == {1}
    assert memory.verify().ok


def test_a_worker_is_told_of_jobs_and_of_those_of_a_writer_that_is_gone(
    memory: Memory, database: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(worker_state, "IDLE_SECONDS", NEVER)
    monkeypatch.setattr(worker_state, "LISTENING_SECONDS", NEVER)
    worker = Worker(view_of(memory).engine)
    worker.start(listen=True)
    try:
        for number in range(3):
            with Memory(database, settings=ELSEWHERE) as writer:
                say(writer.scope(user="ana"), f"I love thing {number}.")
            wait_for(lambda number=number: memory.stats().jobs == {"done": number + 1})
        # Whoever listens for the first time, or again, looks at once: what was called out meanwhile was not heard.
        end_listeners(database)
        with Memory(database, settings=ELSEWHERE) as writer:
            say(writer.scope(user="ana"), "I love tea.")
        wait_for(lambda: memory.stats().jobs == {"done": 4})
    finally:
        assert worker.stop(30)


def test_a_lost_line_is_noticed_and_opened_again(memory: Memory, database: str):
    heard = threading.Event()
    line = store_of(memory).listen(heard.set)
    wait_for(lambda: line.connected)
    heard.clear()
    end_listeners(database)
    wait_for(heard.is_set)
    wait_for(lambda: line.connected)
    heard.clear()
    store_of(memory).call()
    wait_for(heard.is_set)
    line.close()
    line.close()
    assert not line.connected


def end_listeners(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        ).fetchall()
    assert ended == [(True,)]


def test_without_a_line_it_looks_by_itself(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    def no_line(_self: PostgresDatabase) -> None:
        raise StorageError("not through this pooler")

    monkeypatch.setattr(PostgresDatabase, "line", no_line)
    monkeypatch.setattr(worker_state, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(worker_state, "LISTENING_SECONDS", NEVER)
    worker = Worker(view_of(memory).engine)
    worker.start(listen=True)
    say(memory.scope(user="ana"), "I love tea.")
    wait_for(lambda: memory.stats().jobs == {"done": 1})
    assert worker.stop(30)


def test_many_writes_are_few_calls(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    calls: list[object] = []
    row = PostgresDatabase.row

    def counted(self: PostgresDatabase, sql: str, values: object = ()) -> object:
        if "pg_notify" in sql:
            calls.append(values)
        return row(self, sql, values)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(PostgresDatabase, "row", counted)
    for number in range(50):
        say(memory.scope(user="ana"), f"I love thing {number}.")
    wait_for(lambda: len(calls) > 0)
    memory.close()
    assert len(calls) < 50
    assert set(calls) == {("rememo_rememo",)}
