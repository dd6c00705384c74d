"""Quarantine: what the guard held back, for a person to look at, release or delete."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from rememo.engine.audit import acting_by_default
from rememo.engine.view import ViewHolder
from rememo.errors import InvalidInput, NotFound
from rememo.model.check import check_flag, check_function, check_label, check_limit, check_offset, check_text
from rememo.model.filters import Condition, Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.safety.guard import Check, GuardRule

RELEASED_BY = "released_by"
"""The name in the metadata of a released record under which it stands who released it."""
_LONGEST_REASON = 500
_MOST_PARTS = 100_000

C = TypeVar("C", bound=Check)


class Quarantine(ViewHolder):
    """The records within a view that are held back: stored as they came, but neither recalled nor learned from."""

    def list(
        self,
        *,
        kind: str | Iterable[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Record]":
        """Return the latest `limit` records in quarantine, oldest first; each says why in its `quarantine`.

        The chunks of a document are held with it and come only where `kind` asks for them.
        """
        filter = self._view.filter(kind=kind, after=after, before=before, known_at=known_at, quarantined=True)
        engine = self._view.engine
        if kind is None:
            filter = filter.narrowed(conditions=(Condition("data", ("document",), "$exists", False),))
        return engine.store.read(filter, engine.now(), limit=check_limit(limit), offset=check_offset(offset))

    def get(self, id: str, *, known_at: datetime | None = None) -> Record:
        """Return a record in quarantine; raises `NotFound` when it is not there."""
        record = self._view.find(id, known_at=known_at, quarantined=True)
        if record is None:
            raise NotFound(f"there is no record {id!r} in the quarantine of this scope; list() shows those there are")
        return record

    def count(self) -> int:
        """Return how many records are held back, with the chunks of documents."""
        return self._view.engine.store.count(self._view.filter(quarantined=True), self._view.engine.now())

    def release(self, id: str, *, by: str) -> Receipt:
        """Release a record, a document with its chunks: it is found and learned from as if it had been added now.

        `by` is who decided so; it is kept in the record's metadata as `released_by`, and in the audit
        trail where nobody acts already. The next version is free, the one
        before stays what it was; `undo()` of the receipt holds it back again.
        """
        view = self._view
        view.need_present()
        view.need_no_batch("quarantine.release()")
        name = check_label(by, "by")
        records = [self.get(id)]
        if records[0].kind == "document":
            records += self._chunks(id)
        freed: dict[str, Any] = {"quarantine": None}
        writes = [
            view.engine.drafts.revise(record, freed | {"metadata": record.metadata | {RELEASED_BY: name}})
            for record in records
        ]
        with acting_by_default(name):
            return view.commit(writes, operation="release")

    def hold(self, id: str, reason: str) -> Receipt:
        """Put a record into quarantine by hand, a document with its chunks; what was learned from it is deleted."""
        view = self._view
        view.need_present()
        view.need_no_batch("quarantine.hold()")
        why = check_text(reason, "reason", max_bytes=_LONGEST_REASON).strip()
        if not why:
            raise InvalidInput("reason is empty; say why the record is held back")
        records = [view.get(id)]
        if records[0].kind == "document":
            records += self._chunks(id)
        writes = [view.engine.drafts.revise(record, {"quarantine": f"by hand: {why}"}) for record in records]
        return view.commit(writes, operation="hold")

    def delete(self, id: str) -> Receipt:
        """End a record in quarantine, a document with its chunks."""
        return self._view.remove(self.get(id).id)

    # ---- rules

    def rules(self) -> dict[str, str]:
        """Return the names of the rules in force, each with what it is about."""
        return {rule.name: rule.reason for rule in self._view.engine.guard.rules}

    def rule(self, name: str, *, reason: str | None = None, trusted: bool = False) -> Callable[[C], C]:
        """Apply the decorated function to every record that comes in from now on, in this process.

        It is told of an `IncomingRecord` and returns why the record is to be held back, True for `reason`, or None. It sees what
        is not fully trusted; with `trusted`, everything. One that fails holds the record back. A name that is taken
        raises `AlreadyExists`.
        """
        named, sees_all = check_label(name, "name"), check_flag(trusted, "trusted")
        why = named if reason is None else check_text(reason, "reason", max_bytes=_LONGEST_REASON)

        def register(check: C) -> C:
            check_function(check, "a rule")
            self._view.engine.guard.add(GuardRule(name=named, reason=why, check=check, trusted=sees_all))
            return check

        return register

    # ---- inside

    def _chunks(self, id: str) -> "list[Record]":
        engine = self._view.engine
        filter = Filter(
            scope=self._view.scope,
            kinds=("chunk",),
            conditions=(Condition("data", ("document",), "$eq", id),),
            quarantined=None,
        )
        return engine.store.read(filter, engine.now(), limit=_MOST_PARTS)
