"""A document store of Haystack whose documents are the notes of a room."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, Self, cast

from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret
from haystack.utils.filters import document_matches_filter

from rememo.adapters.haystack.documents import (
    KIND,
    UNFILTERABLE,
    note_fields,
    read_document,
    record_id,
    retrieved_document,
)
from rememo.adapters.haystack.filters import check_filters, metadata_conditions
from rememo.adapters.haystack.metadata import MetadataQueries
from rememo.adapters.json_values import storable_text
from rememo.adapters.memory_holder import writable_id
from rememo.adapters.paging import list_latest
from rememo.adapters.retrieval import RetrievedRecord, from_hit, oversample, rank_by_standing
from rememo.adapters.threads import in_thread
from rememo.adapters.vector_index import FrameworkVectorIndex, Similarity
from rememo.errors import AlreadyExists, InvalidInput
from rememo.memory import Memory
from rememo.model.record import Record

_ROOM: Final = "documents"
_MAX_TOP_K: Final = 1_000
_PAGE: Final = 10_000
_MAX_ID: Final = 512
_ON_CONFLICT: Final = {DuplicatePolicy.SKIP: "ignore", DuplicatePolicy.OVERWRITE: "replace"}
Mode = Literal["hybrid", "words", "vector"]


class RememoDocumentStore(MetadataQueries):
    """Documents as notes of a room, the index: found by search, kept in versions, exported and erased like all records.

    A note that was written to the room otherwise is a document too. Every write is made in whole or not at all. The
    documents' own embeddings are kept as they are and searched exactly; the memory's embedder is another matter.
    """

    def __init__(
        self,
        memory: Memory | str | Path | Secret = "rememo.db",
        *,
        index: str | None = None,
        embedding_similarity_function: Similarity = "cosine",
        return_embedding: bool = True,
    ) -> None:
        """Keep documents in a memory, a view of one, or a memory at a path or address, which is opened when first used.

        `index` is the room: that of the view, or `documents`, unless given. An address with a password is best given as
        `Secret.from_env_var(…)`. Only what is given by a path, an address or a secret can be written by `to_dict`.
        """
        if embedding_similarity_function not in ("cosine", "dot_product"):
            raise InvalidInput(
                f'embedding_similarity_function must be "cosine" or "dot_product", not {embedding_similarity_function!r}'
            )
        self.index = index
        self.embedding_similarity_function: Similarity = embedding_similarity_function
        self.return_embedding = return_embedding
        self._memory_source = memory
        self._opened: Memory | None = None
        self._room: Memory | None = None
        self._ready: FrameworkVectorIndex | None = None
        self._lock = Lock()

    # ---- what it stands on

    @property
    def _view(self) -> Memory:
        with self._lock:
            if self._room is None:
                self._room = self._open()
            return self._room

    def _open(self) -> Memory:
        memory = self._memory_source
        if isinstance(memory, Secret):
            memory = cast("str", memory.resolve_value())
        if not isinstance(memory, Memory):
            self._opened = memory = Memory(memory)
        return memory.scope(room=self.index or memory.bound.room or _ROOM)

    @property
    def _vectors(self) -> FrameworkVectorIndex:
        view = self._view
        with self._lock:
            if self._ready is None:
                self._ready = FrameworkVectorIndex(view, KIND)
            return self._ready

    def close(self) -> None:
        """Close the memory, if it was opened here; it is opened again when it is used again."""
        with self._lock:
            opened, self._opened, self._room, self._ready = self._opened, None, None, None
        if opened is not None:
            opened.close()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; a memory that was given as an object raises `InvalidInput`."""
        if isinstance(self._memory_source, Memory):
            raise InvalidInput(
                "a store over a Memory object cannot be serialized; give it the memory's path or address"
            )
        return default_to_dict(
            self,
            memory=self._memory_source if isinstance(self._memory_source, Secret) else str(self._memory_source),
            index=self.index,
            embedding_similarity_function=self.embedding_similarity_function,
            return_embedding=self.return_embedding,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a store of what `to_dict` returned."""
        return default_from_dict(cls, data)

    # ---- documents

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self._view.count(kind=KIND)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match the filters, in the order they were first written."""
        return [document for _, document in self._matching(filters)]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Write documents, all or none, and return how many were written; without a policy a known id is an error."""
        if not isinstance(documents, Iterable) or isinstance(documents, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"write_documents() takes a list of documents, not {type(documents).__name__}")
        all_documents = list(documents)
        for document in all_documents:
            if not isinstance(document, Document):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
                raise InvalidInput(f"write_documents() takes documents, not {type(document).__name__}")
        policy = policy or DuplicatePolicy.NONE
        items: dict[str, Document] = {}
        for document in all_documents:
            if document.id in items and policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
                raise DuplicateDocumentError(f"the document {document.id!r} is given twice; nothing was written")
            if document.id not in items or policy == DuplicatePolicy.OVERWRITE:
                items[document.id] = document
        existing = self._existing_records(list(items))
        conflict = _ON_CONFLICT.get(policy, "error")
        # What is there keeps its id, whichever it is: a note of another origin has its own.
        ids = {id: writable_id(existing[id]) if id in existing else record_id(self._view, id) for id in items}
        try:
            receipt = self._view.add_many(
                note_fields(document, ids[id]) | {"on_conflict": conflict} for id, document in items.items()
            )
        except AlreadyExists as error:
            existing_id = next((id for id in items if id in existing), "given")
            raise DuplicateDocumentError(
                f"a document with the id {existing_id!r} exists; nothing was written"
            ) from error
        if policy == DuplicatePolicy.SKIP:
            return sum(outcome == "added" for outcome in receipt.outcomes.values())
        return len(all_documents)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; unknown ids are ignored."""
        self._end([record.id for record in self._existing_records(document_ids).values()])

    def delete_all_documents(self) -> int:
        """Delete all documents and return how many."""
        return self._view.delete_where(kind=KIND)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match the filters and return how many."""
        return self._end([record.id for record, _ in self._matching(filters)])

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Update the meta of the documents that match the filters and return how many."""
        matching = self._matching(filters, embedding=True)
        changed = [(record, replace(document, meta={**document.meta, **meta})) for record, document in matching]
        items = [
            note_fields(document, writable_id(record)) | {"on_conflict": "replace"} for record, document in changed
        ]
        if items:
            self._view.add_many(items)
        return len(items)

    count_documents_async = in_thread(count_documents)
    filter_documents_async = in_thread(filter_documents)
    write_documents_async = in_thread(write_documents)
    delete_documents_async = in_thread(delete_documents)
    delete_all_documents_async = in_thread(delete_all_documents)
    delete_by_filter_async = in_thread(delete_by_filter)
    update_by_filter_async = in_thread(update_by_filter)

    # ---- retrieval

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool | None = None,
    ) -> list[Document]:
        """Return the documents whose embeddings are nearest, best first, among those that match the filters."""
        if not query_embedding or top_k < 0:
            raise InvalidInput("embedding_retrieval() needs a query_embedding, and a top_k from 0")
        among = None if not filters else {record.id for record, _ in self._matching(filters)}
        near = self._vectors.nearest(query_embedding, among=among, by=self.embedding_similarity_function)[
            : oversample(top_k)
        ]
        records = {record.id: record for record in self._read([id for id, _ in near])}
        ranked = rank_by_standing(
            self._view, [RetrievedRecord(record=records[id], score=score) for id, score in near if id in records]
        )
        with_embedding = self.return_embedding if return_embedding is None else return_embedding
        return [retrieved_document(result, embedding=with_embedding) for result in ranked[:top_k]]

    def text_retrieval(
        self,
        query: str,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        mode: Mode = "hybrid",
        return_embedding: bool | None = None,
    ) -> list[Document]:
        """Return the documents that answer a question by this memory's own recall, best first."""
        if not query.strip() or not 0 <= top_k <= _MAX_TOP_K:
            raise InvalidInput(f"text_retrieval() needs a query, and a top_k from 0 to {_MAX_TOP_K:,}")
        if top_k == 0:
            return []
        ids = None if not filters else [record.id for record, _ in self._matching(filters)]
        hits = self._view.search(storable_text(query), kind=KIND, ids=ids, limit=top_k, mode=mode)
        with_embedding = self.return_embedding if return_embedding is None else return_embedding
        return [retrieved_document(from_hit(hit), embedding=with_embedding) for hit in hits]

    # ---- inside

    def _matching(
        self, filters: dict[str, Any] | None, *, embedding: bool | None = None
    ) -> list[tuple[Record, Document]]:
        checked, with_embedding = check_filters(filters), self.return_embedding if embedding is None else embedding
        metadata = metadata_conditions(checked)
        if metadata and self._view.count(kind=KIND, metadata=UNFILTERABLE):
            metadata = {}
        records = list_latest(self._view, metadata=metadata, kind=KIND)
        matching = [(record, read_document(record)) for record in records]
        if checked is not None:
            matching = [
                (record, document) for record, document in matching if document_matches_filter(checked, document)
            ]
        return (
            matching
            if with_embedding
            else [(record, replace(document, embedding=None)) for record, document in matching]
        )

    def _existing_records(self, document_ids: Iterable[str]) -> dict[str, Record]:
        """Return the records of documents that are there, by the documents' ids."""
        ids = list(document_ids)
        written = self._read(record_id(self._view, id) for id in ids)
        # A note of another origin is known by its own id.
        foreign = self._read(
            id for id in ids if 0 < len(storable_text(id).encode()) <= _MAX_ID and storable_text(id) == id
        )
        by_id = {read_document(record, embedding=False).id: record for record in (*foreign, *written)}
        return {id: by_id[id] for id in ids if id in by_id}

    def _read(self, ids: Iterable[str]) -> list[Record]:
        all_ids = list(ids)
        pages = (all_ids[start : start + _PAGE] for start in range(0, len(all_ids), _PAGE))
        return [record for page in pages for record in self._view.list(kind=KIND, ids=page, limit=_PAGE)]

    def _end(self, ids: list[str]) -> int:
        return self._view.delete_where(kind=KIND, ids=ids) if ids else 0
