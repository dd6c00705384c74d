"""A key-value store whose changes are in the audit trail."""

from datetime import datetime
from typing import Unpack

from rememo.engine.audit import Auditor
from rememo.engine.forwarding_kv import ForwardingKeyValue
from rememo.model.audit import NewAuditEntry
from rememo.store.kv.namespaces import parse_namespace
from rememo.store.kv.protocol import KeyValue, SetOptions


class AuditedKeyValue(ForwardingKeyValue):
    """A key-value store that appends an audit entry with each change; reads have none, and loading many entries has one."""

    def __init__(self, kv: KeyValue, auditor: Auditor) -> None:
        super().__init__(kv)
        self._auditor = auditor

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value and append an audit entry."""
        options["note"] = options.get("note") or self._note("kv.set", tenant, space, key)
        return self._kv.set(tenant, space, key, value, moment, **options)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry and append an audit entry."""
        return self._kv.delete(tenant, space, key, moment, note=note or self._note("kv.delete", tenant, space, key))

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove what a pattern matches and append an audit entry."""
        note = note or self._note("kv.invalidate", tenant, space, pattern)
        return self._kv.invalidate(tenant, space, pattern, moment, note=note)

    def _note(self, operation: str, tenant: str, space: str, key: str) -> NewAuditEntry | None:
        scope, name = parse_namespace(tenant, space)
        if name == "cached":
            return None  # what is held ready of something else is no state of its own
        return self._auditor.note(operation, scope, {"space": name} if name else None, ids=(key,))
