"""Migrations: numbered SQL files, append-only, each applied in one transaction with its own record."""

import hashlib
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql

from rememo.errors import IncompatibleStore
from rememo.store.migrations import Migration, read_migrations

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
_RECORDED = "SELECT number, hash FROM migrations"
_TYPES = """SELECT atttypid::bigint, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = 'vectors'::regclass AND attname = 'vector'"""


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all steps in order."""
    return read_migrations(files("rememo.store.postgres").joinpath("migrations"))


def migrate(connection: "psycopg.Connection[Any]", schema: str, place: str) -> None:
    """Bring a schema up to date; one from a newer Rememo, or made by other steps, is refused untouched."""
    steps = migrations()
    if len(_applied(connection, schema, place, steps)) == len(steps):
        return
    # Without the right to add it, or without it on the server, vectors are kept as plain bytes.
    with suppress(psycopg.Error):
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    # What bounds a question does not bound the making of tables and indexes.
    connection.execute("SET statement_timeout = 0")
    for step in steps:
        with connection.transaction():
            # Others who open the same store wait here, and find it done.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock(schema),))
            if step.number in _applied(connection, schema, place, steps):
                continue
            # Asked for first: even IF NOT EXISTS needs a right that the owner of a ready-made schema may not have.
            if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None:
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL)"
            )
            connection.execute(cast("LiteralString", step.sql))
            connection.execute("INSERT INTO migrations VALUES (%s, %s, %s)", (step.number, step.name, step.hash))


def vector_type(connection: "psycopg.Connection[Any]") -> tuple[int, bool]:
    """Return the type of the vectors in this store, and whether it is pgvector's."""
    row = connection.execute(_TYPES).fetchone()
    if row is None:
        raise IncompatibleStore("the table of vectors is gone; restore the store from a backup")
    return row[0], row[1] != "bytea"


def _applied(connection: "psycopg.Connection[Any]", schema: str, place: str, steps: tuple[Migration, ...]) -> set[int]:
    """Return the numbers of the steps that the schema has seen."""
    tables = {row[0] for row in connection.execute(_TABLES, (schema,))}
    if not tables:
        return set()
    if "migrations" not in tables:
        raise IncompatibleStore(
            f"the schema {schema} of {place} has tables of another program; choose another with ?schema=… in the address"
        )
    applied: dict[int, str] = dict(connection.execute(_RECORDED).fetchall())
    known = {step.number: step for step in steps}
    newest = max(applied, default=0)
    if newest > steps[-1].number:
        raise IncompatibleStore(
            f"{place} was written by a newer Rememo (schema {newest}, this one knows {steps[-1].number}); upgrade rememo"
        )
    for number, recorded in applied.items():
        if number not in known or known[number].hash != recorded:
            raise IncompatibleStore(
                f"{place} was made by a changed migration {number}; use the release it was made with"
            )
    return set(applied)


def _lock(schema: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"rememo {schema}".encode(), digest_size=8).digest(), "big", signed=True)
