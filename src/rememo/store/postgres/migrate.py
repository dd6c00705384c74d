"""Migrations of a living server: each step in a transaction with its own record, one process at a time."""

import hashlib
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql

from rememo.errors import IncompatibleStore, StorageError
from rememo.store.migrations import (
    Migration,
    MigrationOptions,
    MigrationPlan,
    Recorded,
    outstanding,
    read_migrations,
    unreleased_store_error,
)
from rememo.store.postgres.citus import distributed_tables, distribution
from rememo.store.postgres.row_level_security import has_row_level_security, policy_statements

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
_RECORDED = sql.SQL("SELECT number, hash, phase FROM {}.migrations")
_RECORD = sql.SQL("INSERT INTO {}.migrations (number, name, hash, phase) VALUES (%s, %s, %s, %s)")
_MAKE = """CREATE TABLE IF NOT EXISTS migrations
(number integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL, phase text NOT NULL)"""
_TYPES = """SELECT atttypid::bigint, CASE WHEN typname <> 'bytea' THEN typnamespace::regnamespace::text END
FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid WHERE attrelid = %s::regclass AND attname = 'vector'"""
# A change of a table waits for those who use it, and all who come after wait behind it: so it waits for a moment only, and
# tries again later.
# What bounds a question does not bound the making of tables and indexes. Policies hold the owner of the tables too, and a step
# works on all tenants. Steps name tables alone. All of it ends with the transaction.
_SETTINGS = """SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', '0', true),
set_config('rememo.tenant', '', true), set_config('rememo.everywhere', 'on', true), set_config('search_path', %s, true)"""
_ALONE = "SELECT set_config('search_path', %s, false), set_config('statement_timeout', '0', false)"
_SHORTLY = "SET LOCAL lock_timeout = '1s'"
_PAUSE = 0.5


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all steps in order."""
    return read_migrations(files("rememo.store.postgres").joinpath("migrations"))


def plan(
    connection: "psycopg.Connection[Any]",
    schema: str,
    place: str,
    wishes: MigrationOptions | None = None,
    *,
    steps: Sequence[Migration] = (),
) -> MigrationPlan:
    """Return what would be done to a schema; one from a newer Rememo, or of another program, is refused."""
    wishes, steps = wishes or MigrationOptions(), steps or migrations()
    now, waiting = outstanding(steps, _recorded(connection, schema, place), place, contract=wishes.contract)
    return MigrationPlan(place=place, steps=now, waiting=waiting)


def migrate(
    connection: "psycopg.Connection[Any]",
    schema: str,
    place: str,
    wishes: MigrationOptions | None = None,
    *,
    wait: float = 30.0,
    pooled: bool = False,
    steps: Sequence[Migration] = (),
) -> MigrationPlan:
    """Bring a schema up to date and return what was done; one that this Rememo does not understand is refused untouched.

    `wait` is how many seconds others may use a table that is to be changed. A connection that a pooler lends for a transaction
    at a time takes no step whose statements run one by one.
    """
    due = plan(connection, schema, place, wishes, steps=steps)
    if not due.steps:
        return due
    # Without the right to add it, or without it on the server, vectors are kept as plain bytes.
    with suppress(psycopg.Error), connection.transaction():
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if pooled and (lonely := next((step for step in due.steps if step.one_by_one), None)) is not None:
        raise StorageError(
            f"the step {lonely.name} cannot be taken through a pooler such as PgBouncer; run `rememo migrate` with the address"
            " of the server itself"
        )
    taken = [step for step in due.steps if _taken(connection, schema, place, step, wait)]
    return MigrationPlan(place=place, steps=tuple(taken), waiting=due.waiting)


def _taken(connection: "psycopg.Connection[Any]", schema: str, place: str, step: Migration, wait: float) -> bool:
    """Take a step; False when somebody else has just done so."""
    if step.one_by_one:
        return _taken_one_by_one(connection, schema, place, step)

    def take() -> bool:
        hold(connection, schema, wait)
        if step.number in _recorded(connection, schema, place):
            return False
        # Asked for first: even IF NOT EXISTS needs a right that the owner of a ready-made schema may not have.
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute(_MAKE)
        connection.execute(cast("LiteralString", step.sql))
        _record(connection, schema, step)
        follow_up(connection, schema)
        return True

    return patiently(connection, take, wait)


def _taken_one_by_one(connection: "psycopg.Connection[Any]", schema: str, place: str, step: Migration) -> bool:
    lock = (_lock(schema),)
    # What is told to the whole connection here ends with it: it is nobody else's, and is closed after a migration.
    connection.execute(_ALONE, (_path(schema),))
    connection.execute("SELECT pg_advisory_lock(%s)", lock)
    try:
        if step.number in _recorded(connection, schema, place):
            return False
        for statement in step.one_by_one:
            connection.execute(cast("LiteralString", statement))
        _record(connection, schema, step)
    finally:
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock(%s)", lock)
    return True


def settle(connection: "psycopg.Connection[Any]", schema: str, wait: float) -> None:
    """Give a transaction what only a migration may have."""
    connection.execute(_SETTINGS, (str(max(1, int(wait * 1000))), _path(schema)))


def hold(connection: "psycopg.Connection[Any]", schema: str, wait: float) -> None:
    """Keep others from migrating until the transaction ends: they wait here, and find it done."""
    settle(connection, schema, wait)
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock(schema),))
    connection.execute(_SHORTLY)


def _record(connection: "psycopg.Connection[Any]", schema: str, step: Migration) -> None:
    connection.execute(_RECORD.format(sql.Identifier(schema)), (step.number, step.name, step.hash, step.phase))


def patiently(connection: "psycopg.Connection[Any]", run: Callable[[], bool], wait: float) -> bool:
    """Run a function in a transaction, again and again for so many seconds where a table is in use."""
    ends = time.monotonic() + wait
    while True:
        try:
            with connection.transaction():
                return run()
        except psycopg.errors.LockNotAvailable:
            if time.monotonic() > ends:
                raise
        time.sleep(_PAUSE * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret


def follow_up(connection: "psycopg.Connection[Any]", schema: str) -> None:
    """Do to tables that a step has made what was done to the others before."""
    if has_row_level_security(connection, schema):
        for statement in policy_statements(connection, schema):
            connection.execute(statement)
    if distributed_tables(connection, schema):
        for statement in distribution(connection, schema):
            connection.execute(statement)


def vector_type(connection: "psycopg.Connection[Any]", schema: str) -> tuple[int, str | None]:
    """Return the type of the vectors in a store, and the schema that pgvector is in; None where they are bytes."""
    row = connection.execute(_TYPES, (f"{schema}.vectors",)).fetchone()
    if row is None:
        raise IncompatibleStore("the table of vectors is gone; restore the store from a backup")
    return row[0], row[1]


def _recorded(connection: "psycopg.Connection[Any]", schema: str, place: str) -> Recorded:
    """Return the steps that the schema has seen."""
    tables = {row[0] for row in connection.execute(_TABLES, (schema,))}
    if not tables:
        return {}
    if "migrations" not in tables:
        raise IncompatibleStore(
            f"the schema {schema} of {place} has tables of another program; choose another with ?schema=… in the address"
        )
    try:
        rows = connection.execute(_RECORDED.format(sql.Identifier(schema)))
        return {number: (hash, phase) for number, hash, phase in rows}
    except psycopg.errors.UndefinedColumn:
        raise unreleased_store_error(place) from None


def _path(schema: str) -> str:
    return f'"{schema}", public'


def _lock(schema: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"rememo {schema}".encode(), digest_size=8).digest(), "big", signed=True)
