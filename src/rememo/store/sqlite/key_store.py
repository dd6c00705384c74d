"""The key store of a SQLite file."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from rememo.store.sql.key_store import SqlKeyStore
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.filter_sql import DIALECT

T = TypeVar("T")


class SqliteKeyStore(SqlKeyStore[SqliteDatabase]):
    """The `KeyStore` protocol on a SQLite file, whose one writer needs no locks."""

    _new_place: ClassVar[str] = "a new file"

    def _write_without_trace(self, run: Callable[[Connection], T], *, repeatable: bool = False) -> T:  # noqa: ARG002 - as for every write
        return self._database.write_without_trace(run)

    def _lock_all(self, session: Connection) -> None:
        pass

    def _lock_tenant(self, session: Connection, tenant: str) -> None:
        pass

    def _note_added(self, session: Connection, tenant: str, serial: int) -> None:
        pass

    def _note_dropped(self, session: Connection, tenant: str) -> None:
        session.execute(DIALECT.bump_epoch, (tenant,))
