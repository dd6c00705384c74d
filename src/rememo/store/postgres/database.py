"""The connections of one process to a store on a PostgreSQL server.

Every connection commits by itself unless told to begin, so that a single statement is one way there and back.
"""

import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg_pool import PoolTimeout

from rememo.errors import Closed, CommitUnknown
from rememo.store.postgres.address import PostgresAddress
from rememo.store.postgres.citus import distributed_tables
from rememo.store.postgres.connector import SETTINGS, Connector
from rememo.store.postgres.errors import CLOSED, starting, translate
from rememo.store.postgres.migrate import migrate, vector_type
from rememo.store.postgres.pool import PostgresPool
from rememo.store.postgres.row_level_security import (
    TENANT_SETTING,
    has_row_level_security,
    leakproof_state,
    tenant_settings,
)
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.types import adapters
from rememo.store.sql.session import Values

T = TypeVar("T")

_TRIES = 4
_FIRST_PAUSE = 0.05
_ROLLED_BACK = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
_PARTITION = """SELECT part FROM generate_series(0, 15) AS part
WHERE satisfies_hash_partition(%s::regclass, 16, part, %s::text)"""
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
# A receipt promises that the write is on the disk, whatever the server's default is.
_DURABLE = "set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), {})"
_MOST_TENANTS = 100_000


