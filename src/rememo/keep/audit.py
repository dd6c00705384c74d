"""Read the audit trail: list, verify and export it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from rememo._version import __version__
from rememo.engine.audit import ComplianceCheck
from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.files import new_file, open_new_text
from rememo.model.audit import AuditCheck, AuditEntry, AuditHead
from rememo.model.check import check_function, check_label, check_limit, check_offset, dump_json
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.store.audit_chain import AuditRow, describe_malformed, empty_head, hash_row, row_to_json
from rememo.store.audit_trail import read_pages
from rememo.store.protocol.store import Store

FORMAT = "rememo-audit"
FORMAT_VERSION = 1
_CHUNK = 1_000
_MOST_FAULTS = 100
_HASH_CHARS = 64
_LOWEST = -(2**63)


class Audit:
    """The audit trail of a tenant; a view bound to labels lists what concerns them.

    Lines are added only where auditing is on (`Settings(audit=True)`); what is there can always be read.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._store = view.engine.store
        self._tenant = view.scope.tenant

    def list(
        self,
        *,
        after: datetime | None = None,
        before: datetime | None = None,
        actor: str | None = None,
        operation: str | None = None,
        up_to: int | None = None,
        limit: int = 100,
    ) -> "list[AuditEntry]":
        """Return the latest lines, oldest first: from `after` on, earlier than `before`, of one actor or operation.

        `up_to` is the number of the last line that is wanted: to go back page by page, ask up to the one before the first.
        """
        until = None if before is None else to_utc(before, "before")
        if self._view.known_at is not None:
            until = min(until or self._view.known_at, self._view.known_at)
        lines = self._store.audit_entries(
            self._view.scope,
            end=None if up_to is None else check_offset(up_to, "up_to"),
            after=None if after is None else to_utc(after, "after"),
            before=until,
            actor=None if actor is None else check_label(actor, "actor"),
            operation=None if operation is None else check_label(operation, "operation"),
            limit=check_limit(limit),
            newest=True,
        )
        entries = [line.entry(self._tenant) for line in lines]
        return [replace(entry, ids=self._store.decode_audit_ids(self._tenant, entry.ids)) for entry in entries]

    def head(self) -> AuditHead:
        """Return where the trail ends now: keep it outside the store, and `verify(head=…)` shows any change before it."""
        return self._store.audit_head(self._tenant)[0]

    def verify(self, *, head: AuditHead | None = None) -> AuditCheck:
        """Check the whole trail of the tenant, line by line; faults name the line that was altered, removed or inserted.

        The store itself knows where the trail must end. A head that was kept outside shows even a trail that was
        rewritten as a whole, up to that head.
        """
        if head is not None:
            _check_head(head)
        end, last = self._store.audit_head(self._tenant)
        faults: list[str] = []
        for fault in self._find_faults(end, last, head):
            faults.append(fault)
            if len(faults) == _MOST_FAULTS:
                break
        return AuditCheck(faults=tuple(faults), head=end)

    def export(self, path: str | Path) -> int:
        """Write the whole trail of the tenant to a new JSON Lines file, with all that is needed to check it elsewhere.

        The first line tells format, tenant and head; returns how many lines of the trail follow.
        """
        permissions = self._view.engine.settings.file_permissions
        with new_file(path, "the audit trail") as part, open_new_text(part, permissions) as file:
            # But for the first, each is a line of the trail.
            return sum(1 for line in stream(self._view) if file.write(line)) - 1

    def denied(self, operation: str, *, reason: str, ids: Sequence[str] = ()) -> None:
        """Record that an operation was denied; does nothing where auditing is off.

        `reason` is a short code such as "no_right": it stays in the trail when a user is erased.
        """
        audit = self._view.engine.audit
        refused, why = check_label(operation, "operation"), check_label(reason, "reason")
        if audit is not None:
            audit.record("denied", self._view.scope, {"refused": refused, "reason": why}, ids=ids)

    # ---- verifying

    def _find_faults(self, end: AuditHead, last: int, expected_head: AuditHead | None) -> Iterator[str]:
        previous = empty_head(self._tenant)
        redacted: dict[int, AuditRow] = {}
        reached = expected_head is None or expected_head.count == 0
        if end.count < 0:
            yield f"the number of lines that the store keeps was altered: it is {end.count}"
        # From the lowest number there can be: nobody lists a line below 1, but nobody but a forger writes one either.
        for line in _read_lines(self._store, self._tenant, end.count, _LOWEST):
            if line.number < 1:
                yield f"line {line.number} was inserted: the trail begins with line 1"
                continue
            if line.number > previous.count + 1:
                yield _describe_missing(previous.count + 1, line.number - 1)
            fault = _line_fault(line, previous)
            if fault is not None:
                yield f"line {line.number} was altered{fault}"
            elif line.gone is not None:
                redacted[line.number] = line
            previous = AuditHead(count=line.number, hash=line.hash.hex())
            if expected_head is not None and line.number == expected_head.count:
                reached = True
                if previous.hash != expected_head.hash:
                    yield f"line {line.number} is not the one whose head was kept: the trail before it was rewritten"
        if previous.count < end.count:
            yield _describe_missing(previous.count + 1, end.count) + ": the trail was cut at its end"
        elif previous.hash != end.hash:
            yield f"line {end.count} is not the one that the store knows to be the last: the end was rewritten"
        if last > end.count:
            yield f"lines {end.count + 1} to {last} were inserted behind the end"
        if expected_head is not None and not reached and expected_head.count > end.count:
            yield f"the trail ends with line {end.count}, but a head of line {expected_head.count} was kept: it was cut"
        yield from self._unjustified_redactions(redacted)

    def _unjustified_redactions(self, redacted: dict[int, AuditRow]) -> Iterator[str]:
        """Yield the lines that were redacted though no erasure says so."""
        if not redacted:
            return
        scope = Scope(tenant=self._tenant)
        redacted_ranges: dict[str, list[tuple[int, int]]] = {"who": [], "what": []}
        for lines in read_pages(
            lambda first: self._store.audit_entries(scope, start=first, operation="redact", limit=_CHUNK)
        ):
            for line in lines:
                for half, ranges in redacted_ranges.items():
                    ranges.extend(_redacted_ranges(line, half))
        for number, line in redacted.items():
            for half in json.loads(line.gone or "{}"):
                if not any(first <= number <= until for first, until in redacted_ranges[half]):
                    yield f"line {number} was altered: something was taken out of it, but no erasure says so"


