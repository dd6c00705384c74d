"""Components that retrieve from a document store."""

from typing import Any, Self

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from rememo.adapters.haystack.store import Mode, RememoDocumentStore
from rememo.adapters.threads import in_thread
from rememo.errors import InvalidInput


class _Retriever:
    """The base of both retrievers."""

    def __init__(
        self,
        document_store: RememoDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, RememoDocumentStore):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"document_store must be a RememoDocumentStore, not {type(document_store).__name__}")
        if top_k < 1:
            raise InvalidInput(f"top_k must be 1 or more, not {top_k}")
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.return_embedding = return_embedding
        self.filter_policy = filter_policy

    def _options(self, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        return {
            "filters": apply_filter_policy(self.filter_policy, self.filters, filters),
            "top_k": self.top_k if top_k is None else top_k,
            "return_embedding": self.return_embedding,
        }

    def to_dict(self, **more: Any) -> dict[str, Any]:
        """Return it as plain values."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            return_embedding=self.return_embedding,
            filter_policy=self.filter_policy.value,
            **more,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make one of what `to_dict` returned."""
        values: dict[str, Any] = dict(data.get("init_parameters", {}))
        if "filter_policy" in values:
            values["filter_policy"] = FilterPolicy.from_str(values["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": values})


@component
class RememoEmbeddingRetriever(_Retriever):
    """Retrieves the documents whose embeddings are nearest to that of the question."""

    @component.output_types(documents=list[Document])
    def run(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the documents under `documents`, best first."""
        documents = self.document_store.embedding_retrieval(query_embedding, **self._options(filters, top_k))
        return {"documents": documents}

    run_async = component.output_types(documents=list[Document])(in_thread(run))


@component
class RememoTextRetriever(_Retriever):
    """Retrieves the documents that answer a question by Rememo's own recall: no embedder is needed in the pipeline.

    `mode` is `words` (BM25), `vector` (by the memory's embedder) or `hybrid`, both together.
    """

    def __init__(
        self,
        document_store: RememoDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        mode: Mode = "hybrid",
        return_embedding: bool = False,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if mode not in ("hybrid", "words", "vector"):
            raise InvalidInput(f'mode must be "hybrid", "words" or "vector", not {mode!r}')
        # `component` makes a new class of this one, which `super()` would not know.
        _Retriever.__init__(
            self,
            document_store,
            filters=filters,
            top_k=top_k,
            return_embedding=return_embedding,
            filter_policy=filter_policy,
        )
        self.mode: Mode = mode

    def to_dict(self, **more: Any) -> dict[str, Any]:
        """Return it as plain values."""
        return _Retriever.to_dict(self, mode=self.mode, **more)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the documents under `documents`, best first."""
        documents = self.document_store.text_retrieval(query, mode=self.mode, **self._options(filters, top_k))
        return {"documents": documents}

    run_async = component.output_types(documents=list[Document])(in_thread(run))
