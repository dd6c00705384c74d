"""Finding as frameworks expect it: the nearest, whatever they are worth."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, Final, Literal, cast

from rememo.adapters.verbatim import plain
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.record import Record

Mode = Literal["hybrid", "words", "vector"]
_MOST_HITS: Final = 1_000
_LONGEST_FILTERED: Final = 1_000
_MOST_FILTERED: Final = 32_768
_MOST_WHOLE: Final = 2**63
_DEEPEST: Final = 12
_LEFT_OUT: Final = object()


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


def filterable(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what filters see of a JSON value, as a record's metadata: its first level alone where all of it is too much.

    Long texts are left out, and what no record can hold as it is.
    """
    seen = cast("dict[str, Any]", _fit(value, _DEEPEST))
    if len(dump_json(seen)) > _MOST_FILTERED:
        seen = {key: one for key, one in seen.items() if not isinstance(one, dict | list)}
    return seen if len(dump_json(seen)) <= _MOST_FILTERED else {}


def _fit(value: object, depth: int) -> Any:
    """Return a value without what cannot be filtered by; `_LEFT_OUT` for one that cannot be at all."""
    if isinstance(value, Mapping) and depth:
        named = {key: _fit(one, depth - 1) for key, one in cast("Mapping[str, Any]", value).items()}
        return {key: one for key, one in named.items() if one is not _LEFT_OUT and _fit(key, 0) is not _LEFT_OUT}
    if isinstance(value, list | tuple) and depth:
        listed = (_fit(one, depth - 1) for one in cast("Sequence[Any]", value))
        return [one for one in listed if one is not _LEFT_OUT]
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_FILTERED and plain(value) == value else _LEFT_OUT
    if isinstance(value, float):
        return value if isfinite(value) else _LEFT_OUT
    if isinstance(value, int):
        return value if abs(value) < _MOST_WHOLE else _LEFT_OUT
    return value if value is None else _LEFT_OUT
