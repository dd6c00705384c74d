"""Migrations of a file: those that are due are applied in one transaction, each with its own record."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from rememo.errors import Corrupt, IncompatibleStore
from rememo.store.migrations import (
    Migration,
    MigrationPlan,
    Recorded,
    newer_store_error,
    outstanding,
    read_migrations,
    required_migration,
    unreleased_store_error,
)
from rememo.store.sqlite.connection import Connection

APPLICATION_ID = 0x52454D4F  # "REMO", in the header of every Rememo file
TABLE = "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, phase TEXT NOT NULL) STRICT"
RECORD = "INSERT INTO migrations (number, name, hash, phase) VALUES (?, ?, ?, ?)"


@cache
def migrations() -> tuple[Migration, ...]:
    """Return all steps in order."""
    return read_migrations(files("rememo.store.sqlite").joinpath("migrations"))


def check_ours(connection: Connection, path: str) -> None:
    """Refuse a file that another program made, before anything in it is changed."""
    # One state for both questions: another process may be making the file right now.
    connection.execute("BEGIN")
    ours = connection.pragma("application_id") == APPLICATION_ID
    empty = not connection.execute("SELECT count(*) FROM sqlite_schema").get
    connection.execute("COMMIT")
    if not ours and not empty:
        raise IncompatibleStore(f"{path} is a database of another program; choose another file")


def plan(
    connection: Connection, path: str, *, contract: bool = False, steps: Sequence[Migration] = ()
) -> MigrationPlan:
    """Return what would be done to a file; one from a newer Rememo, or made by other steps, is refused."""
    steps = steps or migrations()
    now, waiting = outstanding(steps, _recorded(connection, path, steps), path, contract=contract)
    return MigrationPlan(place=path, steps=now, waiting=waiting)


def migrate(
    connection: Connection, path: str, *, contract: bool = False, steps: Sequence[Migration] = ()
) -> MigrationPlan:
    """Bring a file up to date and return what was done; one that this Rememo does not understand is refused untouched."""
    due = plan(connection, path, contract=contract, steps=steps)
    if not due.steps:
        return due
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again under the lock: another process may have migrated in between.
        due = plan(connection, path, contract=contract, steps=steps)
        _apply(connection, due.steps)
        if due.steps:
            connection.pragma("user_version", required_migration(_recorded(connection, path, steps or migrations())))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return due


def _recorded(connection: Connection, path: str, steps: Sequence[Migration]) -> Recorded:
    """Return the steps that the file has seen."""
    if connection.pragma("application_id") != APPLICATION_ID:
        return {}
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get:
        raise Corrupt(f"{path} has lost its schema; run `rememo repair {path} NEW_FILE` to save what can be read")
    if connection.pragma("user_version") > steps[-1].number:
        raise newer_store_error(connection.pragma("user_version"), steps, path)
    if not connection.execute("SELECT count(*) FROM pragma_table_info('migrations') WHERE name = 'phase'").get:
        raise unreleased_store_error(path)
    return {
        number: (hash, phase)
        for number, hash, phase in connection.execute("SELECT number, hash, phase FROM migrations")
    }


def _apply(connection: Connection, steps: Sequence[Migration]) -> None:
    if connection.pragma("application_id") != APPLICATION_ID:
        connection.pragma("application_id", APPLICATION_ID)
        connection.execute(TABLE)
    for step in steps:
        for _ in connection.execute(step.sql):
            pass
        connection.execute(RECORD, (step.number, step.name, step.hash, step.phase))
