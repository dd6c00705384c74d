"""Storage for CrewAI's memory: its records as notes, in one file or on a server, searched exactly."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import MemoryHolder, writable_id
from rememo.adapters.missing_framework import missing_framework
from rememo.adapters.paging import list_latest
from rememo.adapters.retrieval import RetrievedRecord, oversample, rank_by_standing, strip_standing
from rememo.adapters.threads import in_thread
from rememo.adapters.vector_index import FIELD, FrameworkVectorIndex, pack_vector, unpack_vector
from rememo.errors import InvalidInput, NotFound
from rememo.memory import Memory
from rememo.model.check import check_object
from rememo.model.derived_ids import is_derived
from rememo.model.record import Record
from rememo.recall.embed.protocol import Embedder
from rememo.recall.embed.static import StaticEmbedder

try:
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    from crewai.memory.types import MemoryRecord, ScopeInfo
    from crewai.memory.utils import normalize_scope_path
except ImportError as error:
    raise missing_framework("CrewAI", "crewai", error) from error

_KIND: Final = "note"
_ROOM: Final = "crewai"
_SCOPES: Final = "crewai_scopes"
"""The metadata of a record: its scope and all scopes above it."""
_BYTES, _DEPTH = 60_000, 12
_MOST: Final = 10_000


class RememoEmbedder:
    """An embedder for CrewAI that needs no key, no server and no download; or any embedder of Rememo's."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        """Embed by Rememo's own word vectors unless an embedder is given."""
        self._embedder = embedder or StaticEmbedder()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text; nothing but zeros for one without content."""
        nothing = [0.0] * self._embedder.dimension
        return [
            nothing if vector is None else vector.tolist()
            for vector in self._embedder.embed([storable_text(text) for text in texts])
        ]


