"""The audit trail on the server."""

from rememo.model.audit import AuditHead
from rememo.store.postgres.audit_entries import to_head
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.part import PostgresPart
from rememo.store.sql.audit import SqlAudit

_HEAD = """SELECT audited, hash, (SELECT max(number) FROM audit WHERE tenant = %(tenant)s)
FROM (SELECT 1) AS always LEFT JOIN trails ON tenant = %(tenant)s"""


class PostgresAudit(SqlAudit[PostgresDatabase, PostgresCodecs], PostgresPart):
    """The `AuditLog` protocol on the server."""

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last entry, of one moment."""
        count, last, newest = self._database.row(_HEAD, {"tenant": tenant})
        return to_head(tenant, count, last), newest or 0
