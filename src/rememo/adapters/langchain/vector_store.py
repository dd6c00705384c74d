"""LangChain's vector store: documents that are found by words and by meaning together."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self
from uuid import UUID, uuid4, uuid5

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from rememo.adapters.langchain.documents import DOCUMENT_MARK, KIND, note_fields, read_document, retrieved_document
from rememo.adapters.langchain.embedder import LangChainEmbedder
from rememo.adapters.memory_holder import MemoryHolder, MemorySource, derived_id
from rememo.adapters.retrieval import Mode, RetrievedRecord, oversample, rank_by_standing, retrieve
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.recall.embed.protocol import Embedder, Vector, embed_question
from rememo.recall.embed.static import StaticEmbedder

_IDS: Final = UUID("c2f4a9d6-1e3b-5c70-9b8e-5a6d2f7e0c41")

Filter = Mapping[str, Any] | None
"""Conditions on a document's metadata, as `memory.search` takes them."""


class RememoVectorStore(MemoryHolder, VectorStore):
    """Documents in a memory, a view of one, or a memory at a path, which is then closed with the store.

    `embedding` embeds what a memory that is opened here holds; without one no model is needed. An open memory has its
    own embedder: `Memory(…, embedder=LangChainEmbedder(…))`. `mode` is that of `memory.search`: "hybrid", or "vector" for
    the meaning alone. A document is a record of kind `note` in exactly the scope of the view.
    """

    def __init__(
        self, memory: MemorySource = "rememo.db", embedding: Embeddings | None = None, *, mode: Mode = "hybrid"
    ) -> None:
        if embedding is not None and isinstance(memory, Memory):
            raise InvalidInput(
                "this memory is open and has an embedder; open it with Memory(…, embedder=LangChainEmbedder(…)),"
                " or give its path here"
            )
        self._embedding = embedding
        self._embedder: Embedder = StaticEmbedder() if embedding is None else LangChainEmbedder(embedding)
        MemoryHolder.__init__(self, memory, embedder="static" if embedding is None else self._embedder)
        self._mode: Mode = mode

    @property
    def embeddings(self) -> Embeddings | None:
        """The model that was given."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        memory: MemorySource = "rememo.db",
        **kwargs: Any,
    ) -> Self:
        """Return a store that has these texts."""
        store = cls(memory, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    # ---- writing

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,  # noqa: ARG002 - as other stores are called
    ) -> list[str]:
        """Add documents, or replace those of the same ids, all or none; returns their ids."""
        all_texts = list(texts)
        about: Sequence[Mapping[str, Any]] = [{} for _ in all_texts] if metadatas is None else metadatas
        named: Sequence[str | None] = [None for _ in all_texts] if ids is None else ids
        if not len(all_texts) == len(about) == len(named):
            raise InvalidInput(f"there are {len(all_texts)} texts, {len(about)} metadatas and {len(named)} ids")
        items: list[dict[str, Any]] = []
        ids_given: list[str] = []
        for text, metadata, id in zip(all_texts, about, named, strict=True):
            record_id = self._id(id) if id else str(uuid4())
            items.append({**note_fields(text, metadata, id), "id": record_id, "on_conflict": "replace"})
            ids_given.append(id or record_id)
        if items:
            self._memory.add_many(items)
        return ids_given

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:  # noqa: ARG002 - as it is called
        """Delete documents by their ids, or all; ids that are not there are no error."""
        if ids is None:
            self._memory.delete_where(kind=KIND, metadata=DOCUMENT_MARK)
        elif ids:
            self._memory.delete_where(kind=KIND, metadata=DOCUMENT_MARK, ids=self._records(ids))
        return True

    # ---- reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents of these ids that are there, in the order of the ids."""
        if not ids:
            return []
        record_ids = self._records(ids)
        records = self._memory.list(kind=KIND, metadata=DOCUMENT_MARK, ids=record_ids, limit=len(record_ids))
        by_id = {document.id: document for document in map(read_document, records)}
        return [by_id[id] for id in ids if id in by_id]

    def similarity_search(self, query: str, k: int = 4, *, filter: Filter = None, **kwargs: Any) -> list[Document]:  # noqa: ARG002 - as it is called
        """Return the `k` documents that answer best; `filter` holds conditions on their metadata."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter=filter)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter = None,
        **kwargs: Any,  # noqa: ARG002 - as it is called
    ) -> list[tuple[Document, float]]:
        """Return the `k` documents that answer best with their scores, from 0 to 1: higher is better."""
        return [(retrieved_document(result), result.score or 0.0) for result in self._retrieve(query, k, filter)]

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Filter = None,
        **kwargs: Any,  # noqa: ARG002 - as it is called
    ) -> list[Document]:
        """Return the `k` documents whose vectors are nearest; those that point away from it come last."""
        conditions = {**(filter or {}), **DOCUMENT_MARK}
        hits = self._memory.similar(embedding, limit=oversample(k), kind=KIND, metadata=conditions)
        results = {hit.id: RetrievedRecord(record=hit.record, score=hit.score) for hit in hits}
        if len(results) < k:
            more = (
                RetrievedRecord(record=record, score=None)
                for record in self._memory.list(kind=KIND, metadata=conditions, limit=k)
            )
            results |= {result.record.id: result for result in more if result.record.id not in results}
        return [retrieved_document(result) for result in rank_by_standing(self._memory, list(results.values()))[:k]]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter = None,
        **kwargs: Any,  # noqa: ARG002 - as it is called
    ) -> list[Document]:
        """Return `k` of the `fetch_k` best documents that answer and say different things (1: the answer alone counts)."""
        results = self._retrieve(query, fetch_k, filter)
        query_vector = embed_question(self._embedder, query)
        vectors = self._embedder.embed([result.record.text for result in results])
        nothing: Vector = np.zeros(self._embedder.dimension, np.float32)
        rows = [nothing if vector is None else vector for vector in vectors]
        if query_vector is None or not rows:
            return [retrieved_document(result) for result in results[:k]]
        chosen = maximal_marginal_relevance(query_vector, [row.tolist() for row in rows], lambda_mult, k)
        return [retrieved_document(results[index]) for index in chosen]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score

    def _retrieve(self, query: str, k: int, filter: Filter) -> list[RetrievedRecord]:
        return retrieve(
            self._memory, query, k, mode=self._mode, kind=KIND, metadata={**(filter or {}), **DOCUMENT_MARK}
        )

    def _id(self, id: str) -> str:
        bound = self._memory.bound
        return derived_id(self._memory, str(uuid5(_IDS, json.dumps([bound.agent, bound.user, bound.room, id]))))

    def _records(self, ids: Iterable[str]) -> list[str]:
        """Return the record ids that document ids may stand for: derived from a given id, or generated."""
        return [
            record_id for id in ids for record_id in ((self._id(id), id) if _is_generated_id(id) else (self._id(id),))
        ]


def _is_generated_id(id: str) -> bool:
    """Return whether an id may have been generated by `add_texts`."""
    try:
        return str(UUID(id)) == id
    except ValueError:
        return False
