"""The overview page: records by kind and over time, jobs, conflicts and quarantine."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from rememo.engine.view import view_of
from rememo.model.record import LISTED
from rememo.serve.dashboard.chart import ChartColumn, chart_columns, equal_steps
from rememo.serve.dashboard.jobs import STATES
from rememo.serve.dashboard.visit import Visit

_COLUMNS: Final = 24
_SERIES: Final = 5
"""Kinds with a colour of their own; the others share one."""
_LATEST: Final = 8
_LEAST: Final = timedelta(hours=1)
_MAX_CONFLICTS: Final = 5
_SPANS: Final = (("a day", timedelta(days=1)), ("30 days", timedelta(days=30)))


def overview(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the overview; for an empty memory, the page that explains it."""
    memory = visit.memory
    sees_tenant = not visit.narrowed and visit.may("read", "tenant")
    visit.begin()
    engine = view_of(memory).engine
    stats = engine.store.stats(memory.bound.tenant, engine.now(), vectors=False) if sees_tenant else None
    quarantined = memory.quarantine.count()
    kinds = (
        {kind: memory.count(kind=kind) for kind in LISTED}
        if stats is None
        else _count_visible(visit, stats.kinds, quarantined)
    )
    kinds_by_count = sorted(
        ((kind, count) for kind, count in kinds.items() if count), key=lambda item: (-item[1], item[0])
    )
    if not kinds_by_count and not quarantined and "known_at" not in visit.query:
        return "first.html", {"narrowed": visit.narrowed}
    conflicts = memory.facts.conflicts()
    series = _chart_series([kind for kind, _ in kinds_by_count])
    chart = _growth_chart(visit, series)
    condition = view_of(visit.service.memory).engine.store.health() if sees_tenant else None
    return "overview.html", {
        "kinds": kinds_by_count,
        "total": sum(count for _, count in kinds_by_count),
        "most": kinds_by_count[0][1] if kinds_by_count else 1,
        "stats": stats,
        "disk_left": None if condition is None else condition.disk_bytes,
        "jobs": None if stats is None else [(state, stats.jobs.get(state, 0)) for state in STATES],
        "chart": chart,
        "series": [name for name, _ in series],
        "growth": _growth(visit, sum(column.count for column in chart)),
        "spending": visit.present.spending() if sees_tenant else None,
        "latest": list(reversed(memory.list(limit=_LATEST))),
        "conflicts": conflicts[:_MAX_CONFLICTS],
        "conflict_count": len(conflicts),
        "held": quarantined if visit.may("admin") else None,
    }


def _count_visible(visit: Visit, kinds: Mapping[str, int], quarantined: int) -> Mapping[str, int]:
    """Return the counts by kind without quarantined records."""
    if not quarantined:
        return kinds
    memory = visit.memory
    view = view_of(memory)
    engine = view.engine
    return {
        kind: count - engine.store.count(view.filter(kind=kind, quarantined=True), engine.now())
        for kind, count in kinds.items()
    }


def _chart_series(kinds: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the series of the chart, with their kinds."""
    if len(kinds) <= _SERIES + 1:
        return [(kind, (kind,)) for kind in kinds]
    return [*((kind, (kind,)) for kind in kinds[:_SERIES]), ("others", tuple(kinds[_SERIES:]))]


def _growth_chart(visit: Visit, series: Sequence[tuple[str, tuple[str, ...]]]) -> list[ChartColumn]:
    memory = visit.memory
    view = view_of(memory)
    engine, filter = view.engine, view.filter()
    first = engine.store.read(filter, engine.now(), limit=1, oldest=True)
    last = engine.store.read(filter, engine.now(), limit=1)
    if not first:
        return []
    begin, end = first[0].at, last[0].at + timedelta(microseconds=1)
    edges = equal_steps(min(begin, end - _LEAST), end, _COLUMNS)
    counts = [
        [memory.count(kind=kinds, after=edges[index], before=edges[index + 1]) for index in range(_COLUMNS)]
        for _, kinds in series
    ]
    return chart_columns(edges, counts)


def _growth(visit: Visit, count: int) -> list[tuple[str, int]]:
    """Return the growth of the record count over some periods."""
    memory, end = visit.memory, visit.time("known_at") or visit.now
    return [(span, count - memory.count(known_at=end - ago)) for span, ago in _SPANS]
