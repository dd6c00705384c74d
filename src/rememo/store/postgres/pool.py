"""The pool of connections of one process to a server: how long a caller waits for one, and what it is told when there is none."""

import os
import select
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from rememo.store.patience import REQUEST_SECONDS, is_check, is_program
from rememo.store.postgres.address import PostgresAddress

_AWAY_SECONDS: Final = 1.0
"""How long requests are told that a server is away without trying it again."""

# Connections of a parent process: closing them here would end its sessions, so they are kept and never used.
_inherited: list[object] = []


class PostgresPool:
    """Lends connections. Thread-safe; a forked child opens its own. `close` is final."""

    def __init__(
        self,
        address: PostgresAddress,
        *,
        connect: Callable[[], "psycopg.Connection[Any]"],
        configure: Callable[["psycopg.Connection[Any]"], None],
        arguments: Mapping[str, Any],
        busy_timeout: float,
    ) -> None:
        self._address = address
        self._connect = connect
        self._configure = configure
        self._arguments = arguments
        self._busy_timeout = busy_timeout
        self._closed = False
        self._start_over()

    def _start_over(self) -> None:
        """Begin without a connection: at the beginning, and in the child of a fork."""
        self._process = os.getpid()
        self._pool = self._make_pool()
        self._counting = threading.Lock()
        self._in_use = 0
        self._away: tuple[float, str] = 0.0, ""
        self._checking = threading.RLock()
        self._check_line: psycopg.Connection[Any] | None = None

    def _make_pool(self) -> "ConnectionPool[psycopg.Connection[Any]]":
        return ConnectionPool(
            self._address.conninfo,
            kwargs=dict(self._arguments),
            configure=self._configure,
            min_size=0,
            max_size=self._address.pool_size,
            timeout=self._busy_timeout,
            reconnect_timeout=self._busy_timeout,
            num_workers=1,
            name="rememo",
            open=True,
        )

    @contextmanager
    def lend(self) -> Generator["psycopg.Connection[Any]"]:
        """Lend a connection for the block; what was begun on it and not ended is undone."""
        if self._process != os.getpid():
            _inherited.append((self._pool, self._check_line))
            self._start_over()
        if is_check():
            with self._checking:
                if self._check_line is None or _cut(self._check_line):
                    self._check_line = self._connect()
                with _ended(self._check_line):
                    yield self._check_line
            return
        pool = self._pool
        connection = self._take(pool)
        while _cut(connection):
            # A restarted server has ended all of them, not this one alone.
            _give_back(pool, connection)
            pool.check()
            connection = self._take(pool)
        self._count(1)
        try:
            with _ended(connection):
                yield connection
        finally:
            self._count(-1)
            _give_back(pool, connection)

    def _count(self, more: int) -> None:
        with self._counting:
            self._in_use += more

    def _take(self, pool: "ConnectionPool[psycopg.Connection[Any]]") -> "psycopg.Connection[Any]":
        wait = self._busy_timeout if is_program() else min(REQUEST_SECONDS, self._busy_timeout)
        (until, reason), now = self._away, time.monotonic()
        if now < until and not is_program():
            raise psycopg.OperationalError(reason)
        ends = now + self._busy_timeout
        try:
            return pool.getconn(wait)
        except PoolTimeout:
            if self._closed:
                raise
            if self._in_use >= self._address.pool_size:
                return pool.getconn(max(0.0, ends - time.monotonic()))
        # Not all are lent: then the pool cannot make one, and may wait long before it tries again. A direct try tells why,
        # or is the first of a server that has come back.
        try:
            return self._connect()
        except psycopg.OperationalError as error:
            self._away = time.monotonic() + _AWAY_SECONDS, str(error)
            raise

    def check(self) -> None:
        """Replace what the server has ended."""
        self._pool.check()

    def close(self) -> None:
        """Let go of all connections."""
        self._closed = True
        if self._process != os.getpid():
            _inherited.append((self._pool, self._check_line))
            return
        self._pool.close()
        with self._checking:
            if self._check_line is not None:
                self._check_line.close()


def _give_back(pool: "ConnectionPool[psycopg.Connection[Any]]", connection: "psycopg.Connection[Any]") -> None:
    """Return a connection to its pool; one that was made beside it is closed."""
    try:
        pool.putconn(connection)
    except ValueError:
        connection.close()


def _cut(connection: "psycopg.Connection[Any]") -> bool:
    """Whether the server has ended an idle connection: then nothing is sent on it, for nobody could tell whether it was done."""
    try:
        for _ in range(3):
            if connection.closed or not _speaks(connection.fileno()):
                break
            connection.pgconn.consume_input()
    except psycopg.Error:
        connection.close()
    return connection.closed


def _speaks(line: int) -> bool:
    """Whether the other side has said something, or has hung up."""
    if not hasattr(select, "poll"):
        return bool(select.select([line], [], [], 0)[0])
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(0))


@contextmanager
def _ended(connection: "psycopg.Connection[Any]") -> Generator[None]:
    """Undo at the end what was begun; a connection that cannot even do that is thrown away by the pool."""
    try:
        yield
    finally:
        if connection.pgconn.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.rollback()
