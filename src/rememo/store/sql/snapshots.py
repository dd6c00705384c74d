"""Snapshots of an SQL store: named states of a tenant."""

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rememo.errors import AlreadyExists
from rememo.model.audit import NewAuditEntry
from rememo.model.times import from_micros, to_micros
from rememo.store.sql.part import C, D, SqlPart
from rememo.store.sql.session import SqlSession

_ADD = "INSERT INTO snapshots (tenant, name, at) VALUES (?, ?, ?) ON CONFLICT (tenant, name) DO NOTHING"
_LIST = "SELECT name, at FROM snapshots WHERE tenant = ? ORDER BY at"


class SqlSnapshots(SqlPart[D, C]):
    """The `SnapshotStore` protocol."""

    @abstractmethod
    def _advance_clock(self, session: Any, tenant: str, moment: datetime) -> int:
        """Return a system time for a change of a tenant that opens no version, and keep that it was given."""

    @abstractmethod
    def _raise_clock(self, session: Any, tenant: str, at: int) -> None:
        """Let no later system time of a tenant be earlier than one that was brought here."""

    def put_snapshot(self, tenant: str, name: str, moment: datetime, note: NewAuditEntry | None = None) -> datetime:
        """Name the present state; returns its system time."""

        def put(session: SqlSession) -> int:
            clock = self._advance_clock(session, tenant, moment)
            if not session.changed(_ADD, (tenant, name, clock)):
                raise AlreadyExists(f"there is a snapshot {name!r} already; choose another name")
            if note is not None:
                self._append_audit_entry(session, note)
            return clock

        return from_micros(self._database.write(put))

    def snapshots(self, tenant: str) -> dict[str, datetime]:
        """Return the named states, oldest first."""
        return {name: from_micros(at) for name, at in self._database.rows(_LIST, (tenant,))}

    def load_snapshots(self, tenant: str, snapshots: Mapping[str, datetime]) -> int:
        """Bring named states back; a name that is taken keeps what it has. Returns how many were new."""

        def load(session: SqlSession) -> int:
            self._raise_clock(session, tenant, max((to_micros(at) for at in snapshots.values()), default=0))
            return sum(session.changed(_ADD, (tenant, name, to_micros(at))) for name, at in snapshots.items())

        return self._database.write(load, repeatable=True)
