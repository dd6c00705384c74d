"""Retrieval as frameworks expect it: the nearest records whatever their score, each with its standing (current or superseded)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final, Literal, cast

from rememo.adapters.json_values import storable_text
from rememo.context.revision_filter import is_about_past
from rememo.engine.record_status import RecordStatus, record_statuses
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.model.times import now

Mode = Literal["hybrid", "words", "vector"]
_MAX_HITS: Final = 1_000
_MIN_NEAREST: Final = 40
_MAX_FILTERED_TEXT: Final = 1_000
_MAX_FILTERED_BYTES: Final = 32_768
_MAX_INTEGER: Final = 2**63
_MAX_DEPTH: Final = 12
_OMITTED: Final = object()
_UNKNOWN: Final = RecordStatus()
STANDING_KEY: Final = "rememo"
"""The key in a framework's metadata under which a record's standing is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedRecord:
    """A retrieved record with its score and its standing."""

    record: Record
    score: float | None
    """None for a record that was listed, not searched for."""
    standing: RecordStatus = _UNKNOWN
    """Whether the record is current or superseded."""

    @property
    def mark(self) -> dict[str, Any]:
        """Return the metadata to add for a framework: `rememo` with the standing of a superseded record, else nothing."""
        return {STANDING_KEY: self.standing.to_dict()} if self.standing.status == "superseded" else {}


