"""The first page: what is stored, since when, what is being done, and what waits for a person."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from rememo.model.record import KINDS
from rememo.serve.dashboard.chart import columns, steps
from rememo.serve.dashboard.visit import Visit

_COLUMNS: Final = 24
_LATEST: Final = 8
_LEAST: Final = timedelta(hours=1)
_SHOWN_CONFLICTS: Final = 5


def overview(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the overview; of a memory without a record, the page that explains it."""
    memory = visit.memory
    whole = not visit.narrowed and visit.may("read", "tenant")
    stats = memory.stats() if whole else None
    kinds: Mapping[str, int] = (
        {kind: memory.count(kind=kind) for kind in sorted(KINDS)} if stats is None else stats.kinds
    )
    shown = sorted(((kind, count) for kind, count in kinds.items() if count), key=lambda one: (-one[1], one[0]))
    held = memory.quarantine.count() if visit.may("admin") else None
    if not shown and not held and "known_at" not in visit.query:
        return "first.html", {"narrowed": visit.narrowed}
    conflicts = memory.facts.conflicts()
    return "overview.html", {
        "kinds": shown,
        "total": sum(count for _, count in shown),
        "most": shown[0][1] if shown else 1,
        "stats": stats,
        "chart": _chart(visit),
        "latest": list(reversed(memory.list(limit=_LATEST))),
        "conflicts": conflicts[:_SHOWN_CONFLICTS],
        "conflict_count": len(conflicts),
        "held": held,
    }


def _chart(visit: Visit) -> list[Any]:
    memory = visit.memory
    engine, filter = memory._engine, memory._view.filter()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
    first = engine.store.read(filter, engine.now(), limit=1, oldest=True)
    last = engine.store.read(filter, engine.now(), limit=1)
    if not first:
        return []
    begin, end = first[0].at, last[0].at + timedelta(microseconds=1)
    edges = steps(min(begin, end - _LEAST), end, _COLUMNS)
    counts = [memory.count(after=edges[place], before=edges[place + 1]) for place in range(_COLUMNS)]
    return columns(edges, counts)
