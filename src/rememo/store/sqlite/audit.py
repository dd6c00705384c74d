"""The audit trail in the file: appended inside the transaction of what it tells of."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rememo.errors import Corrupt
from rememo.model.audit import AuditHead, NewAuditEntry
from rememo.store.audit_chain import AuditRow, Half, empty_head, next_audit_row
from rememo.store.audit_trail import AUDIT_COLUMNS, REDACTED_COLUMNS, AuditTrail
from rememo.store.cipher.codec import FieldCodec
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.part import SqlitePart

_TEXTS = ("operation", "detail", "actor", "session", "address", "agent", "user", "room", "ids", "flags", "gone")
_AS_BYTES = ", ".join(
    f'CAST("{name}" AS BLOB)' if name in _TEXTS else name for name in AUDIT_COLUMNS.replace('"', "").split(", ")
)
_INSERT = f"INSERT INTO audit (tenant, {AUDIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LINE = f"SELECT {AUDIT_COLUMNS} FROM audit WHERE tenant = ? AND number = ?"
_REDACT = (
    "UPDATE audit SET " + ", ".join(f'"{name}" = ?' for name in REDACTED_COLUMNS) + " WHERE tenant = ? AND number = ?"
)
_HEAD = "SELECT audited, audit_hash FROM tenants WHERE tenant = ?"
_MOVE = "UPDATE tenants SET audited = ?, audit_hash = ? WHERE tenant = ?"
_KEEP = """INSERT INTO tenants (audited, audit_hash, tenant) VALUES (?, ?, ?)
ON CONFLICT (tenant) DO UPDATE SET audited = excluded.audited, audit_hash = excluded.audit_hash"""


def append_audit_entry(connection: Connection, note: NewAuditEntry, head: AuditHead | None = None) -> AuditHead:
    """Add a line behind the last one and return the new head; `head` saves looking where that is."""
    tenant = note.scope.tenant
    one = next_audit_row(note, head or _head(connection, tenant))
    connection.execute(
        _INSERT,
        (
            tenant, one.number, one.at, one.operation, one.detail, one.actor, one.session, one.address, one.agent,
            one.user, one.room, one.ids, one.flags, one.salt, one.gone, one.hash,
        ),
    )  # fmt: skip
    # With a head at hand the row is there, and to change it costs less than to ask.
    connection.execute(_KEEP if head is None else _MOVE, (one.number, one.hash, tenant))
    return AuditHead(count=one.number, hash=one.hash.hex())


def _head(connection: Connection, tenant: str) -> AuditHead:
    row: Any = connection.execute(_HEAD, (tenant,)).get
    return AuditHead(count=row[0], hash=row[1].hex()) if row and row[0] and row[1] is not None else empty_head(tenant)


class SqliteAudit(AuditTrail, SqlitePart):
    """The `Auditing` half of the store."""

    _value_sign: ClassVar[str] = "?"

    def note(self, note: NewAuditEntry) -> None:
        """Append a line in a transaction of its own."""
        self._database.write(lambda connection: append_audit_entry(connection, note))

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last line, of one moment."""
        with self._database.snapshot() as connection:
            last = connection.execute("SELECT max(number) FROM audit WHERE tenant = ?", (tenant,)).get
            return _head(connection, tenant), last or 0

    def _audit_rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._database.rows(sql, values)
        except Corrupt:
            # A text that is no UTF-8 makes the whole page unreadable; as bytes, the line that was altered can be named.
            rows = self._database.rows(sql.replace(AUDIT_COLUMNS, _AS_BYTES, 1), values)
            return [
                tuple(
                    value.decode("utf-8", "surrogateescape") if name in _TEXTS and isinstance(value, bytes) else value
                    for name, value in zip(AuditRow.__slots__, row, strict=True)
                )
                for row in rows
            ]

    def _audit_contents(self, tenant: str) -> FieldCodec | None:
        return self._codecs.readable(tenant)

    def _take_out(self, note: NewAuditEntry, chosen: dict[int, Sequence[Half]]) -> None:
        tenant = note.scope.tenant

        def run(connection: Connection) -> None:
            for number, halves in chosen.items():
                row: Any = connection.execute(_LINE, (tenant, number)).get
                one = AuditRow(*row).without(*halves)
                connection.execute(_REDACT, (*(getattr(one, name) for name in REDACTED_COLUMNS), tenant, number))
            append_audit_entry(connection, note)

        self._database.write(run)
