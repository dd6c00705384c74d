"""The versions page: snapshots, differences between two times, and the preview of a rollback."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from rememo.engine.view import view_of
from rememo.errors import InvalidInput, VersionConflict
from rememo.keep.versions import find_differences, read_states
from rememo.model.receipt import Receipt
from rememo.model.record import LISTED, Record
from rememo.model.times import from_micros, to_utc
from rememo.serve.dashboard.visit import Visit

_SNAPSHOTS: Final = 50
_COMPARED: Final = 500
"""Records that are compared; of more, those that were made last."""
_MAX_LISTED: Final = 20

Pair = tuple[Record | None, Record | None]


def versions_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the snapshots, and the comparison of the query: two times, or the preview of a rollback."""
    named = _snapshots(visit)
    page: dict[str, Any] = {
        "snapshots": list(reversed(named.items()))[:_SNAPSHOTS],
        "snapshot_count": len(named),
        "names": visit.may("read", "tenant"),
        "makes": visit.may("write", "tenant"),
        "changes": visit.may("write"),
        "compared": None,
    }
    if "back" in visit.query:
        return "versions.html", page | _preview_rollback(visit, named)
    if "since" in visit.query:
        return "versions.html", page | _compare_moments(visit, named)
    return "versions.html", page


def _compare_moments(visit: Visit, named: dict[str, datetime]) -> dict[str, Any]:
    """Return the differences between two times."""
    memory, known_at = visit.memory, visit.time("known_at")
    engine, scope = view_of(memory).engine, memory.bound
    since = _parse_time(visit.query["since"], named)
    until = _parse_time(visit.query["until"], named) if "until" in visit.query else known_at
    if known_at is not None:
        since, until = min(since, known_at), min(until or known_at, known_at)
    visit.begin()
    early, late = (since, until) if until is None or since <= until else (until, since)
    ids = engine.store.touched(scope, early, late, engine.now())
    some = ids[-_COMPARED:]
    old, new = (read_states(engine, scope, some, at, quarantined=False, kinds=LISTED) for at in (since, until))
    pairs: list[Pair] = [(old.get(id), new.get(id)) for id in some]
    changes = _describe_changes([(was, now) for was, now in pairs if (was and was.version) != (now and now.version)])
    return changes | {
        "compared": "moments",
        "since": since,
        "until": until,
        "touched": len(ids),
        "looked_at": len(some),
    }


def _preview_rollback(visit: Visit, named: dict[str, datetime]) -> dict[str, Any]:
    """Return what a rollback to a time would change, by the rule of the rollback itself."""
    memory = visit.memory
    engine, scope = view_of(memory).engine, memory.bound
    to = _parse_time(visit.query["back"], named)
    visit.begin()
    # Later writes have a later time than the last one.
    seen = from_micros(engine.store.clock(scope.tenant))
    ids = engine.store.touched(scope, to, None, engine.now())
    some = ids[-_COMPARED:]
    pairs = [(now, was) for was, now in find_differences(engine, scope, some, to) if all(map(_is_listed, (was, now)))]
    return _describe_changes(pairs) | {
        "compared": "back", "since": to, "until": None, "seen": seen, "touched": len(ids), "looked_at": len(some),
    }  # fmt: skip


def _is_listed(record: Record | None) -> bool:
    return record is None or record.kind in LISTED


def _describe_changes(pairs: Sequence[Pair]) -> dict[str, Any]:
    added = [now for was, now in pairs if was is None and now is not None]
    removed = [was for was, now in pairs if was is not None and now is None]
    changed = [(was, now) for was, now in pairs if was is not None and now is not None]
    return {
        "added": added[-_MAX_LISTED:], "added_count": len(added),
        "removed": removed[-_MAX_LISTED:], "removed_count": len(removed),
        "changed": changed[-_MAX_LISTED:], "changed_count": len(changed),
    }  # fmt: skip


def snapshot(visit: Visit) -> tuple[str, Receipt | None]:
    """Create a snapshot of the tenant."""
    name = visit.form.get("name", "").strip()
    if not name:
        raise InvalidInput("a snapshot needs a name")
    visit.memory.snapshot(name)
    return "Snapshot created.", None


def roll_back(visit: Visit) -> tuple[str, Receipt | None]:
    """Roll back the scope to a time, unless something has changed since the preview."""
    memory = visit.memory
    engine = view_of(memory).engine
    to, seen = (_parse_time(visit.form.get(name, ""), {}) for name in ("to", "seen"))
    view_of(memory).need_present()
    # Records that expired meanwhile do not count as changes.
    meanwhile = engine.store.touched(memory.bound, seen, None, seen)
    if meanwhile:
        raise VersionConflict(
            f"conflict: {len(meanwhile):,} records have changed since the preview, and nothing was rolled back;"
            " open the preview again"
        )
    receipt = memory.rollback(to)
    count = len(receipt.ids)
    return f"Rolled back: {count:,} {'record is' if count == 1 else 'records are'} as then.", receipt if count else None


def _snapshots(visit: Visit) -> dict[str, datetime]:
    """Return the snapshots, for keys that reach the whole tenant."""
    return visit.memory.snapshots() if visit.may("read", "tenant") else {}


def _parse_time(text: str, named: dict[str, datetime]) -> datetime:
    """Parse a time or a snapshot's name."""
    if text in named:
        return named[text]
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text[:50]!r} is neither a snapshot nor a time; write a time like 2026-05-01T10:00"
        ) from None
    return to_utc(at if at.tzinfo else at.replace(tzinfo=UTC), "the moment")
