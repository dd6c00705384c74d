"""Audit entries of writes: the actor, the address, and the flags of the user's compliance checks."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, cast

from rememo.errors import InvalidInput
from rememo.model.audit import AuditActor, Intent, NewAuditEntry
from rememo.model.check import check_label, dump_json
from rememo.model.scope import Scope
from rememo.model.times import Clock, to_utc
from rememo.runtime.locks import ForkLock
from rememo.store.protocol.store import Store
from rememo.store.writes import Commit, Put, Remove, Revise, Write

ComplianceCheck = Callable[[Intent], object]
"""Returns flags: one, several, or None."""

_WORKER = AuditActor(actor="rememo.worker")
_MOST_FLAGS = 20

_who: ContextVar[AuditActor] = ContextVar("rememo_who", default=AuditActor())  # noqa: B039 - frozen
_log = logging.getLogger("rememo.audit")


class ActorContext:
    """A context manager that sets the audit actor of the current context (a thread or an asyncio task)."""

    def __init__(self, change: Callable[[AuditActor], AuditActor]) -> None:
        self._change = change
        self._tokens: list[Token[AuditActor]] = []

    def __enter__(self) -> None:
        """Set the actor."""
        self._tokens.append(_who.set(self._change(_who.get())))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous actor."""
        _who.reset(self._tokens.pop())


def acting(*, actor: str | None = None, session: str | None = None, address: str | None = None) -> ActorContext:
    """Return a context manager that sets the audit actor; what is not given stays as it is."""
    arguments = {"actor": actor, "session": session, "address": address}
    labels = {name: check_label(value, name) for name, value in arguments.items() if value is not None}
    if not labels:
        raise InvalidInput("acting() needs an actor, a session or an address")
    return ActorContext(lambda who: replace(who, **labels))


def acting_by_default(actor: str) -> ActorContext:
    """Return a context manager that sets the audit actor where none is set: a server has set the key's owner already."""
    return ActorContext(lambda who: who if who.actor is not None else replace(who, actor=actor))


def acting_as_worker() -> ActorContext:
    """Return a context manager that sets the worker as the audit actor."""
    return ActorContext(lambda _: _WORKER)


def acts_as_worker() -> bool:
    """Return whether this context runs jobs."""
    return _who.get() is _WORKER


@dataclass(frozen=True, slots=True)
class _RegisteredCheck:
    scope: Scope
    check: ComplianceCheck
    content: bool


class Auditor:
    """Builds the audit entries of one engine; exists only where auditing is on."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = ForkLock()
        self._checks: tuple[_RegisteredCheck, ...] = ()

    def add_check(self, scope: Scope, check: ComplianceCheck, *, content: bool) -> None:
        """Call a function before every write of a view within a scope from now on."""
        with self._lock:
            self._checks = (*self._checks, _RegisteredCheck(scope, check, content))

    def record(
        self, operation: str, scope: Scope, detail: Mapping[str, Any] | None = None, *, ids: Sequence[str] = ()
    ) -> None:
        """Append an audit entry for what is no write of records, in a transaction of its own."""
        self._store.note(self.note(operation, scope, detail, ids=ids))

    def note(
        self, operation: str, scope: Scope, detail: Mapping[str, Any] | None = None, *, ids: Sequence[str] = ()
    ) -> NewAuditEntry:
        """Return an audit entry for the current actor."""
        return new_audit_entry(operation, scope, to_utc(self._clock(), "the clock's time"), detail, ids=ids)

    def writing(
        self, operation: str, scope: Scope, writes: Sequence[Write]
    ) -> Callable[[Commit], NewAuditEntry | None]:
        """Ask the checks about a write, and return what makes its note once it is known what it did."""
        who = _who.get()
        flags = self._flags(operation, scope, writes, who) if self._checks else ()

        def note(commit: Commit) -> NewAuditEntry | None:
            written = commit.written
            if len(written) == 1:
                change = written[0]
                if change.outcome in ("ignored", "unchanged"):
                    return None
                return NewAuditEntry(
                    operation=operation,
                    scope=change.scope,
                    who=who,
                    at=commit.recorded_at,
                    detail=_single(change.outcome, change.kind),
                    ids=(change.id,),
                    flags=flags,
                )
            changed = [change for change in written if change.outcome not in ("ignored", "unchanged")]
            if not changed and operation == "write":
                return None
            scopes = {change.scope for change in changed}
            return NewAuditEntry(
                operation=operation,
                scope=scopes.pop() if len(scopes) == 1 else scope,
                who=who,
                at=commit.recorded_at,
                detail={
                    "outcomes": dict(Counter(change.outcome for change in changed)),
                    "kinds": dict(Counter(change.kind for change in changed)),
                },
                ids=tuple(dict.fromkeys(change.id for change in changed)),
                flags=flags,
            )

        return note

    def _flags(self, operation: str, scope: Scope, writes: Sequence[Write], who: AuditActor) -> tuple[str, ...]:
        """Return the flags that the checks of a scope raise; a failing check adds a flag, and the write goes on."""
        checks = [registered for registered in self._checks if registered.scope.contains(scope)]
        if not checks:
            return ()
        drafts = [write.draft for write in writes if isinstance(write, Put | Revise)]
        removed = [write.id for write in writes if isinstance(write, Remove)]
        intent = Intent(
            operation=operation,
            scope=scope,
            who=who,
            ids=(*(draft.id for draft in drafts), *removed),
            kinds=tuple(dict.fromkeys(draft.kind for draft in drafts)),
        )
        with_texts = replace(intent, texts=tuple(draft.text for draft in drafts))
        flags: dict[str, None] = {}
        for registered in checks:
            name = getattr(registered.check, "__name__", type(registered.check).__name__)
            try:
                raised = _read_flags(registered.check(with_texts if registered.content else intent))
            except Exception:  # noqa: BLE001 - a check is foreign code: whatever it raises, the write stands
                _log.exception("compliance check %s failed", name)
                raised = [f"check failed: {name}"]
            flags.update(dict.fromkeys(raised))
        return tuple(flags)[:_MOST_FLAGS]


@lru_cache(maxsize=256)
def _single(outcome: str, kind: str) -> str:
    """Return the detail of a write of one record: there are few of them, and many writes."""
    return dump_json({"outcomes": {outcome: 1}, "kinds": {kind: 1}})


def _read_flags(returned: object) -> list[str]:
    if returned is None:
        return []
    if isinstance(returned, str):
        return [check_label(returned, "flag")]
    return [check_label(flag, "flag") for flag in cast("Iterable[object]", returned)]


def new_audit_entry(
    operation: str, scope: Scope, at: datetime, detail: Mapping[str, Any] | None = None, *, ids: Sequence[str] = ()
) -> NewAuditEntry:
    """Return an audit entry for the current actor, whether or not auditing is on."""
    return NewAuditEntry(operation=operation, scope=scope, who=_who.get(), at=at, detail=detail or {}, ids=ids)


def current_actor() -> AuditActor:
    """Return the audit actor of this thread or task."""
    return _who.get()