class PostgresDatabase:
    """The pool of connections to one store. Thread-safe; a forked child opens its own. `close` is final."""

    def __init__(self, address: PostgresAddress, *, durability: str, busy_timeout: float) -> None:
        self.place = address.shown
        self.schema = address.schema
        self._address = address
        self._busy_timeout = max(busy_timeout, 0.001)
        settings = {**SETTINGS, "lock_timeout": str(max(1, int(busy_timeout * 1000)))}
        if durability == "fast":
            settings["synchronous_commit"] = "off"
        self._connector = Connector(address, settings)
        self._durable = durability != "fast"
        self._closed = False
        self._partitions: dict[str, str] = {}
        self.pgvector_schema: str | None = None
        """The schema that pgvector's types and operators are in."""
        self.row_level_security = False
        """Whether the server itself keeps tenants apart: then each transaction must say whose it is."""
        self.index_hidden = False
        """Whether policies keep the index of words from being used."""
        self.distributed = False
        """Whether the tables are spread over a cluster: then rows are locked by statements that name one tenant."""
        self._prepare_store()
        self._pool = PostgresPool(
            address,
            connect=self._connect,
            configure=self._configure,
            arguments=self._connector.arguments,
            busy_timeout=self._busy_timeout,
        )

    # ---- connections

    @property
    def has_pgvector(self) -> bool:
        """Whether vectors are kept in pgvector's type."""
        return self.pgvector_schema is not None

    @property
    def pooled(self) -> bool:
        """Whether a pooler lends connections for a transaction at a time: then nothing can be listened to."""
        return self._connector.pooled

    def _configure(self, connection: "psycopg.Connection[Any]") -> None:
        if self._durable and not self.pooled:
            connection.execute(f"SELECT {_DURABLE.format('false')} WHERE current_setting('synchronous_commit') = 'off'")

    def _connect(self) -> "psycopg.Connection[Any]":
        connection = self._connector.connect()
        self._configure(connection)
        return connection

    def _prepare_store(self) -> None:
        with self._seam(), self._first() as connection:
            migrate(connection, self.schema, self.place, wait=self._busy_timeout, pooled=self.pooled)
            oid, self.pgvector_schema = vector_type(connection, self.schema)
            self.row_level_security = has_row_level_security(connection, self.schema)
            self.index_hidden = self.row_level_security and leakproof_state(connection)[0]
            self.distributed = bool(distributed_tables(connection, self.schema))
        self.vector_type = oid
        self._connector.adapters = adapters(oid)

    def _first(self) -> "psycopg.Connection[Any]":
        """Return a connection; a server that is just starting is waited for."""
        ends, pause = time.monotonic() + self._busy_timeout, _FIRST_PAUSE
        while True:
            try:
                return self._connector.first()
            except psycopg.OperationalError as error:
                if not starting(error) or time.monotonic() > ends:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

    @contextmanager
    def line(self) -> Generator["psycopg.Connection[Any]"]:
        """Open a connection beside the pool, for what takes long and must not be lent to others."""
        self.need_open()
        with self._seam(), self._connect() as connection:
            yield connection

    @contextmanager
    def _lend(self) -> Generator["psycopg.Connection[Any]"]:
        self.need_open()
        with self._pool.lend() as connection:
            yield connection

    @contextmanager
    def _seam(self) -> Generator[None]:
        try:
            yield
        except (psycopg.Error, PoolTimeout) as error:
            raise translate(error, self.place) from error

    def _again(self, run: Callable[["psycopg.Connection[Any]"], T]) -> T:
        """Run what changes nothing unless it returns; what the server undid, or went away from, is tried again a few times."""
        pause = _FIRST_PAUSE
        for left in reversed(range(_TRIES)):
            connection: psycopg.Connection[Any] | None = None
            try:
                with self._lend() as connection:
                    return run(connection)
            except psycopg.errors.UndefinedObject as error:
                # Walls were put up since this was opened.
                if self.row_level_security or TENANT_SETTING not in str(error):
                    raise
                self.row_level_security = True
            except psycopg.OperationalError as error:
                undone = isinstance(error, _ROLLED_BACK)
                if not left or connection is None or not (undone or connection.closed):
                    raise
                if not undone:
                    self._pool.check()
                # Those who got in each other's way must not meet again.
                time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
                pause *= 4
        raise AssertionError  # the last try returns or raises

    # ---- statements

    def _session(self, connection: "psycopg.Connection[Any]") -> PostgresSession:
        return PostgresSession(connection, self.schema, row_level_security=self.row_level_security)

    def _settings(self) -> tuple[str, Sequence[str]] | None:
        """Return the statement that tells a transaction what it needs to know, if that is anything."""
        settings = self._connector.transaction_settings
        if self.row_level_security:
            settings |= tenant_settings()
        if not settings:
            return None
        calls = ["set_config(%s, %s, true)"] * len(settings)
        if self.pooled and self._durable:
            calls.append(_DURABLE.format("true"))
        return f"SELECT {', '.join(calls)}", [text for setting in settings.items() for text in setting]

    def _one(self, connection: "psycopg.Connection[Any]", sql: str, values: Values) -> "psycopg.Cursor[Any]":
        """Run one statement as a transaction of its own, within what may be reached."""
        session, settings = self._session(connection), self._settings()
        if settings is None:
            return session.execute(sql, values)
        # In one way there and back: what is between two ends of a pipeline is one transaction.
        with connection.pipeline():
            session.execute(*settings)
            return session.execute(sql, values)

    def _begin(self, connection: "psycopg.Connection[Any]", sql: str) -> PostgresSession:
        """Begin a transaction, within what may be reached."""
        session, settings = self._session(connection), self._settings()
        if settings is None:
            session.execute(sql)
        else:
            with connection.pipeline():
                session.execute(sql)
                session.execute(*settings)
        return session

    # ---- reads

    def partition(self, tenant: str) -> str:
        """Return the ending of the tables that hold a tenant, for statements that must not go through all of them."""
        if tenant not in self._partitions:
            if len(self._partitions) >= _MOST_TENANTS:
                self._partitions.clear()
            self._partitions[tenant] = f"{self.value(_PARTITION, (f'{self.schema}.words', tenant)):02}"
        return self._partitions[tenant]

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Return all rows of one query."""
        with self._seam():
            return self._again(lambda connection: self._one(connection, sql, values).fetchall())

    def row(self, sql: str, values: Values = ()) -> Any:
        """Return the first row of one query, or None."""
        with self._seam():
            return self._again(lambda connection: self._one(connection, sql, values).fetchone())

    def value(self, sql: str, values: Values = ()) -> Any:
        """Return the first value of one query, or None."""
        row = self.row(sql, values)
        return None if row is None else row[0]

    @contextmanager
    def snapshot(self) -> Generator[PostgresSession]:
        """Lend a connection in one consistent state for several reads."""
        with self._seam(), self._lend() as connection:
            session = self._begin(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield session
            session.execute("COMMIT")

    # ---- writes

    def write(
        self,
        run: Callable[[PostgresSession], T],
        *,
        repeatable: bool = False,
        done: Callable[[PostgresSession], T | None] | None = None,
        lost: bool = False,
    ) -> T:
        """Run a function inside a transaction; when it returns, its changes are durable.

        It may be run again when the server undid it, or went away before the commit. When it went away in the middle of
        the commit, one whose second run does no harm is run again if it is `repeatable`; else `done` looks whether that
        commit is there and returns what it did, and it is run again if not; else that raises. With `lost`, `done` looks first.
        """
        unsure = lost

        def begin(connection: "psycopg.Connection[Any]") -> T:
            nonlocal unsure
            session = self._begin(connection, _BEGIN)
            result = None
            if unsure and done is not None:
                result, unsure = done(session), False
            if result is None:
                result = run(session)
            try:
                session.execute("COMMIT")
            except psycopg.OperationalError as error:
                if connection.closed and not repeatable and done is None:
                    raise self._unknown() from error
                unsure = unsure or connection.closed
                raise
            return result

        with self._seam():
            try:
                return self._again(begin)
            except (psycopg.OperationalError, PoolTimeout) as error:
                if unsure:
                    raise self._unknown() from error
                raise

    def alone(self, run: Callable[[PostgresSession], T]) -> T:
        """Run a function whose statements must not be inside a transaction, such as `VACUUM`."""
        with self._seam(), self._lend() as connection:
            return run(self._session(connection))

    def write_at_once(self, sql: str, values: Values = ()) -> Any:
        """Run one statement as a transaction of its own; returns its first row. It is never run a second time."""

        def run(connection: "psycopg.Connection[Any]") -> Any:
            try:
                return self._one(connection, sql, values).fetchone()
            except psycopg.OperationalError as error:
                if connection.closed:
                    raise self._unknown() from error
                raise

        with self._seam():
            return self._again(run)

    def _unknown(self) -> CommitUnknown:
        return CommitUnknown(
            f"the connection to {self.place} was lost while a write was committed: it may have been done or not;"
            " look for it, or give such writes a key and repeat them"
        )

    # ---- closing

    def need_open(self) -> None:
        """Raise `Closed` after `close`."""
        if self._closed:
            raise Closed(CLOSED)

    def close(self) -> None:
        """Let go of all connections; closing twice is harmless."""
        if not self._closed:
            self._closed = True
            self._pool.close()
