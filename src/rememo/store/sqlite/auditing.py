"""The audit trail in the file: appended inside the transaction of what it tells of."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from rememo.errors import Corrupt
from rememo.model.audit import AuditHead, Note
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.chain import Half, Link, forge, no_lines
from rememo.store.contents import Contents
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.part import Part

_COLUMNS = "number, at, operation, detail, actor, session, address, agent, user, room, ids, flags, salt, gone, hash"
_INSERT = f"INSERT INTO audit (tenant, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SEALED = "sealed:"
_CHUNK = 200
_HEAD = "SELECT audited, audit_hash FROM tenants WHERE tenant = ?"
_MOVE = "UPDATE tenants SET audited = ?, audit_hash = ? WHERE tenant = ?"
_KEEP = """INSERT INTO tenants (audited, audit_hash, tenant) VALUES (?, ?, ?)
ON CONFLICT (tenant) DO UPDATE SET audited = excluded.audited, audit_hash = excluded.audit_hash"""


def append(connection: Connection, note: Note, head: AuditHead | None = None) -> AuditHead:
    """Add a line behind the last one and return the new head; `head` saves looking where that is."""
    tenant = note.scope.tenant
    one = forge(note, head or _head(connection, tenant))
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


def veiled(note: Note, contents: Contents) -> Note:
    """Return a note that names keys as they are stored: what is sealed there must not be read in the audit trail."""
    if not contents.sealed:
        return note
    return replace(note, ids=tuple(f"{_SEALED}{cast('bytes', contents.put_name(id)).hex()}" for id in note.ids))


def _head(connection: Connection, tenant: str) -> AuditHead:
    row: Any = connection.execute(_HEAD, (tenant,)).get
    return AuditHead(count=row[0], hash=row[1].hex()) if row and row[0] else no_lines(tenant)


class AuditTable(Part):
    """The `Auditing` half of the store."""

    def note(self, note: Note) -> None:
        """Append a line in a transaction of its own."""
        self._database.write(lambda connection: append(connection, note))

    def audit_head(self, tenant: str) -> tuple[AuditHead, int]:
        """Return the head that is kept of a tenant's trail, and the number of its last line, of one moment."""
        with self._database.snapshot() as connection:
            last = connection.execute("SELECT max(number) FROM audit WHERE tenant = ?", (tenant,)).get
            return _head(connection, tenant), last or 0

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
        parts, values = ["tenant = ?", "number >= ?"], [scope.tenant, start]
        conditions: tuple[tuple[str, Any], ...] = (
            ("agent = ?", scope.agent),
            ("user = ?", scope.user),
            ("room = ?", scope.room),
            ("at >= ?", None if after is None else to_micros(after)),
            ("at < ?", None if before is None else to_micros(before)),
            ("actor = ?", actor),
            ("operation = ?", operation),
        )
        for sql, value in conditions:
            if value is not None:
                parts.append(sql)
                values.append(value)
        order = "DESC" if newest else "ASC"
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM audit WHERE {' AND '.join(parts)} ORDER BY number {order} LIMIT ?",
            [*values, limit],
        )
        lines = [Link(*row) for row in rows]
        return lines[::-1] if newest else lines

    def audit_names(self, tenant: str, ids: Sequence[str]) -> tuple[str, ...]:
        """Return what the ids of a line stand for."""
        contents = self._safe.readable(tenant) if any(id.startswith(_SEALED) for id in ids) else None
        return tuple(ids) if contents is None else tuple(_named(id, contents) for id in ids)

    def redact(self, note: Note, choose: Callable[[Link], Sequence[Half]]) -> int:
        """Take halves out of lines, those that `choose` names of each; a line of its own says which. Returns how many."""
        scope, start, total = Scope(tenant=note.scope.tenant), 1, 0
        while lines := self.audit_lines(scope, start=start, limit=_CHUNK):
            start = lines[-1].number + 1
            chosen = {line.number: halves for line in lines if (halves := choose(line))}
            if chosen:
                self._database.write(lambda connection, chosen=chosen: _redact(connection, note, chosen))
                total += len(chosen)
        return total


def _named(id: str, contents: Contents) -> str:
    """Return a key by its name; one whose key for sealing is gone keeps its sealed form."""
    with suppress(Corrupt, ValueError):
        if id.startswith(_SEALED):
            return contents.get_name(bytes.fromhex(id.removeprefix(_SEALED))) or id
    return id


def _redact(connection: Connection, note: Note, chosen: dict[int, Sequence[Half]]) -> None:
    tenant = note.scope.tenant
    for number, halves in chosen.items():
        row: Any = connection.execute(
            f"SELECT {_COLUMNS} FROM audit WHERE tenant = ? AND number = ?", (tenant, number)
        ).get
        one = Link(*row).without(*halves)
        connection.execute(
            "UPDATE audit SET actor = ?, session = ?, address = ?, agent = ?, user = ?, room = ?, ids = ?, flags = ?,"
            " salt = ?, gone = ? WHERE tenant = ? AND number = ?",
            (
                one.actor, one.session, one.address, one.agent, one.user, one.room, one.ids, one.flags, one.salt,
                one.gone, tenant, number,
            ),
        )  # fmt: skip
    detail = {half: _ranges([number for number, taken in chosen.items() if half in taken]) for half in ("who", "what")}
    append(connection, replace(note, detail=detail))


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
