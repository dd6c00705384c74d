"""The pages of facts with their validity, and of conflicts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from rememo.collections.revisions import UNSURE
from rememo.model.fact import Fact
from rememo.serve.dashboard.visit import Visit

_FACTS: Final = 50
_CONFLICTS: Final = 20
_MIN_SPAN: Final = timedelta(days=1)


def facts_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return facts with bars of their validity, as known and as valid at the times of the query."""
    valid_at, now = visit.time("valid_at"), visit.time("known_at") or visit.now
    every = "all" in visit.query
    listed = visit.memory.facts.list(
        subject=visit.query.get("subject"), predicate=visit.query.get("predicate"), current_only=not every,
        valid_at=valid_at, limit=_FACTS + 1,
    )  # fmt: skip
    facts = listed[-_FACTS:]
    begin, end = _time_span(facts, now)
    ordered = sorted(facts, key=lambda fact: (fact.subject, fact.predicate, fact.valid_from or begin, fact.id))
    return "facts.html", {
        "facts": [(fact, _validity_bar(fact, begin, end)) for fact in ordered],
        "begin": begin,
        "end": end,
        "mark": None if valid_at is None else _position(valid_at, begin, end),
        "more": len(listed) > _FACTS,
        "every": every,
        "slider": {"begin": int(begin.timestamp()), "end": int(end.timestamp()), "at": int((valid_at or now).timestamp())},
    }  # fmt: skip


def conflicts_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the open conflicts, and revisions that are less likely than not."""
    conflicts = visit.memory.facts.conflicts()
    unsure = visit.memory.revisions.list(max_confidence=UNSURE, decided=False, limit=_CONFLICTS)
    return "conflicts.html", {
        "unsure": unsure,
        "conflicts": conflicts[:_CONFLICTS],
        "count": len(conflicts),
        "changes": visit.may("write"),
    }


def _time_span(facts: Sequence[Fact], now: datetime) -> tuple[datetime, datetime]:
    begins = [fact.valid_from for fact in facts if fact.valid_from is not None]
    ends = [fact.valid_to for fact in facts if fact.valid_to is not None]
    end = max([now, *begins, *ends])
    return min([end - _MIN_SPAN, *begins, *ends]), end


def _position(time: datetime, begin: datetime, end: datetime) -> float:
    return round(max(0.0, min(100.0, (time - begin) / (end - begin) * 100)), 2)


def _validity_bar(fact: Fact, begin: datetime, end: datetime) -> dict[str, float]:
    """Return the start and width of a fact's bar, in percent."""
    left = _position(fact.valid_from or begin, begin, end)
    right = _position(fact.valid_to or end, begin, end)
    return {"x": min(left, 99.0), "width": max(1.0, round(right - left, 2))}
