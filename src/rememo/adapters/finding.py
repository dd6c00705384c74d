"""Finding as frameworks expect it: the nearest, whatever they are worth."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.record import Record

Mode = Literal["hybrid", "words", "vector"]
_MOST_HITS = 1_000


def best(
    view: Memory,
    query: str,
    limit: int,
    *,
    mode: Mode = "hybrid",
    kind: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[tuple[Record, float | None]]:
    """Return `limit` records with their scores, best first, as long as there are that many.

    Frameworks expect the nearest whatever they are worth: after those that answer come the nearest by meaning, and last
    the newest that have no vector, without a score.
    """
    most = min(limit, _MOST_HITS)
    found: dict[str, tuple[Record, float | None]] = {}
    for hit in view.search(query, kind=kind, limit=most, metadata=metadata, mode=mode):
        found[hit.record.id] = (hit.record, hit.score)
    if len(found) < limit:
        rest = view.list(kind=kind, metadata=metadata, limit=limit)
        if mode == "hybrid" and len(rest) > len(found):
            with suppress(InvalidInput):  # a memory that keeps no vectors
                for hit in view.search(query, kind=kind, limit=most, metadata=metadata, mode="vector"):
                    found.setdefault(hit.record.id, (hit.record, hit.score))
        for record in reversed(rest):
            found.setdefault(record.id, (record, None))
    return list(found.values())[:limit]
