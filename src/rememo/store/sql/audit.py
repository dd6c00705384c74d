"""The audit trail of an SQL store: entries appended inside the transaction of what they tell of."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from rememo.model.audit import AuditHead, NewAuditEntry
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.audit_chain import AuditRow, Half
from rememo.store.audit_trail import AUDIT_COLUMNS, REDACTED_COLUMNS, read_pages, to_ranges
from rememo.store.sql.part import C, D, SqlPart
from rememo.store.sql.session import SqlSession

_CHUNK = 200
_HALVES: tuple[Half, ...] = ("who", "what")
_ENTRY = f"SELECT {AUDIT_COLUMNS} FROM audit WHERE tenant = ? AND number = ?"
_REDACT = (
    "UPDATE audit SET " + ", ".join(f'"{name}" = ?' for name in REDACTED_COLUMNS) + " WHERE tenant = ? AND number = ?"
)


class SqlAudit(SqlPart[D, C]):
    """The `AuditLog` protocol, and the redaction of what was erased."""

    @abstractmethod
    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last entry, of one moment."""

    def _audit_rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self._database.rows(sql, values)

    def note(self, note: NewAuditEntry) -> None:
        """Append an entry in a transaction of its own."""
        self._database.write(lambda session: self._append_audit_entry(session, note))

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
        wanted: dict[str, Any] = {
            "tenant =": scope.tenant,
            "number >=": start,
            "number <=": end,
            "agent =": scope.agent,
            '"user" =': scope.user,
            "room =": scope.room,
            "at >=": None if after is None else to_micros(after),
            "at <": None if before is None else to_micros(before),
            "actor =": actor,
            "operation =": operation,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        conditions, order = " AND ".join(f"{name} ?" for name in given), "DESC" if newest else "ASC"
        sql = f"SELECT {AUDIT_COLUMNS} FROM audit WHERE {conditions} ORDER BY number {order} LIMIT ?"
        lines = [AuditRow(*row) for row in self._audit_rows(sql, [*given.values(), limit])]
        return lines[::-1] if newest else lines

    def decode_audit_ids(self, tenant: str, /, ids: Sequence[str]) -> tuple[str, ...]:
        """Return what the ids of a line stand for."""
        codec = self._codecs.readable(tenant) if ids else None
        return tuple(ids) if codec is None else tuple(codec.unmask_name(id) for id in ids)

    def redact(self, note: NewAuditEntry, choose: Callable[[AuditRow], Sequence[Half]]) -> int:
        """Take halves out of lines, those that `choose` names of each; a line of its own says which. Returns how many."""
        scope, total = Scope(tenant=note.scope.tenant), 0
        for lines in read_pages(lambda start: self.audit_entries(scope, start=start, limit=_CHUNK)):
            chosen = {line.number: halves for line in lines if (halves := choose(line))}
            if chosen:
                which = {
                    half: to_ranges([number for number, taken in chosen.items() if half in taken]) for half in _HALVES
                }
                self._redact_entries(replace(note, detail=which), chosen)
                total += len(chosen)
        return total

    def _redact_entries(self, note: NewAuditEntry, chosen: dict[int, Sequence[Half]]) -> None:
        """Take halves out of entries by their numbers, and append a note, in one transaction."""
        tenant = note.scope.tenant

        def run(session: SqlSession) -> None:
            for number, halves in sorted(chosen.items()):
                entry = AuditRow(*session.row(_ENTRY + self.dialect.lock, (tenant, number))).without(*halves)
                values = (*(getattr(entry, name) for name in REDACTED_COLUMNS), tenant, number)
                session.execute(_REDACT, values)
            self._append_audit_entry(session, note)

        self._database.write(run, repeatable=True)
