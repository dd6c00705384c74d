"""The audit trail of a store: what is the same for every one of them."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from rememo.model.audit import NewAuditEntry
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.audit_chain import AuditRow, Half
from rememo.store.cipher.codec import FieldCodec

AUDIT_COLUMNS = (
    'number, at, operation, detail, actor, session, address, agent, "user", room, ids, flags, salt, gone, hash'
)
REDACTED_COLUMNS = ("actor", "session", "address", "agent", "user", "room", "ids", "flags", "salt", "gone")
"""The columns that change when halves of a line are taken out."""
_CHUNK = 200
_HIGHEST = 2**63 - 1


def mask_key_names(note: NewAuditEntry, codec: FieldCodec) -> NewAuditEntry:
    """Return a note that names keys as they are stored: what is encrypted there must not be read in the audit trail."""
    if not codec.encrypted:
        return note
    return replace(note, ids=tuple(codec.mask_name(id) for id in note.ids))


class AuditTrail:
    """The part of `Auditing`, and of taking out of it what was erased, that is the same for every store."""

    _value_sign: ClassVar[str]
    """What stands for a value in a statement."""

    @abstractmethod
    def _audit_rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a query."""

    @abstractmethod
    def _audit_contents(self, tenant: str) -> FieldCodec | None:
        """Return how a tenant's contents are kept, or None when nobody can read them any more."""

    @abstractmethod
    def _take_out(self, note: NewAuditEntry, chosen: dict[int, Sequence[Half]]) -> None:
        """Take halves out of lines by their numbers, and append a note, in one transaction."""

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
        told = {name: value for name, value in wanted.items() if value is not None}
        conditions, order = " AND ".join(f"{name} {self._value_sign}" for name in told), "DESC" if newest else "ASC"
        sql = f"SELECT {AUDIT_COLUMNS} FROM audit WHERE {conditions} ORDER BY number {order} LIMIT {self._value_sign}"
        lines = [AuditRow(*row) for row in self._audit_rows(sql, [*told.values(), limit])]
        return lines[::-1] if newest else lines

    def decode_audit_ids(self, tenant: str, /, ids: Sequence[str]) -> tuple[str, ...]:
        """Return what the ids of a line stand for."""
        codec = self._audit_contents(tenant) if ids else None
        return tuple(ids) if codec is None else tuple(codec.unmask_name(id) for id in ids)

    def redact(self, note: NewAuditEntry, choose: Callable[[AuditRow], Sequence[Half]]) -> int:
        """Take halves out of lines, those that `choose` names of each; a line of its own says which. Returns how many."""
        scope, total = Scope(tenant=note.scope.tenant), 0
        for lines in read_pages(lambda start: self.audit_entries(scope, start=start, limit=_CHUNK)):
            chosen = {line.number: halves for line in lines if (halves := choose(line))}
            if chosen:
                which = {half: _to_ranges([one for one, taken in chosen.items() if half in taken]) for half in _HALVES}
                self._take_out(replace(note, detail=which), chosen)
                total += len(chosen)
        return total


def read_pages(lines_from: Callable[[int], list[AuditRow]], start: int = 1) -> Iterator[list[AuditRow]]:
    """Give the lines from a number on, page by page."""
    while lines := lines_from(start):
        yield lines
        # A forged line may have the highest number there is, and no store can be asked for what comes after it.
        if lines[-1].number >= _HIGHEST:
            return
        start = lines[-1].number + 1


_HALVES: tuple[Half, ...] = ("who", "what")


def _to_ranges(numbers: Sequence[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
