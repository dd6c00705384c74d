"""The tokens page: the usage of language models by day and purpose, and today's remaining budget."""

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from rememo.errors import InvalidInput
from rememo.serve.dashboard.chart import chart_columns
from rememo.serve.dashboard.visit import Visit

_DAYS: Final = (7, 30, 90)
_LISTED: Final = 200


def tokens_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the usage of the latest days; the ledger has no history, so the time of the query does not matter."""
    days = visit.number("days", least=1) if "days" in visit.query else 30
    if days not in _DAYS:
        raise InvalidInput(f"days must be one of {', '.join(map(str, _DAYS))} here, not {days}")
    spending, today = visit.present.spending(days=days), visit.now.astimezone(UTC).date()
    read, written = Counter[Any](), Counter[Any]()
    for entry in spending.entries:
        read[entry.day] += entry.prompt
        written[entry.day] += entry.completion
    every = [today - timedelta(days=ago) for ago in reversed(range(days))]
    edges = [datetime.combine(day, time(), UTC) for day in (*every, today + timedelta(days=1))]
    share = None if not spending.ceiling else round(min(1.0, spending.today / spending.ceiling) * 100, 1)
    return "tokens.html", {
        "spending": spending,
        "days": days,
        "choices": _DAYS,
        "chart": chart_columns(edges, [[read[day] for day in every], [written[day] for day in every]]),
        "series": ["read", "written"],
        "entries": list(reversed(spending.entries))[:_LISTED],
        "more": max(0, len(spending.entries) - _LISTED),
        "share": share,
    }
