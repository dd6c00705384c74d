"""Migrations: numbered SQL files, append-only, each applied in one transaction with its own record."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from rememo.errors import IncompatibleStore
from rememo.store.sqlite.connection import Connection

APPLICATION_ID = 0x52454D4F  # "REMO", in the header of every Rememo file


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def hash(self) -> str:
        """What tells whether the step was changed after it was applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return all steps in order."""
    found = [one for one in files("rememo.store.sqlite").joinpath("migrations").iterdir() if one.name.endswith(".sql")]
    steps = [Migration(int(one.name[:4]), one.name.removesuffix(".sql"), one.read_text("utf-8")) for one in found]
    return sorted(steps, key=lambda step: step.number)


def check_ours(connection: Connection, path: str) -> None:
    """Refuse a file that another program made, before anything in it is changed."""
    if connection.pragma("application_id") == APPLICATION_ID:
        return
    if connection.execute("SELECT count(*) FROM sqlite_schema").get:
        raise IncompatibleStore(f"{path} is a database of another program; choose another file")


def migrate(connection: Connection, path: str) -> None:
    """Bring a file up to date; one from a newer Rememo is refused untouched."""
    steps = migrations()
    if connection.pragma("user_version") == steps[-1].number:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _apply(connection, path, steps)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _apply(connection: Connection, path: str, steps: list[Migration]) -> None:
    # Read again under the lock: another process may have migrated in between.
    applied: dict[int, str] = {}
    if connection.pragma("application_id") == APPLICATION_ID:
        applied = dict(connection.execute("SELECT number, hash FROM migrations").fetchall())
    else:
        check_ours(connection, path)
        connection.pragma("application_id", APPLICATION_ID)
        connection.execute(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL) STRICT"
        )
    known = {step.number: step for step in steps}
    for number, recorded in applied.items():
        if number not in known:
            raise IncompatibleStore(
                f"{path} was written by a newer Rememo (schema {number}, this one knows {steps[-1].number}); upgrade rememo"
            )
        if known[number].hash != recorded:
            raise IncompatibleStore(
                f"{path} was made by a changed migration {known[number].name}; use the release it was made with"
            )
    for step in steps:
        if step.number not in applied:
            for _ in connection.execute(step.sql):
                pass
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (step.number, step.name, step.hash))
    connection.pragma("user_version", steps[-1].number)
