"""The key store of a store on a server.

Whoever changes the keys of a tenant locks its row in `tenants` first and notes there which one is the newest: those who
write read it from the row they lock anyway, and whoever encrypts with an older key is done before the newer one counts.
"""

from collections.abc import Callable
from typing import ClassVar, TypeVar

from rememo.store.cipher.protocol import ID_KEY
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.tenant_guard import guard_tenants
from rememo.store.sql.key_store import SqlKeyStore

T = TypeVar("T")

_LOCK_ALL = "LOCK TABLE vault IN SHARE ROW EXCLUSIVE MODE"
_MAKE_ROW = "INSERT INTO tenants (tenant) VALUES (%s) ON CONFLICT (tenant) DO NOTHING"
_LOCK_ROW = "SELECT sealed_by FROM tenants WHERE tenant = %s FOR UPDATE"
_NOTE = "UPDATE tenants SET sealed_by = %s, epoch = epoch + %s WHERE tenant = %s"
_DROPPED = -1


@guard_tenants(store_wide=frozenset(("tenants", "create", "replace")))
class PostgresKeyStore(SqlKeyStore[PostgresDatabase]):
    """The `KeyStore` protocol on a schema of a PostgreSQL database."""

    _new_place: ClassVar[str] = "a new schema or database"

    def _write_without_trace(self, run: Callable[[PostgresSession], T], *, repeatable: bool = False) -> T:
        result = self._database.write(run, repeatable=repeatable)
        # The former rows leave the table's pages, as far as nobody sees them any more.
        self._database.alone(lambda session: session.execute("VACUUM vault"))
        return result

    def _lock_all(self, session: PostgresSession) -> None:
        session.execute(_LOCK_ALL)

    def _lock_tenant(self, session: PostgresSession, tenant: str) -> None:
        session.execute(_MAKE_ROW, (tenant,))
        session.execute(_LOCK_ROW, (tenant,))

    def _note_added(self, session: PostgresSession, tenant: str, serial: int) -> None:
        if serial != ID_KEY:
            session.execute(_NOTE, (serial, 0, tenant))

    def _note_dropped(self, session: PostgresSession, tenant: str) -> None:
        session.execute(_NOTE, (_DROPPED, 1, tenant))
