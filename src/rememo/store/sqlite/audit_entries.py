"""The audit trail in the file: appended inside the transaction of what it tells of."""

from typing import Any

from rememo.model.audit import AuditHead, NewAuditEntry
from rememo.store.audit_chain import empty_head, next_audit_row
from rememo.store.audit_trail import AUDIT_COLUMNS
from rememo.store.sqlite.connection import Connection

_INSERT = f"INSERT INTO audit (tenant, {AUDIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_HEAD = "SELECT audited, audit_hash FROM tenants WHERE tenant = ?"
_MOVE = "UPDATE tenants SET audited = ?, audit_hash = ? WHERE tenant = ?"
_KEEP = """INSERT INTO tenants (audited, audit_hash, tenant) VALUES (?, ?, ?)
ON CONFLICT (tenant) DO UPDATE SET audited = excluded.audited, audit_hash = excluded.audit_hash"""


def append_audit_entry(connection: Connection, note: NewAuditEntry, head: AuditHead | None = None) -> AuditHead:
    """Append an entry to a tenant's audit trail and return the new head; `head` saves looking where that is."""
    tenant = note.scope.tenant
    entry = next_audit_row(note, head or read_head(connection, tenant))
    connection.execute(
        _INSERT,
        (
            tenant, entry.number, entry.at, entry.operation, entry.detail, entry.actor, entry.session, entry.address, entry.agent,
            entry.user, entry.room, entry.ids, entry.flags, entry.salt, entry.gone, entry.hash,
        ),
    )  # fmt: skip
    # With a head at hand the row is there, and to change it costs less than to ask.
    connection.execute(_KEEP if head is None else _MOVE, (entry.number, entry.hash, tenant))
    return AuditHead(count=entry.number, hash=entry.hash.hex())


def read_head(connection: Connection, tenant: str) -> AuditHead:
    """Return the head that is kept of a tenant's trail."""
    row: Any = connection.execute(_HEAD, (tenant,)).get
    return AuditHead(count=row[0], hash=row[1].hex()) if row and row[0] and row[1] is not None else empty_head(tenant)
