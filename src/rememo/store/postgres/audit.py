"""The audit trail on the server: appended inside the transaction of what it tells of."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rememo.model.audit import AuditHead, NewAuditEntry
from rememo.store.audit_chain import AuditRow, Half, empty_head, next_audit_row
from rememo.store.audit_trail import AUDIT_COLUMNS, REDACTED_COLUMNS, AuditTrail
from rememo.store.cipher.codec import FieldCodec
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import Session

# Takes the head's row: lines of one tenant follow one another.
_TAKE = """INSERT INTO trails AS held (tenant) VALUES (%s)
ON CONFLICT (tenant) DO UPDATE SET audited = held.audited RETURNING audited, hash"""
_APPEND = f"""WITH moved AS (UPDATE trails SET audited = %(number)s, hash = %(hash)s WHERE tenant = %(tenant)s)
INSERT INTO audit (tenant, {AUDIT_COLUMNS}) VALUES (%(tenant)s, %(number)s, %(at)s, %(operation)s, %(detail)s, %(actor)s, %(session)s,
  %(address)s, %(agent)s, %(user)s, %(room)s, %(ids)s, %(flags)s, %(salt)s, %(gone)s, %(hash)s)"""
_LINES = (
    f"SELECT {AUDIT_COLUMNS} FROM audit WHERE tenant = %s AND number = ANY(%s::bigint[]) ORDER BY number FOR UPDATE"
)
_REDACT = (
    "UPDATE audit SET "
    + ", ".join(f'"{name}" = %({name})s' for name in REDACTED_COLUMNS)
    + " WHERE tenant = %(tenant)s AND number = %(number)s"
)
_HEAD = """SELECT audited, hash, (SELECT max(number) FROM audit WHERE tenant = %(tenant)s)
FROM (SELECT 1) AS always LEFT JOIN trails ON tenant = %(tenant)s"""


def append_audit_entry(session: Session, note: NewAuditEntry) -> None:
    """Add a line behind the last one, as the last thing of a transaction."""
    tenant = note.scope.tenant
    count, last = session.row(_TAKE, (tenant,))
    line = next_audit_row(note, _head(tenant, count, last))
    session.execute(_APPEND, {"tenant": tenant, **{name: getattr(line, name) for name in AuditRow.__slots__}})


def _head(tenant: str, count: int | None, last: bytes | None) -> AuditHead:
    return AuditHead(count=count, hash=last.hex()) if count and last is not None else empty_head(tenant)


class PostgresAudit(AuditTrail, PostgresPart):
    """The `Auditing` half of the store."""

    _value_sign: ClassVar[str] = "%s"

    def note(self, note: NewAuditEntry) -> None:
        """Append a line in a transaction of its own."""
        self._database.write(lambda session: append_audit_entry(session, note))

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last line, of one moment."""
        count, last, newest = self._database.row(_HEAD, {"tenant": tenant})
        return _head(tenant, count, last), newest or 0

    def _audit_rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self._database.rows(sql, values)

    def _audit_contents(self, tenant: str) -> FieldCodec | None:
        return self._codecs.readable(tenant)

    def _take_out(self, note: NewAuditEntry, chosen: dict[int, Sequence[Half]]) -> None:
        tenant = note.scope.tenant

        def run(session: Session) -> None:
            for row in session.rows(_LINES, (tenant, list(chosen))):
                one = AuditRow(*row)
                left = one.without(*chosen[one.number])
                session.execute(
                    _REDACT, {"tenant": tenant, **{name: getattr(left, name) for name in AuditRow.__slots__}}
                )
            append_audit_entry(session, note)

        self._database.write(run, repeatable=True)
