"""Serializer of records in mem0's shapes."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from math import sqrt
from typing import Any, Final, cast

from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.serve.mem0.filters import APP

REPLACES: Final = "mem0:replaces"
"""The metadata key with the ids that a record replaced; internal, not returned."""
_TICK: Final = timedelta(microseconds=1)
_DIGITS: Final = 6


def replaced_ids(record: Record) -> list[str]:
    """Return the ids that a record replaced; a client may have written anything under that key."""
    named: object = record.metadata.get(REPLACES)
    return [id for id in cast("list[object]", named) if isinstance(id, str)] if isinstance(named, list) else []


def to_memory(record: Record, *, score: float | None = None) -> dict[str, Any]:
    """Return a record as a memory."""
    metadata = {name: value for name, value in record.metadata.items() if name not in (APP, REPLACES)}
    expires = record.expires_at
    memory: dict[str, Any] = {
        "id": record.id,
        "memory": record.text,
        "hash": hashlib.md5(record.text.encode(), usedforsecurity=False).hexdigest(),
        "user_id": record.scope.user,
        "agent_id": record.scope.agent,
        "app_id": record.metadata.get(APP),
        "run_id": record.scope.room,
        "metadata": metadata,
        "categories": [record.kind],
        # When it happened, where that is known: their `timestamp` says when a memory was made.
        "created_at": record.at.isoformat(),
        "updated_at": record.updated_at.isoformat(),
        # A memory expires at the end of that day.
        "expiration_date": None if expires is None else (expires - _TICK).date().isoformat(),
    }
    return memory if score is None else {**memory, "score": round(to_mem0_score(score), _DIGITS)}


def to_search_result(hit: Hit) -> dict[str, Any]:
    """Return a hit as a memory, with its validity status and its sources."""
    return {
        **to_memory(hit.record, score=hit.score),
        "status": hit.status,
        "superseded_by": hit.superseded_by,
        "sources": [{"id": source.id, "memory": source.text} for source in hit.sources],
    }


def to_mem0_score(score: float) -> float:
    """Convert a score of Rememo's to mem0's scale.

    Theirs are cosines, of which a tenth still means something, and their command line cuts at 0.3; ours fall off faster.
    """
    return sqrt(max(0.0, score))


def from_mem0_score(score: float) -> float:
    """Convert a score of mem0's scale to ours."""
    return score * score


def to_event(record: Record, event: str) -> dict[str, Any]:
    """Return a record as an event of an add."""
    return {**to_memory(record), "event": event}


def to_history(versions: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the history of a memory, oldest first."""
    entries: list[dict[str, Any]] = []
    before: Record | None = None
    for version in versions:
        # mem0's history has changes of the text only.
        if before is None or version.text != before.text:
            entries.append(_to_history_entry(version, before, version, "ADD" if before is None else "UPDATE"))
        before = version
    if before is not None and before.deleted:
        entries.append(_to_history_entry(before, before, None, "DELETE"))
    return entries


def _to_history_entry(record: Record, old: Record | None, new: Record | None, event: str) -> dict[str, Any]:
    at = record.recorded_at if new is not None else record.superseded_at or record.recorded_at
    memory = to_memory(record)
    return {
        "id": f"{record.id}:{record.version}" if new is not None else f"{record.id}:{record.version}:deleted",
        "memory_id": record.id,
        "old_memory": None if old is None else old.text,
        "new_memory": None if new is None else new.text,
        "event": event,
        **{name: memory[name] for name in ("user_id", "agent_id", "app_id", "run_id", "metadata", "categories")},
        "created_at": record.created_at.isoformat(),
        "updated_at": at.isoformat(),
        "is_deleted": new is None,
    }
