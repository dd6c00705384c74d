"""The search page: hits while typing, with the explanation of their scores."""

from collections.abc import Mapping
from typing import Any, Final

from rememo.errors import InvalidInput
from rememo.model.hit import Hit
from rememo.model.record import FOUND
from rememo.recall.explain import MEANINGS
from rememo.serve.dashboard.visit import Visit

_HITS: Final = 20
_LONGEST: Final = 2_000
_SMALLEST: Final = 0.005
"""Parts that would be rounded to zero are not shown."""


def search_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the search form, and the hits of the query."""
    return "search.html", {"kinds": FOUND, **_search(visit)}


def search_hits(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the hits alone."""
    return "hits.html", _search(visit)


def _search(visit: Visit) -> dict[str, Any]:
    question = visit.query.get("q", "").strip()[:_LONGEST]
    kind, after, before = visit.query.get("kind"), visit.time("after"), visit.time("before")
    filtered = kind is not None or after is not None or before is not None
    hits: list[Hit] = []
    if question or filtered:
        memory, valid_at = visit.memory, visit.time("valid_at")
        if kind is not None and kind not in FOUND:
            raise InvalidInput(f"there is no kind {kind[:50]!r} to be found; the kinds are {', '.join(FOUND)}")
        visit.begin()
        hits = memory.search(
            question, kind=kind, after=after, before=before, valid_at=valid_at, limit=_HITS, explain=True
        )
    return {
        "question": question,
        "began": bool(question or filtered),
        "hits": [(hit, score_parts(hit.reasons)) for hit in hits],
    }


def score_parts(parts: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the parts of a score with their meanings and the widths of their bars, in percent."""
    largest = sorted(((name, value) for name, value in parts.items() if abs(value) >= _SMALLEST), key=_by_size)
    most = abs(largest[0][1]) if largest else 1.0
    return [
        {"name": name, "value": value, "says": MEANINGS.get(name, name), "width": round(abs(value) / most * 100, 1)}
        for name, value in largest
    ]


def _by_size(part: tuple[str, float]) -> tuple[float, str]:
    return -abs(part[1]), part[0]
