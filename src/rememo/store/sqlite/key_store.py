"""The key store of a SQLite file: the wrapped keys of its tenants, and whether it is encrypted at all."""

from collections.abc import Sequence

from rememo.errors import KeyMismatch
from rememo.store.cipher.protocol import WrappedKey
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase

_KEYS = "SELECT serial, master, wrapped FROM vault WHERE tenant = ? ORDER BY serial"
_ADD = "INSERT INTO vault (tenant, serial, master, wrapped) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_HOLDS = "SELECT EXISTS (SELECT 1 FROM records) OR EXISTS (SELECT 1 FROM kv) OR EXISTS (SELECT 1 FROM jobs)"


class SqliteKeyStore:
    """The `Vault` protocol on a SQLite file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._database.path

    @property
    def encrypted(self) -> bool:
        """Whether the file holds encrypted contents only."""
        return bool(self._database.value("SELECT EXISTS (SELECT 1 FROM vault)"))

    def keys(self, tenant: str) -> tuple[WrappedKey, ...]:
        """Return a tenant's keys as committed last, oldest first."""
        return tuple(WrappedKey(*row) for row in self._database.rows(_KEYS, (tenant,)))

    def tenants(self) -> list[str]:
        """Return the tenants that have a key, or had one."""
        rows = self._database.rows("SELECT DISTINCT tenant FROM vault WHERE tenant != '' ORDER BY tenant")
        return [row[0] for row in rows]

    def create(self, key: WrappedKey) -> tuple[WrappedKey, ...]:
        """Make an empty file an encrypted one and return the key of the file itself."""

        def run(connection: Connection) -> tuple[WrappedKey, ...]:
            if not connection.execute("SELECT EXISTS (SELECT 1 FROM vault)").get:
                if connection.execute(_HOLDS).get:
                    raise KeyMismatch(
                        f"{self.place} holds contents that are not encrypted, but a keyring was given; open it without,"
                        " export() it, and import_() that into a new file opened with the keyring"
                    )
                connection.execute(_ADD, ("", key.serial, key.master, key.key))
            return tuple(WrappedKey(*row) for row in connection.execute(_KEYS, ("",)).fetchall())

        return self._database.write(run)

    def add(self, tenant: str, key: WrappedKey) -> bool:
        """Keep another key of a tenant; False when its serial is taken."""

        def run(connection: Connection) -> bool:
            connection.execute(_ADD, (tenant, key.serial, key.master, key.key))
            return connection.changes() == 1

        return self._database.write(run)

    def replace(self, keys: Sequence[tuple[str, WrappedKey]]) -> None:
        """Put other wrappings in the place of those with the same serials, all or none; the old ones leave no trace."""

        def run(connection: Connection) -> None:
            for tenant, key in keys:
                connection.execute(
                    "UPDATE vault SET master = ?, wrapped = ? WHERE tenant = ? AND serial = ? AND wrapped != x''",
                    (key.master, key.key, tenant, key.serial),
                )

        self._database.write_without_trace(run)

    def remove(self, tenant: str, serial: int) -> None:
        """Forget a key that nothing is encrypted with any more, without a trace."""
        self._database.write_without_trace(
            lambda connection: (
                connection.execute("DELETE FROM vault WHERE tenant = ? AND serial = ?", (tenant, serial)).get
            )
        )

    def drop(self, tenant: str) -> bool:
        """Forget all keys of a tenant without a trace, and that it had some; False when it had none."""

        def run(connection: Connection) -> bool:
            connection.execute("UPDATE vault SET wrapped = x'' WHERE tenant = ? AND wrapped != x''", (tenant,))
            dropped = connection.changes() > 0
            # Nobody can do them any more; and views that are held ready must not be used again.
            connection.execute("DELETE FROM jobs WHERE tenant = ? AND state IN ('waiting', 'running')", (tenant,))
            connection.execute(
                "INSERT INTO tenants (tenant, epoch) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET epoch = epoch + 1",
                (tenant,),
            )
            return dropped

        return self._database.write_without_trace(run)
