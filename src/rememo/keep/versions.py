"""Time travel: what changed between two moments, and going back to one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rememo.engine.engine import Engine
from rememo.model.filters import Filter
from rememo.model.record import LISTED, Record
from rememo.model.scope import Scope
from rememo.store.writes import Remove, Revise, Write

_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What became of a scope from one moment to another."""

    added: tuple[Record, ...]
    removed: tuple[Record, ...]
    changed: tuple[tuple[Record, Record], ...]
    """Each record as it was and as it became."""


def read_states(
    engine: Engine,
    scope: Scope,
    ids: Iterable[str],
    at: datetime | None,
    *,
    quarantined: bool | None = None,
    kinds: tuple[str, ...] = (),
) -> dict[str, Record]:
    """Return the records as they were known at a moment, or as they are; in quarantine, free, or both."""
    all_ids = list(ids)
    records: dict[str, Record] = {}
    for start in range(0, len(all_ids), _CHUNK):
        some = tuple(all_ids[start : start + _CHUNK])
        filter = Filter(scope=scope, kinds=kinds, ids=some, known_at=at, quarantined=quarantined)
        records.update((record.id, record) for record in engine.store.read(filter, engine.now()))
    return records


def diff(engine: Engine, scope: Scope, before: datetime, after: datetime | None) -> Diff:
    """Return what was added, removed and changed from one moment to another, or until now."""
    early, late = (before, after) if after is None or before <= after else (after, before)
    ids = engine.store.touched(scope, early, late, engine.now())
    old, new = (read_states(engine, scope, ids, at, quarantined=False, kinds=LISTED) for at in (before, after))
    return Diff(
        added=tuple(new[id] for id in ids if id in new and id not in old),
        removed=tuple(old[id] for id in ids if id in old and id not in new),
        changed=tuple(
            (old[id], new[id]) for id in ids if id in old and id in new and old[id].version != new[id].version
        ),
    )


def find_differences(
    engine: Engine, scope: Scope, ids: Sequence[str], to: datetime
) -> list[tuple[Record | None, Record | None]]:
    """Return those of some records that going back to a moment would change: as they were known then, and as they are."""
    old = read_states(engine, scope, ids, to)
    # Looked for in the whole tenant: what belongs to another scope by now is not ours to take back.
    current = read_states(engine, Scope(tenant=scope.tenant), ids, None)
    pairs = ((old.get(id), current.get(id)) for id in ids)
    return [
        (was, now)
        for was, now in pairs
        if (now is None or scope.contains(now.scope))
        and (None if was is None else was.version) != (None if now is None else now.version)
    ]


def rollback_writes(engine: Engine, scope: Scope, ids: list[str], to: datetime) -> list[Write]:
    """Return the writes that make some records what they were known to be at a moment."""
    writes: list[Write] = []
    for was, now in find_differences(engine, scope, ids, to):
        if was is None and now is not None:
            writes.append(Remove(id=now.id, scope=scope, expected=now.version))
        elif was is not None:
            draft = engine.drafts.redraft(was, {})
            draft.created_at = was.created_at
            writes.append(Revise(draft=draft, expected=0 if now is None else now.version, outcome="restored"))
    return writes
