"""The audit trail in the file."""

from collections.abc import Sequence
from typing import Any

from rememo.errors import Corrupt
from rememo.model.audit import AuditHead
from rememo.store.audit_chain import AuditRow
from rememo.store.audit_trail import AUDIT_COLUMNS
from rememo.store.sql.audit import SqlAudit
from rememo.store.sqlite.audit_entries import read_head
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.part import SqlitePart

_TEXTS = ("operation", "detail", "actor", "session", "address", "agent", "user", "room", "ids", "flags", "gone")
_AS_BYTES = ", ".join(
    f'CAST("{name}" AS BLOB)' if name in _TEXTS else name for name in AUDIT_COLUMNS.replace('"', "").split(", ")
)


class SqliteAudit(SqlAudit[SqliteDatabase, SqliteCodecs], SqlitePart):
    """The `AuditLog` protocol on the file."""

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last entry, of one moment."""
        with self._database.snapshot() as connection:
            last = connection.value("SELECT max(number) FROM audit WHERE tenant = ?", (tenant,))
            return read_head(connection, tenant), last or 0

    def _audit_rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._database.rows(sql, values)
        except Corrupt:
            # A text that is no UTF-8 makes the whole page unreadable; as bytes, the entry that was altered can be named.
            rows = self._database.rows(sql.replace(AUDIT_COLUMNS, _AS_BYTES, 1), values)
            return [
                tuple(
                    value.decode("utf-8", "surrogateescape") if name in _TEXTS and isinstance(value, bytes) else value
                    for name, value in zip(AuditRow.__slots__, row, strict=True)
                )
                for row in rows
            ]
