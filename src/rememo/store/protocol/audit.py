"""Protocol of a store: the audit trail."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from rememo.model.audit import AuditHead, NewAuditEntry
from rememo.model.scope import Scope
from rememo.store.audit_chain import AuditRow


class AuditLog(Protocol):
    """The audit trail of each tenant: lines that only ever follow each other, and the head that is kept beside them."""

    def note(self, note: NewAuditEntry) -> None:
        """Append a line in a transaction of its own."""
        ...

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last line, of one moment."""
        ...

    def audit_entries(
        self,
        scope: Scope,
        *,
        start: int = 1,
        end: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        actor: str | None = None,
        operation: str | None = None,
        limit: int,
        newest: bool = False,
    ) -> list[AuditRow]:
        """Return lines within a scope in their order, from number `start` to `end`: the first so many, or the newest."""
        ...

    def decode_audit_ids(self, tenant: str, /, ids: Sequence[str]) -> tuple[str, ...]:
        """Return what the ids of a line stand for: keys that an encrypted store names by their encrypted form, opened if they can be."""
        ...
