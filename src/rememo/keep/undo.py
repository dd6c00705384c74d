"""Undo one write, or roll a whole scope back to a time. What was learned meanwhile follows its sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.errors import AlreadyExists, NotFound, VersionConflict
from rememo.keep.versions import read_states, rollback_writes
from rememo.learn.derived_records import is_derived_record, manually_changed, restore_manual_parts
from rememo.learn.facts import facts_from
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.runtime.retry import retry_on_conflict
from rememo.store.writes import Remove, Write

_MOST_TRIES: Final = 50
_CONTENT: Final = (
    "kind", "text", "data", "metadata", "scope", "created_at", "occurred_at", "valid_from", "valid_to", "expires_at",
    "pinned", "importance", "source", "trust", "quarantine",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _RollbackPlan:
    """How a scope goes back."""

    writes: list[Write]
    still_learned: frozenset[str]
    """Messages that end although something was known from them at that time: it stays known, as it was."""


def roll_back(view: View, to: datetime) -> Receipt:
    """Make a whole scope what it was known to be at a moment."""
    engine, scope = view.engine, view.scope

    def plan() -> _RollbackPlan:
        ids = engine.store.touched(scope, to, None, engine.now())
        return _make_plan(engine, scope, rollback_writes(engine, scope, ids, to), to)

    return _commit(view, plan, "rollback")


def undo(view: View, receipt: Receipt, before: datetime) -> Receipt:
    """Undo one write, to what was known before it; a record that somebody changed since raises `VersionConflict`.

    What learning changed since is no conflict: it goes or stays with the messages that it was learned from.
    """
    engine, scope = view.engine, view.scope
    ids = [id for id in receipt.ids if receipt.outcomes.get(id) not in ("ignored", "unchanged")]

    def plan() -> _RollbackPlan:
        was = read_states(engine, scope, ids, before)
        plain, learned = _split_learned(engine, scope, receipt, {id: was.get(id) for id in ids})
        merged = [restore_manual_parts(engine, was.get(id), now) for id, now in learned.items()]
        writes = [*rollback_writes(engine, scope, plain, before), *(write for write in merged if write is not None)]
        return _make_plan(engine, scope, writes, before)

    return _commit(view, plan, "undo")


def _split_learned(
    engine: Engine, scope: Scope, receipt: Receipt, before: Mapping[str, Record | None]
) -> tuple[list[str], dict[str, Record | None]]:
    """Return the records that are as the write left them, and as they are now those that learning has a part in.

    The others have changed since, or the write joined what was made by hand to what was learned.
    """
    plain: list[str] = []
    learned: dict[str, Record | None] = {}
    for id, was in before.items():
        versions = engine.store.history(scope, id)
        last = versions[-1] if versions else None
        now = None if last is None or last.superseded_at is not None else last
        deleted = receipt.outcomes[id] == "deleted"
        remaining = (
            None
            if deleted
            else next((version for version in versions if version.version == receipt.versions[id]), None)
        )
        thinned = remaining is None and not deleted
        if last is not None and not thinned and _same_content(remaining, now):
            if is_derived_record(last) and manually_changed(was, remaining):
                learned[id] = now
            else:
                plain.append(id)
            continue
        if last is None or thinned or not is_derived_record(last) or manually_changed(remaining, now):
            raise VersionConflict(
                f"record {id!r} has changed since the write to undo made its version {receipt.versions[id]};"
                " undo the later write first, or use rollback()"
            )
        learned[id] = now
    return plain, learned


def _same_content(first: Record | None, other: Record | None) -> bool:
    """Whether two states of a record say the same: a later change that was taken back is none any more."""
    if first is None or other is None:
        return first is other
    return all(getattr(first, name) == getattr(other, name) for name in _CONTENT)


def _make_plan(engine: Engine, scope: Scope, writes: list[Write], to: datetime) -> _RollbackPlan:
    """Find out which of the records that end had left something known at that time.

    A message may have left the memory while what was learned from it stayed, as in a summary: then it leaves so again.
    """
    ending = [write.id for write in writes if isinstance(write, Remove)]
    facts_by_source = facts_from(engine, scope.tenant, ending, known_at=to)
    return _RollbackPlan(writes=writes, still_learned=frozenset(id for id, facts in facts_by_source.items() if facts))


def _commit(view: View, plan: Callable[[], _RollbackPlan], operation: str) -> Receipt:
    """Write a plan; one that others overtook is made anew."""

    def write(plan: _RollbackPlan) -> Receipt:
        return view.commit(plan.writes, operation=operation, still_learned=plan.still_learned)

    conflicts = (AlreadyExists, NotFound, VersionConflict)  # of a worker that was faster
    return retry_on_conflict(plan, write, f"what the {operation} is about", attempts=_MOST_TRIES, conflicts=conflicts)
