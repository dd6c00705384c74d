"""The key store of a store on a server: the wrapped keys of its tenants, and whether it is encrypted at all.

Whoever changes the keys of a tenant takes its row in `tenants` first and notes there which one is the newest: those who
write read it from the row they take anyway, and whoever encrypts by an older key is done before the newer one counts.
"""

from collections.abc import Sequence

from rememo.errors import KeyMismatch
from rememo.store.cipher.protocol import ID_KEY, WrappedKey
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.session import Session
from rememo.store.postgres.tenant_guard import guard_tenants

_KEYS = "SELECT serial, master, wrapped FROM vault WHERE tenant = %s ORDER BY serial"
_SEALED = "SELECT EXISTS (SELECT 1 FROM vault WHERE tenant = '')"
_TENANTS = "SELECT DISTINCT tenant FROM vault WHERE tenant <> '' ORDER BY tenant"
_ADD = """INSERT INTO vault (tenant, serial, master, wrapped) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant, serial) DO NOTHING"""
_HOLDS = """SELECT EXISTS (SELECT 1 FROM records) OR EXISTS (SELECT 1 FROM kv) OR EXISTS (SELECT 1 FROM jobs)"""
_ALONE = "LOCK TABLE vault IN SHARE ROW EXCLUSIVE MODE"
_MAKE_ROW = "INSERT INTO tenants (tenant) VALUES (%s) ON CONFLICT (tenant) DO NOTHING"
_TAKE_ROW = "SELECT sealed_by FROM tenants WHERE tenant = %s FOR UPDATE"
_TURN = "UPDATE tenants SET sealed_by = %s, epoch = epoch + %s WHERE tenant = %s"
_REPLACE = "UPDATE vault SET master = %s, wrapped = %s WHERE tenant = %s AND serial = %s AND wrapped <> ''"
_REMOVE = "DELETE FROM vault WHERE tenant = %s AND serial = %s"
_DROP = "UPDATE vault SET wrapped = '' WHERE tenant = %s AND wrapped <> ''"
_DROP_JOBS = "DELETE FROM jobs WHERE tenant = %s AND state IN ('waiting', 'running')"
_DROPPED = -1


@guard_tenants(store_wide=frozenset(("tenants", "create", "replace")))
class PostgresKeyStore:
    """The `Vault` protocol on a schema of a PostgreSQL database."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._database.place

    @property
    def encrypted(self) -> bool:
        """Whether the store holds encrypted contents only."""
        return self._database.value(_SEALED)

    def keys(self, tenant: str) -> tuple[WrappedKey, ...]:
        """Return a tenant's keys as committed last, oldest first."""
        return tuple(WrappedKey(*row) for row in self._database.rows(_KEYS, (tenant,)))

    def tenants(self) -> list[str]:
        """Return the tenants that have a key, or had one."""
        return [row[0] for row in self._database.rows(_TENANTS)]

    def create(self, key: WrappedKey) -> tuple[WrappedKey, ...]:
        """Make an empty store an encrypted one and return the key of the store itself."""

        def run(session: Session) -> tuple[WrappedKey, ...]:
            session.execute(_ALONE)
            if not session.value(_SEALED):
                if session.value(_HOLDS):
                    raise KeyMismatch(
                        f"{self.place} holds contents that are not encrypted, but a keyring was given; open it without,"
                        " export() it, and import_() that into a new schema or database opened with the keyring"
                    )
                session.execute(_ADD, ("", *key))
            return tuple(WrappedKey(*row) for row in session.rows(_KEYS, ("",)))

        return self._database.write(run, repeatable=True)

    def add(self, tenant: str, key: WrappedKey) -> bool:
        """Keep another key of a tenant; False when its serial is taken."""

        def run(session: Session) -> bool:
            _lock_tenant(session, tenant)
            added = session.changed(_ADD, (tenant, *key)) == 1
            if added and key.serial != ID_KEY:
                session.execute(_TURN, (key.serial, 0, tenant))
            return added

        return self._database.write(run)

    def replace(self, keys: Sequence[tuple[str, WrappedKey]]) -> None:
        """Put other wrappings in the place of those with the same serials, all or none; no row keeps the old ones."""

        def run(session: Session) -> None:
            for tenant, key in keys:
                session.execute(_REPLACE, (key.master, key.key, tenant, key.serial))

        self._database.write(run, repeatable=True)
        self._clean()

    def remove(self, tenant: str, serial: int) -> None:
        """Forget a key that nothing is encrypted with any more; no row keeps it."""
        self._database.write(lambda session: session.execute(_REMOVE, (tenant, serial)), repeatable=True)
        self._clean()

    def drop(self, tenant: str) -> bool:
        """Forget all keys of a tenant, and that it had some; False when it had none. No row keeps them."""

        def run(session: Session) -> bool:
            _lock_tenant(session, tenant)
            dropped = session.changed(_DROP, (tenant,)) > 0
            if dropped:
                # Nobody can do them any more; and views that are held ready must not be used again.
                session.execute(_DROP_JOBS, (tenant,))
                session.execute(_TURN, (_DROPPED, 1, tenant))
            return dropped

        dropped = self._database.write(run)
        self._clean()
        return dropped

    def _clean(self) -> None:
        """Take the former rows out of the table's pages, as far as nobody sees them any more."""
        self._database.alone(lambda session: session.execute("VACUUM vault"))


def _lock_tenant(session: Session, tenant: str) -> None:
    session.execute(_MAKE_ROW, (tenant,))
    session.execute(_TAKE_ROW, (tenant,))