def stream(view: View) -> Iterator[str]:
    """Yield the lines that `Audit.export` writes, as they are read; nothing is blocked meanwhile."""
    engine, scope = view.engine, view.scope
    if engine.audit is not None:
        engine.audit.record("audit.export", scope)
    end = engine.store.audit_head(scope.tenant)[0]
    first = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "rememo": __version__,
        "exported_at": engine.now().isoformat(),
        "tenant": scope.tenant,
        "count": end.count,
        "hash": end.hash,
    }
    yield dump_json(first) + "\n"
    for line in _read_lines(engine.store, scope.tenant, end.count):
        yield dump_json(row_to_json(line)) + "\n"


def _read_lines(store: Store, tenant: str, count: int, start: int = 1) -> Iterator[AuditRow]:
    """Yield the existing lines up to a number."""
    scope = Scope(tenant=tenant)
    for lines in read_pages(lambda first: store.audit_entries(scope, start=first, limit=_CHUNK), start):
        for line in lines:
            if line.number > count:
                return
            yield line


def add_check(view: View, check: ComplianceCheck | None, *, content: bool) -> Callable[..., Any]:
    """Call a function before every write of a view; without one, return a decorator."""
    audit = view.engine.audit
    if audit is None:
        raise InvalidInput("auditing is off, so nobody would see the flags; open the memory with Settings(audit=True)")

    def add(function: ComplianceCheck) -> ComplianceCheck:
        check_function(function, "a compliance check")
        audit.add_check(view.scope, function, content=content)
        return function

    return add if check is None else add(check)


def _line_fault(line: AuditRow, previous: AuditHead) -> str | None:
    """Return what is wrong with a line, seen from the one before it, as the end of a sentence; None for nothing."""
    fault = describe_malformed(line)
    if fault is not None:
        return f": {fault}"
    follows = line.number > previous.count + 1 or hash_row(line, bytes.fromhex(previous.hash)) == line.hash
    return None if follows else " or inserted: it does not follow from what stands before it"


def _redacted_ranges(line: AuditRow, half: str) -> "list[tuple[int, int]]":
    """Return the lines that an erasure says it took a half out of; one that was altered says nothing."""
    if describe_malformed(line) is not None:
        return []
    ranges: Any = json.loads(line.detail).get(half)
    pairs = cast("list[Any]", ranges if isinstance(ranges, list) else [])
    return [(pair[0], pair[1]) for pair in pairs if _is_range(pair)]


def _is_range(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(cast("list[object]", value)) == 2  # noqa: PLR2004 - the first and the last
        and all(isinstance(bound, int) for bound in cast("list[object]", value))
    )


def _describe_missing(first: int, until: int) -> str:
    return f"line {first} is missing" if first == until else f"lines {first} to {until} are missing"


def _check_head(head: object) -> None:
    checked = head if isinstance(head, AuditHead) else None
    fits = checked is not None and isinstance(checked.count, int) and isinstance(checked.hash, str)  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
    if checked is None or not fits or checked.count < 0 or len(checked.hash) != _HASH_CHARS:
        raise InvalidInput("head must be what audit.head() returned: AuditHead(count=…, hash=…)")
