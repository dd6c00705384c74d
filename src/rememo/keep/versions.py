"""Time travel: what changed between two moments, and going back to one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rememo.engine.engine import Engine
from rememo.errors import VersionConflict
from rememo.model.filters import Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.protocol import Remove, Revise, Write

_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What became of a scope from one moment to another."""

    added: tuple[Record, ...]
    removed: tuple[Record, ...]
    changed: tuple[tuple[Record, Record], ...]
    """Each record as it was and as it became."""


def states(engine: Engine, scope: Scope, ids: Iterable[str], at: datetime | None) -> dict[str, Record]:
    """Return the records as they were known at a moment, or as they are."""
    wanted = list(ids)
    found: dict[str, Record] = {}
    for start in range(0, len(wanted), _CHUNK):
        filter = Filter(scope=scope, ids=tuple(wanted[start : start + _CHUNK]), known_at=at)
        found.update((record.id, record) for record in engine.store.read(filter, engine.now()))
    return found


def diff(engine: Engine, scope: Scope, before: datetime, after: datetime) -> Diff:
    """Return what was added, removed and changed from one moment to another."""
    ids = engine.store.touched(scope, min(before, after), max(before, after))
    old, new = states(engine, scope, ids, before), states(engine, scope, ids, after)
    return Diff(
        added=tuple(new[id] for id in ids if id in new and id not in old),
        removed=tuple(old[id] for id in ids if id in old and id not in new),
        changed=tuple(
            (old[id], new[id]) for id in ids if id in old and id in new and old[id].version != new[id].version
        ),
    )


def going_back(engine: Engine, scope: Scope, ids: Iterable[str], to: datetime) -> list[Write]:
    """Return the writes that make records what they were known to be at a moment."""
    wanted = list(ids)
    old, current = states(engine, scope, wanted, to), states(engine, scope, wanted, None)
    writes: list[Write] = []
    for id in wanted:
        was, now = old.get(id), current.get(id)
        if was is None and now is not None:
            writes.append(Remove(id=id, scope=scope, expected=now.version))
        elif was is not None and (now is None or now.version != was.version):
            draft = engine.redraft(was, {})
            writes.append(Revise(draft=draft, expected=0 if now is None else now.version, outcome="restored"))
    return writes


def undoing(engine: Engine, scope: Scope, receipt: Receipt, before: datetime) -> list[Write]:
    """Return the writes that take one write back; a record that has changed since raises `VersionConflict`."""
    ids = [id for id in receipt.ids if receipt.outcomes.get(id) not in ("ignored", "unchanged")]
    for id in ids:
        versions = engine.store.history(scope, id)
        last = versions[-1].version if versions else 0
        if last != receipt.versions[id]:
            raise VersionConflict(
                f"record {id!r} is at version {last} and the write to undo made version {receipt.versions[id]};"
                " undo the later write first, or use rollback()"
            )
    return going_back(engine, scope, ids, before)