class RememoStorage(MemoryHolder):
    """A storage backend of CrewAI's `Memory`. A scope has what is below it: `/crew` has `/crew/a`, and not `/crews`.

    Records are notes of a room: found by search, kept in versions, exported and erased like all records. Recall does
    not write: when a record was last accessed stays as CrewAI saved it.
    """

    def __init__(self, memory: Memory | str | Path = "rememo.db") -> None:
        """Keep records in a memory, a view of one, or a memory at a path or address, which `close()` closes.

        The room is that of the view, or `crewai`.
        """
        super().__init__(memory)
        self._view = self._memory.scope(room=self._memory.bound.room or _ROOM)
        self._vectors = FrameworkVectorIndex(self._view, _KIND)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: a copy of a crew has the same memory."""
        return self

    # ---- writing

    def save(self, records: list[MemoryRecord]) -> None:
        """Save records, all or none; one whose id is there already is replaced."""
        if not records:
            return
        new = {len(record.embedding) for record in records if record.embedding}
        stored = self._vectors.lengths()
        for length in sorted(new):
            if other := sorted((new | stored) - {length}):
                raise EmbeddingDimensionMismatchError(other[0], length)
        # A note of another origin may have a derived id, which nobody can give: what is there is replaced under it.
        derived = [record.id for record in records if is_derived(record.id)]
        existing = self._view.list(ids=derived, limit=len(derived)) if derived else []
        ids = {record.id: writable_id(record) for record in existing}
        self._view.add_many([_note_fields(record) | {"id": ids.get(record.id, record.id)} for record in records])

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id."""
        self.save([record])

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that meet all criteria which are given, and return how many; an empty list meets none."""
        if (categories is not None and not categories) or (record_ids is not None and not record_ids):
            return 0
        chosen = [
            record.id
            for record, memory in self._chosen(scope_prefix, categories, metadata_filter)
            if (record_ids is None or record.id in record_ids)
            and (older_than is None or _as_utc(memory.created_at) < _as_utc(older_than))
        ]
        return self._view.delete_where(kind=_KIND, ids=chosen) if chosen else 0

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records of a scope, or all."""
        self._view.delete_where(kind=_KIND, metadata=_scope_filter(scope_prefix))

    # ---- reading

    def search(  # noqa: PLR0917 - the signature is theirs
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the nearest records with their cosines, best first; filters come before the best are chosen.

        What something later superseded stands behind it, with the same score at the most, and says so under `rememo` in
        its metadata.
        """
        if limit <= 0 or not any(query_embedding):
            return []
        lengths = self._vectors.lengths()
        if lengths and len(query_embedding) not in lengths:
            raise EmbeddingDimensionMismatchError(min(lengths), len(query_embedding))
        among = None
        if _scope_filter(scope_prefix) or categories or metadata_filter:
            among = {record.id for record, _ in self._chosen(scope_prefix, categories, metadata_filter)}
        near = [(id, min(1.0, max(0.0, score))) for id, score in self._vectors.nearest(query_embedding, among=among)]
        best = [(id, score) for id, score in near[: min(oversample(limit), _MOST)] if score >= min_score]
        records = {record.id: record for record in self._view.list(kind=_KIND, ids=[id for id, _ in best], limit=_MOST)}
        ranked = rank_by_standing(
            self._view, [RetrievedRecord(record=records[id], score=score) for id, score in best if id in records]
        )
        return [(_retrieved_memory_record(item), item.score or 0.0) for item in ranked[:limit]]

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record, or None when there is none of that id."""
        try:
            record = self._view.get(record_id)
        except (InvalidInput, NotFound):
            return None
        return _memory_record(record) if record.kind == _KIND else None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return the records of a scope, newest first."""
        if limit <= 0 or offset < 0:
            return []
        records = list_latest(self._view, limit + offset, metadata=_scope_filter(scope_prefix), kind=_KIND)
        return [_memory_record(record) for record in records[::-1][offset:]]

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records a scope has."""
        return self._view.count(kind=_KIND, metadata=_scope_filter(scope_prefix))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return the record count, categories, times and child scopes of a scope."""
        path = normalize_scope_path(scope)
        memories = [memory for _, memory in self._chosen(path)]
        times = sorted((memory.created_at for memory in memories), key=_as_utc)
        return ScopeInfo(
            path=path,
            record_count=len(memories),
            categories=sorted({name for memory in memories for name in memory.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=_child_scopes(path, memories),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below one, sorted."""
        path = normalize_scope_path(parent)
        return _child_scopes(path, (memory for _, memory in self._chosen(path)))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the categories of a scope with how many records each has."""
        return dict(Counter(name for _, memory in self._chosen(scope_prefix) for name in memory.categories))

    asave, asearch, adelete = in_thread(save), in_thread(search), in_thread(delete)

    def _chosen(
        self,
        scope_prefix: str | None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> list[tuple[Record, MemoryRecord]]:
        records = list_latest(self._view, metadata=_scope_filter(scope_prefix), kind=_KIND)
        conditions = (metadata_filter or {}).items()
        return [
            (record, memory)
            for record, memory in ((note, _memory_record(note)) for note in records)
            if (not categories or any(name in memory.categories for name in categories))
            and all(name in memory.metadata and memory.metadata[name] == value for name, value in conditions)
        ]


def _note_fields(record: MemoryRecord) -> dict[str, Any]:
    """Return the arguments of `Memory.add` for a record of CrewAI's."""
    path = normalize_scope_path(record.scope)
    parts = path.strip("/").split("/") if path != "/" else []
    scopes = ["/" + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    fields = record.model_dump(mode="json")
    data = pack_json(fields | {"scope": path, "metadata": strip_standing(fields["metadata"])})
    if record.embedding:
        data[FIELD] = pack_vector(record.embedding)
    try:
        metadata = check_object(strip_standing(record.metadata), "metadata", max_bytes=_BYTES, max_depth=_DEPTH)
    except InvalidInput:
        metadata = {}  # what cannot be filtered by stands in the data
    return {
        "text": storable_text(record.content),
        "kind": _KIND,
        "id": record.id,
        "on_conflict": "replace",
        "data": data,
        "metadata": metadata | {_SCOPES: scopes},
        "importance": record.importance,
        "occurred_at": _as_utc(record.created_at),
    }


def _memory_record(record: Record) -> MemoryRecord:
    """Return the record of CrewAI's that a note holds; a note of another origin is one in the widest scope."""
    vector = record.data.get(FIELD)
    embedding = unpack_vector(vector) if isinstance(vector, str) else None
    if _SCOPES in record.metadata:
        return MemoryRecord(**unpack_json(record.data), embedding=embedding)
    at = record.at.astimezone(UTC).replace(tzinfo=None)  # CrewAI's times have no timezone
    importance = 0.5 if record.importance is None else record.importance
    return MemoryRecord(
        id=record.id,
        content=record.text,
        metadata=record.metadata,
        importance=importance,
        created_at=at,
        last_accessed=at,
        embedding=embedding,
    )


def _retrieved_memory_record(retrieved: RetrievedRecord) -> MemoryRecord:
    """Return a retrieved record, marked where it was superseded."""
    record = _memory_record(retrieved.record)
    return record.model_copy(update={"metadata": {**record.metadata, **retrieved.mark}}) if retrieved.mark else record


def _scope_filter(scope_prefix: str | None) -> dict[str, Any]:
    path = normalize_scope_path(scope_prefix or "/")
    return {} if path == "/" else {_SCOPES: {"$contains": path}}


def _child_scopes(path: str, records: Iterable[MemoryRecord]) -> list[str]:
    above = path.rstrip("/") + "/"
    below = (
        record.scope.removeprefix(above) for record in records if record.scope.startswith(above) and record.scope != "/"
    )
    return sorted({above + rest.split("/", 1)[0] for rest in below})


def _as_utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
