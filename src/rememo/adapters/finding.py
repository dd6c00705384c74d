"""Finding as frameworks expect it: the nearest, whatever they are worth."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, cast

from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.record import Record

Mode = Literal["hybrid", "words", "vector"]
_MOST_HITS: Final = 1_000
_LONGEST_FILTERED: Final = 1_000
_MOST_FILTERED: Final = 32_768


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
    """Return what filters see of a value: all of it but long texts, and its first level alone where that is too much."""
    seen = cast("dict[str, Any]", _shortened(value))
    if len(dump_json(seen)) > _MOST_FILTERED:
        seen = {key: one for key, one in seen.items() if not isinstance(one, dict | list)}
    return seen if len(dump_json(seen)) <= _MOST_FILTERED else {}


def _shortened(value: object) -> Any:
    if isinstance(value, Mapping):
        named = cast("Mapping[str, Any]", value)
        return {key: _shortened(one) for key, one in named.items() if not _long(one)}
    if isinstance(value, list | tuple):
        return [_shortened(one) for one in cast("Sequence[Any]", value) if not _long(one)]
    return value


def _long(value: object) -> bool:
    return isinstance(value, str) and len(value) > _LONGEST_FILTERED
