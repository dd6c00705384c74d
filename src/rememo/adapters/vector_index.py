"""Vectors that a framework supplies: stored with records unchanged, and searched exactly, whatever their model."""

import base64
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from threading import Lock
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from rememo.adapters.paging import list_latest
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.record import Record

FIELD: Final = "embedding"
"""The field of a record's data that holds a vector."""
_PAGE: Final = 1_000
_OVERLAP: Final = timedelta(seconds=1)
"""Changes this shortly before the last record are read again: they may have been committed after it was read."""

Similarity = Literal["cosine", "dot_product"]


def pack_vector(vector: Iterable[float]) -> str:
    """Return a vector as text that gives exactly the same numbers back."""
    try:
        wide = np.asarray(list(vector), "<f8")
    except (TypeError, ValueError):
        raise InvalidInput("an embedding must be a list of numbers") from None
    if wide.ndim != 1:
        raise InvalidInput("an embedding must be one list of numbers")
    with np.errstate(over="ignore"):
        narrow = wide.astype("<f4")
    exact = narrow if np.array_equal(narrow, wide) else wide
    return f"{exact.dtype.str}:{base64.b64encode(exact.tobytes()).decode()}"


def unpack_vector(text: str) -> list[float]:
    """Return the vector that was packed."""
    kind, _, numbers = text.partition(":")
    return np.frombuffer(base64.b64decode(numbers), kind).astype(np.float64).tolist()


class FrameworkVectorIndex:
    """An in-memory index of the vectors of a view's records of one kind; thread-safe.

    Each search first takes in what changed since the last, by whichever process. Vectors of another length than the one
    that is searched with are of another model and never compared with it; those of zeros or without an end neither.
    """

    def __init__(self, view: Memory, kind: str) -> None:
        self._view, self._kind = view, kind
        self._lock = Lock()
        self._vectors: dict[str, NDArray[np.float32] | None] = {}
        self._ready: dict[int, tuple[list[str], NDArray[np.float32], NDArray[np.float32]]] = {}
        self._after: str | datetime | None = None
        self._loaded = False

    def nearest(
        self, vector: Iterable[float], *, among: Collection[str] | None = None, by: Similarity = "cosine"
    ) -> list[tuple[str, float]]:
        """Return the ids of all records with such a vector, or of those among some ids, nearest first, with a score."""
        query = np.asarray(list(vector), np.float32)
        with self._lock:
            self._follow()
            ids, rows, lengths = self._matrix(len(query))
        if among is not None:
            rows_among = [row for row, id in enumerate(ids) if id in among]
            ids, rows, lengths = [ids[row] for row in rows_among], rows[rows_among], lengths[rows_among]
        scores = rows @ query
        if by == "cosine":
            scores = scores / (lengths * (float(np.linalg.norm(query)) or 1.0))
        order = np.argsort(-scores, kind="stable").tolist()
        return [(ids[row], float(scores[row])) for row in order]

    def lengths(self) -> set[int]:
        """Return the lengths of the indexed vectors."""
        with self._lock:
            self._follow()
            return {len(vector) for vector in self._vectors.values() if vector is not None}

    def _matrix(self, dimension: int) -> tuple[list[str], NDArray[np.float32], NDArray[np.float32]]:
        if dimension not in self._ready:
            entries = [
                (id, vector) for id, vector in self._vectors.items() if vector is not None and len(vector) == dimension
            ]
            rows = np.stack([vector for _, vector in entries]) if entries else np.zeros((0, dimension), np.float32)
            self._ready[dimension] = [id for id, _ in entries], rows, np.linalg.norm(rows, axis=1)
        return self._ready[dimension]

    def _follow(self) -> None:
        if not self._loaded:
            self._load()
            return
        while changed := self._view.changes(after=self._after, limit=_PAGE):
            for change in changed:
                if change.record.kind == self._kind and change.outcome != "deleted":
                    self._take(change.record)
                elif self._vectors.pop(change.id, None) is not None:
                    self._ready.clear()
            self._after = changed[-1].cursor
        # Erasures, imports and expiries are not in the change feed.
        if self._view.count(kind=self._kind) != len(self._vectors):
            self._load()

    def _load(self) -> None:
        self._vectors.clear()
        self._ready.clear()
        records = list_latest(self._view, metadata={}, kind=self._kind)
        for record in records:
            self._take(record)
        since = max((record.recorded_at for record in records), default=None)
        self._after = None if since is None else since - _OVERLAP
        self._loaded = True

    def _take(self, record: Record) -> None:
        text = record.data.get(FIELD)
        vector = np.asarray(unpack_vector(text), np.float32) if isinstance(text, str) else None
        usable = vector is not None and bool(np.isfinite(vector).all()) and bool(vector.any())
        before = self._vectors.get(record.id)
        self._vectors[record.id] = vector if usable else None
        if before is not None or usable:
            self._ready.clear()
