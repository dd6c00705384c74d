"""The audit trail on the server: appended inside the transaction of what it tells of."""

from rememo.model.audit import AuditHead, NewAuditEntry
from rememo.store.audit_chain import AuditRow, empty_head, next_audit_row
from rememo.store.audit_trail import AUDIT_COLUMNS
from rememo.store.postgres.session import PostgresSession

# Takes the head's row: lines of one tenant follow one another.
_TAKE = """INSERT INTO trails AS held (tenant) VALUES (%s)
ON CONFLICT (tenant) DO UPDATE SET audited = held.audited RETURNING audited, hash"""
_APPEND = f"""WITH moved AS (UPDATE trails SET audited = %(number)s, hash = %(hash)s WHERE tenant = %(tenant)s)
INSERT INTO audit (tenant, {AUDIT_COLUMNS}) VALUES (%(tenant)s, %(number)s, %(at)s, %(operation)s, %(detail)s, %(actor)s, %(session)s,
  %(address)s, %(agent)s, %(user)s, %(room)s, %(ids)s, %(flags)s, %(salt)s, %(gone)s, %(hash)s)"""


def append_audit_entry(session: PostgresSession, note: NewAuditEntry) -> None:
    """Append an entry to a tenant's audit trail, as the last thing of a transaction."""
    tenant = note.scope.tenant
    count, last = session.row(_TAKE, (tenant,))
    entry = next_audit_row(note, to_head(tenant, count, last))
    session.execute(_APPEND, {"tenant": tenant, **{name: getattr(entry, name) for name in AuditRow.__slots__}})


def to_head(tenant: str, count: int | None, last: bytes | None) -> AuditHead:
    """Return the head of a trail as it is kept."""
    return AuditHead(count=count, hash=last.hex()) if count and last is not None else empty_head(tenant)
