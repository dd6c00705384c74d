"""Protocol of a store: named states."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from rememo.model.audit import NewAuditEntry


class SnapshotStore(Protocol):
    """Named states of a tenant."""

    def put_snapshot(self, tenant: str, name: str, moment: datetime, note: NewAuditEntry | None = None) -> datetime:
        """Name the present state; returns its system time. A name that is taken raises `AlreadyExists`."""
        ...

    def snapshots(self, tenant: str) -> dict[str, datetime]:
        """Return the named states, oldest first."""
        ...

    def load_snapshots(self, tenant: str, snapshots: Mapping[str, datetime]) -> int:
        """Bring named states back; a name that is taken keeps what it has. Returns how many were new."""
        ...