def retrieve(
    view: Memory,
    query: str,
    limit: int,
    *,
    mode: Mode = "hybrid",
    kind: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[RetrievedRecord]:
    """Return `limit` records, best first, as long as there are that many.

    Frameworks expect the nearest whatever their score: after the hits come the nearest by vector, and last
    the newest records that have no vector, without a score.
    """
    most = min(limit, _MAX_HITS)
    results: dict[str, RetrievedRecord] = {}
    if mode == "hybrid" and kind is not None:
        results = _retrieve_by_facts(view, query, most, kind, metadata)
    if not results or len(results) < limit:
        least = min((result.score for result in results.values() if result.score is not None), default=1.0)
        for hit in view.search(query, kind=kind, limit=most, metadata=metadata, mode=mode):
            results.setdefault(hit.id, from_hit(replace(hit, score=min(hit.score, least))))
    if len(results) < limit:
        rest = view.list(kind=kind, metadata=metadata, limit=limit)
        more: dict[str, RetrievedRecord] = {}
        if mode == "hybrid" and len(rest) > len(results):
            with suppress(InvalidInput):  # a memory that keeps no vectors
                for hit in view.search(query, kind=kind, limit=most, metadata=metadata, mode="vector"):
                    more[hit.id] = RetrievedRecord(record=hit.record, score=hit.score)
        for record in reversed(rest):
            more.setdefault(record.id, RetrievedRecord(record=record, score=None))
        results |= {
            result.record.id: result
            for result in rank_by_standing(view, [result for id, result in more.items() if id not in results])
        }
    return list(results.values())[:limit]


def _retrieve_by_facts(
    view: Memory, query: str, limit: int, kind: str, metadata: Mapping[str, Any] | None
) -> dict[str, RetrievedRecord]:
    """Return the results of a search with facts, each fact replaced by its source records; nothing where no fact answers."""
    hits = view.search(query, kind=[kind, "fact"], limit=oversample(limit))
    if not hits or hits[0].record.kind != "fact":
        return {}
    results: dict[str, RetrievedRecord] = {}
    for hit in hits:
        sources = reversed(hit.record.data.get("sources") or ()) if hit.record.kind == "fact" else (hit.id,)
        for id in sources:
            results.setdefault(id, from_hit(hit))
    records = {
        record.id: record for record in view.list(kind=kind, ids=list(results), metadata=metadata, limit=len(results))
    }
    with_records = {id: replace(result, record=records[id]) for id, result in results.items() if id in records}
    return dict(list(with_records.items())[:limit])


def oversample(limit: int) -> int:
    """Return how many nearest records to fetch for a limit, so that a current record is among them beside those it superseded."""
    return min(_MAX_HITS, max(_MIN_NEAREST, 2 * limit))


def from_hit(hit: Hit) -> RetrievedRecord:
    """Return a search hit as a retrieved record."""
    standing = RecordStatus(status=hit.status, superseded_by=hit.superseded_by)
    return RetrievedRecord(record=hit.record, score=hit.score, standing=standing)


def drop_superseded(query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits to show a model: superseded ones only when the question asks about the past."""
    past = is_about_past(query, now())
    return [hit for hit in hits if past or hit.status != "superseded"]


def rank_by_standing(view: Memory, results: Sequence[RetrievedRecord]) -> list[RetrievedRecord]:
    """Return results with their standing filled in, each superseded one behind the one that superseded it."""
    scoped_view = view_of(view)
    now = scoped_view.engine.now()
    scoped_view.wait_for_extraction()
    statuses = record_statuses(
        scoped_view.engine,
        scoped_view.scope.tenant,
        [result.record for result in results],
        now,
        known_at=scoped_view.known_at,
    )
    by_id = {result.record.id: replace(result, standing=statuses[result.record.id]) for result in results}
    ordered: dict[str, RetrievedRecord] = {}
    for result in by_id.values():
        newer = _replacement(view, result, by_id)
        if (
            newer is not None
            and newer.record.id not in ordered
            and newer.score is not None
            and result.score is not None
        ):
            ordered[newer.record.id] = replace(newer, score=max(newer.score, result.score))
        ordered.setdefault(result.record.id, result)
    return list(ordered.values())


def _replacement(
    view: Memory, superseded: RetrievedRecord, retrieved: Mapping[str, RetrievedRecord]
) -> RetrievedRecord | None:
    """Return the result that superseded another one, where it is among the results too."""
    record = None if superseded.standing.superseded_by in retrieved else current_record(view, superseded.standing)
    id = superseded.standing.superseded_by if record is None else record.id
    return retrieved.get(id or "")


def current_record(view: Memory, standing: RecordStatus) -> Record | None:
    """Return the record that superseded another, if this view may see it; for a fact, the last record it was learned from."""
    if standing.superseded_by is None:
        return None
    with suppress(NotFound):
        record = view.get(standing.superseded_by)
        return view.get(record.data["sources"][-1]) if record.kind == "fact" and record.data.get("sources") else record
    return None


def strip_standing(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the standing that an earlier retrieval added: it may have changed since."""
    mark: object = metadata.get(STANDING_KEY)
    is_standing = isinstance(mark, Mapping) and set(cast("Mapping[str, Any]", mark)) == {"status", "superseded_by"}
    return {name: value for name, value in metadata.items() if not (is_standing and name == STANDING_KEY)}


def filterable_metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON value as filterable metadata; only its first level where the whole is too large.

    Long texts are omitted, and values that a record cannot store unchanged.
    """
    seen = cast("dict[str, Any]", _filterable_value(value, _MAX_DEPTH))
    if len(dump_json(seen)) > _MAX_FILTERED_BYTES:
        seen = {key: item for key, item in seen.items() if not isinstance(item, dict | list)}
    return seen if len(dump_json(seen)) <= _MAX_FILTERED_BYTES else {}


def _filterable_value(value: object, depth: int) -> Any:
    """Return a value without what cannot be filtered by; `_LEFT_OUT` for one that cannot be at all."""
    if isinstance(value, Mapping) and depth:
        named = {key: _filterable_value(item, depth - 1) for key, item in cast("Mapping[str, Any]", value).items()}
        return {
            key: item
            for key, item in named.items()
            if item is not _OMITTED and _filterable_value(key, 0) is not _OMITTED
        }
    if isinstance(value, list | tuple) and depth:
        listed = (_filterable_value(item, depth - 1) for item in cast("Sequence[Any]", value))
        return [item for item in listed if item is not _OMITTED]
    if isinstance(value, str):
        return value if len(value) <= _MAX_FILTERED_TEXT and storable_text(value) == value else _OMITTED
    if isinstance(value, float):
        return value if isfinite(value) else _OMITTED
    if isinstance(value, int):
        return value if abs(value) < _MAX_INTEGER else _OMITTED
    return value if value is None else _OMITTED
