"""Migrations: numbered SQL files, append-only, each applied in one transaction with its own record."""

from functools import cache
from importlib.resources import files

from rememo.errors import Corrupt, IncompatibleStore
from rememo.store.migrations import Migration, read_migrations
from rememo.store.sqlite.connection import Connection

APPLICATION_ID = 0x52454D4F  # "REMO", in the header of every Rememo file


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


def migrate(connection: Connection, path: str) -> None:
    """Bring a file up to date; one from a newer Rememo, or made by other steps, is refused untouched."""
    steps = migrations()
    if len(_applied(connection, path, steps)) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _apply(connection, path, steps)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _applied(connection: Connection, path: str, steps: tuple[Migration, ...]) -> set[int]:
    """Return the numbers of the steps that the file has seen."""
    if connection.pragma("application_id") != APPLICATION_ID:
        return set()
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get:
        raise Corrupt(f"{path} has lost its schema; run `rememo repair {path} NEW_FILE` to save what can be read")
    applied: dict[int, str] = dict(connection.execute("SELECT number, hash FROM migrations").fetchall())
    known = {step.number: step for step in steps}
    newest = max(connection.pragma("user_version"), *applied, 0)
    if newest > steps[-1].number:
        raise IncompatibleStore(
            f"{path} was written by a newer Rememo (schema {newest}, this one knows {steps[-1].number}); upgrade rememo"
        )
    for number, recorded in applied.items():
        if number not in known or known[number].hash != recorded:
            raise IncompatibleStore(
                f"{path} was made by a changed migration {number}; use the release it was made with"
            )
    return set(applied)


def _apply(connection: Connection, path: str, steps: tuple[Migration, ...]) -> None:
    # Read again under the lock: another process may have migrated in between.
    applied = _applied(connection, path, steps)
    if not applied:
        connection.pragma("application_id", APPLICATION_ID)
        connection.execute(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL) STRICT"
        )
    for step in steps:
        if step.number not in applied:
            for _ in connection.execute(step.sql):
                pass
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (step.number, step.name, step.hash))
    connection.pragma("user_version", steps[-1].number)
