"""`rememo migrate` on a file: the steps that are due."""

from pathlib import Path

from rememo.store.migrations import MigrationPlan
from rememo.store.sqlite.connection import MEMORY, connect
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.errors import translate
from rememo.store.sqlite.migrate import check_ours, plan


def upgrade_file(path: str, *, contract: bool, dry: bool, busy_timeout: float) -> MigrationPlan:
    """Do to a file what is due, or only tell it; returns what was done."""
    if not dry:
        database = SqliteDatabase(path, durability="full", busy_timeout=busy_timeout, contract=contract)
        try:
            return database.migrated or MigrationPlan(place=path)
        finally:
            database.close()
    try:
        # Of a file that is not there yet, nothing is made to tell what it would become.
        connection = connect(path if Path(path).exists() else MEMORY)
        try:
            connection.pragma("busy_timeout", int(busy_timeout * 1000))
            check_ours(connection, path)
            return plan(connection, path, contract=contract)
        finally:
            connection.close()
    except Exception as error:
        raise translate(error, path) from error
