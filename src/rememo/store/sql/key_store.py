"""The key store of an SQL store: the wrapped keys of its tenants, and whether it is encrypted at all."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rememo.errors import KeyMismatch
from rememo.store.cipher.protocol import WrappedKey
from rememo.store.sql.part import D
from rememo.store.sql.session import SqlSession

T = TypeVar("T")

_KEYS = "SELECT serial, master, wrapped FROM vault WHERE tenant = ? ORDER BY serial"
_ENCRYPTED = "SELECT EXISTS (SELECT 1 FROM vault)"
_TENANTS = "SELECT DISTINCT tenant FROM vault WHERE tenant <> '' ORDER BY tenant"
_ADD = """INSERT INTO vault (tenant, serial, master, wrapped) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, serial) DO NOTHING"""
_HOLDS = "SELECT EXISTS (SELECT 1 FROM records) OR EXISTS (SELECT 1 FROM kv) OR EXISTS (SELECT 1 FROM jobs)"
_REPLACE = "UPDATE vault SET master = ?, wrapped = ? WHERE tenant = ? AND serial = ? AND length(wrapped) > 0"
_REMOVE = "DELETE FROM vault WHERE tenant = ? AND serial = ?"
_DROP = "UPDATE vault SET wrapped = ? WHERE tenant = ? AND length(wrapped) > 0"
_DROP_JOBS = "DELETE FROM jobs WHERE tenant = ? AND state IN ('waiting', 'running')"


class SqlKeyStore(ABC, Generic[D]):
    """The `KeyStore` protocol."""

    _new_place: ClassVar[str]
    """Where plaintext can be imported to be encrypted, for messages."""

    def __init__(self, database: D) -> None:
        self._database = database

    @abstractmethod
    def _write_without_trace(self, run: Callable[[Any], T], *, repeatable: bool = False) -> T:
        """Run a function inside a transaction; what it removes can be found nowhere afterwards."""

    @abstractmethod
    def _lock_all(self, session: Any) -> None:
        """Keep others from changing the table of keys until the transaction ends."""

    @abstractmethod
    def _lock_tenant(self, session: Any, tenant: str) -> None:
        """Keep others from changing a tenant's keys, and from writing for it, until the transaction ends."""

    @abstractmethod
    def _note_added(self, session: Any, tenant: str, serial: int) -> None:
        """Let writers know that a tenant has a newer key."""

    @abstractmethod
    def _note_dropped(self, session: Any, tenant: str) -> None:
        """Let writers know that a tenant's keys were dropped, and cached scopes start over."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._database.place

    @property
    def encrypted(self) -> bool:
        """Whether the store holds encrypted data only."""
        return bool(self._database.value(_ENCRYPTED))

    def keys(self, tenant: str) -> tuple[WrappedKey, ...]:
        """Return a tenant's keys as committed last, oldest first."""
        return tuple(WrappedKey(*row) for row in self._database.rows(_KEYS, (tenant,)))

    def tenants(self) -> list[str]:
        """Return the tenants that have a key, or had one."""
        return [row[0] for row in self._database.rows(_TENANTS)]

    def create(self, key: WrappedKey) -> tuple[WrappedKey, ...]:
        """Make an empty store an encrypted one and return its own key, which another process may have added first."""

        def run(session: SqlSession) -> tuple[WrappedKey, ...]:
            self._lock_all(session)
            if not session.value(_ENCRYPTED):
                if session.value(_HOLDS):
                    raise KeyMismatch(
                        f"{self.place} holds contents that are not encrypted, but a keyring was given; open it without,"
                        f" export() it, and import_() that into {self._new_place} opened with the keyring"
                    )
                session.execute(_ADD, ("", *key))
            return tuple(WrappedKey(*row) for row in session.rows(_KEYS, ("",)))

        return self._database.write(run, repeatable=True)

    def add(self, tenant: str, key: WrappedKey) -> bool:
        """Add a key of a tenant; False when its serial is taken."""

        def run(session: SqlSession) -> bool:
            self._lock_tenant(session, tenant)
            added = session.changed(_ADD, (tenant, *key)) == 1
            if added:
                self._note_added(session, tenant, key.serial)
            return added

        return self._database.write(run)

    def replace(self, keys: Sequence[tuple[str, WrappedKey]]) -> None:
        """Replace the wrappings of keys with the same serials, all or none; the old ones leave no trace."""

        def run(session: SqlSession) -> None:
            for tenant, key in keys:
                session.execute(_REPLACE, (key.master, key.key, tenant, key.serial))

        self._write_without_trace(run, repeatable=True)

    def remove(self, tenant: str, serial: int) -> None:
        """Remove a key that nothing is encrypted with any more, without a trace."""
        self._write_without_trace(lambda session: session.changed(_REMOVE, (tenant, serial)), repeatable=True)

    def drop(self, tenant: str) -> bool:
        """Remove all keys of a tenant without a trace, and remember that it had some; False when it had none."""

        def run(session: SqlSession) -> bool:
            self._lock_tenant(session, tenant)
            dropped = session.changed(_DROP, (b"", tenant)) > 0
            if dropped:
                # Nobody can do them any more.
                session.execute(_DROP_JOBS, (tenant,))
                self._note_dropped(session, tenant)
            return dropped

        return self._write_without_trace(run)
