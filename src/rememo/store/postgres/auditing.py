"""The audit trail on the server: appended inside the transaction of what it tells of."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rememo.model.audit import AuditHead, Note
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.chain import Link, forge, no_lines
from rememo.store.postgres.part import Part
from rememo.store.postgres.session import Session

_COLUMNS = 'number, at, operation, detail, actor, session, address, agent, "user", room, ids, flags, salt, gone, hash'
# Takes the head's row: lines of one tenant follow one another.
_TAKE = """INSERT INTO trails AS held (tenant) VALUES (%s)
ON CONFLICT (tenant) DO UPDATE SET audited = held.audited RETURNING audited, hash"""
_APPEND = f"""WITH moved AS (UPDATE trails SET audited = %(number)s, hash = %(hash)s WHERE tenant = %(tenant)s)
INSERT INTO audit (tenant, {_COLUMNS}) VALUES (%(tenant)s, %(number)s, %(at)s, %(operation)s, %(detail)s, %(actor)s, %(session)s,
  %(address)s, %(agent)s, %(user)s, %(room)s, %(ids)s, %(flags)s, %(salt)s, %(gone)s, %(hash)s)"""
_HEAD = """SELECT audited, hash, (SELECT max(number) FROM audit WHERE tenant = %(tenant)s)
FROM (SELECT 1) AS always LEFT JOIN trails ON tenant = %(tenant)s"""


def append(session: Session, note: Note) -> None:
    """Add a line behind the last one, as the last thing of a transaction."""
    tenant = note.scope.tenant
    count, last = session.row(_TAKE, (tenant,))
    line = forge(note, _head(tenant, count, last))
    session.execute(_APPEND, {"tenant": tenant, **{name: getattr(line, name) for name in Link.__slots__}})


def _head(tenant: str, count: int | None, last: bytes | None) -> AuditHead:
    return AuditHead(count=count, hash=last.hex()) if count and last is not None else no_lines(tenant)


class AuditTable(Part):
    """The `Auditing` half of the store."""

    def note(self, note: Note) -> None:
        """Append a line in a transaction of its own."""
        self._database.write(lambda session: append(session, note))

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last line, of one moment."""
        count, last, newest = self._database.row(_HEAD, {"tenant": tenant})
        return _head(tenant, count, last), newest or 0

    def audit_lines(
        self,
        scope: Scope,
        *,
        start: int = 1,
        after: datetime | None = None,
        before: datetime | None = None,
        actor: str | None = None,
        operation: str | None = None,
        limit: int,
        newest: bool = False,
    ) -> list[Link]:
        """Return lines within a scope in their order, from the number `start` on: the first so many, or the newest."""
        parts, values = ["tenant = %s", "number >= %s"], [scope.tenant, start]
        conditions: tuple[tuple[str, Any], ...] = (
            ("agent = %s", scope.agent),
            ('"user" = %s', scope.user),
            ("room = %s", scope.room),
            ("at >= %s", None if after is None else to_micros(after)),
            ("at < %s", None if before is None else to_micros(before)),
            ("actor = %s", actor),
            ("operation = %s", operation),
        )
        for sql, value in conditions:
            if value is not None:
                parts.append(sql)
                values.append(value)
        order = "DESC" if newest else "ASC"
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM audit WHERE {' AND '.join(parts)} ORDER BY number {order} LIMIT %s",
            [*values, limit],
        )
        lines = [Link(*row) for row in rows]
        return lines[::-1] if newest else lines

    def audit_names(self, _tenant: str, /, ids: Sequence[str]) -> tuple[str, ...]:
        """Return what the ids of a line stand for: here they stand for themselves."""
        return tuple(ids)
