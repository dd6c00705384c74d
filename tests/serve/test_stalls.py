"""A store on a server that is held up, or gone: nobody waits for another tenant, and everybody is told what to do."""

import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import OperationalError

from rememo import Memory, Settings
from rememo.serve.auth import ApiKeys
from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.store.postgres.session import PostgresSession

pytestmark = pytest.mark.requirement("postgres.failures")
LONG = 60.0
LOCK = "SELECT FROM rememo.tenants WHERE tenant = 'acme' FOR UPDATE"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres() as started:
        yield started


@pytest.fixture
def url(server: EmbeddedPostgres) -> Iterator[str]:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE work")
        yield server.url("work")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE work WITH (FORCE)")


@contextmanager
def row_held(url: str) -> Generator["psycopg.Connection[Any]"]:
    """Hold the row that every write of a tenant takes first, as somebody's forgotten transaction does."""
    with psycopg.connect(url) as connection:
        connection.execute(LOCK)
        yield connection
        connection.rollback()


def wait_until_blocked(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        ends = time.monotonic() + LONG
        while connection.execute(WAITING).fetchall()[0][0] < count:
            assert time.monotonic() < ends


def add(address: str, headers: dict[str, str], tenant: str) -> httpx.Response:
    return httpx.post(
        f"{address}/v1/records", params={"tenant": tenant}, json={"text": "a note"}, headers=headers, timeout=LONG
    )


@pytest.mark.parametrize("with_key", [True, False])
def test_a_held_row_stops_its_tenant_only(url: str, running: Any, with_key: bool):
    with Memory(url, embedder=None, settings=Settings(worker=False, busy_timeout=LONG)) as memory:
        headers = {"Authorization": f"Bearer {ApiKeys(memory).add(tenant='*')[1]}"} if with_key else {}
        with running(memory) as address, ThreadPoolExecutor(8) as clients:
            for tenant in ("acme", "beta"):
                assert add(address, headers, tenant).status_code == 201
            with row_held(url):
                held: list[Future[httpx.Response]] = [clients.submit(add, address, headers, "acme") for _ in range(8)]
                wait_until_blocked(url, 4)
                began = time.monotonic()
                assert add(address, headers, "beta").status_code == 201
                query = {"query": "note"}
                found = httpx.post(f"{address}/v1/search?tenant=beta", json=query, headers=headers, timeout=LONG)
                assert found.json()["items"]
                assert httpx.get(f"{address}/readyz", timeout=LONG).status_code == 200
                assert time.monotonic() - began < LONG / 4
                assert not any(future.done() for future in held)
            assert [future.result().status_code for future in held] == [201] * 8


def test_a_check_needs_no_connection_that_others_have(url: str, running: Any):
    settings = Settings(worker=False, busy_timeout=LONG)
    with (
        Memory(f"{url}&pool_size=2", embedder=None, settings=settings) as memory,
        running(memory) as address,
        ThreadPoolExecutor(4) as clients,
    ):
        assert add(address, {}, "acme").status_code == 201
        with row_held(url):
            held = [clients.submit(add, address, {}, "acme") for _ in range(4)]
            wait_until_blocked(url, 2)
            assert httpx.get(f"{address}/readyz", timeout=LONG / 4).json() == {"status": "ready"}
        assert [future.result().status_code for future in held] == [201] * 4


def test_a_row_that_is_held_too_long_is_a_503(url: str, running: Any):
    settings = Settings(worker=False, busy_timeout=0.3)
    with Memory(url, embedder=None, settings=settings) as memory, running(memory) as address:
        assert add(address, {}, "acme").status_code == 201
        with row_held(url):
            check_is_told(add(address, {}, "acme"), url)


def check_is_told(response: httpx.Response, url: str) -> None:
    """The client is told to come back, and nothing of where the store is."""
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert response.json()["error"]["code"] == "busy"
    assert "the store is held" in response.text
    folder = httpx.URL(url).params["host"]
    for secret in (folder, "postgres", "work", "busy_timeout"):
        assert secret not in response.text


def test_a_server_that_is_down_is_told_at_once_and_its_return_is_noticed(
    server: EmbeddedPostgres, url: str, running: Any
):
    settings = Settings(worker=False, busy_timeout=LONG)
    with Memory(url, embedder=None, settings=settings) as memory, running(memory) as address:
        assert add(address, {}, "acme").status_code == 201
        server.stop("fast")
        try:
            began = time.monotonic()
            for _ in range(5):
                check_is_told(add(address, {}, "acme"), url)
                check_is_told(httpx.get(f"{address}/readyz", timeout=LONG), url)
            assert time.monotonic() - began < LONG / 4
        finally:
            server.start()
        ends = time.monotonic() + LONG
        while add(address, {}, "acme").status_code != 201:
            assert time.monotonic() < ends
        assert httpx.get(f"{address}/readyz", timeout=LONG).status_code == 200


def test_a_write_whose_commit_is_unclear_is_told_to_be(url: str, running: Any, monkeypatch: pytest.MonkeyPatch):
    with Memory(url, embedder=None, settings=Settings(worker=False)) as memory:
        record = memory.add("here")
        execute, cuts = PostgresSession.execute, iter([True])

        def cut_at_commit(self: PostgresSession, statement: str, values: Any = ()) -> Any:
            """Close the line between a commit and its confirmation."""
            done = execute(self, statement, values)
            if statement == "COMMIT" and next(cuts, False):
                self._connection.close()  # pyright: ignore[reportPrivateUsage]
                raise OperationalError("server closed the connection unexpectedly")
            return done

        with running(memory) as address:
            monkeypatch.setattr(PostgresSession, "execute", cut_at_commit)
            response = httpx.delete(f"{address}/v1/records/{record.id}", timeout=LONG)
        assert response.status_code == 500
        assert "Retry-After" not in response.headers
        assert response.json()["error"]["code"] == "commit_unknown"
        assert "may have been done or not" in response.text
        assert "nothing was changed" not in response.text
        assert memory.count() == 0
