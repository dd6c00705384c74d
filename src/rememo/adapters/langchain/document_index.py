"""LangChain's document index: documents that are put, taken and found by one thing. LangChain calls it a beta."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.indexing import UpsertResponse
from langchain_core.indexing.base import DeleteResponse, DocumentIndex

from rememo.adapters.langchain.vector_store import RememoVectorStore
from rememo.adapters.retrieval import Mode
from rememo.errors import InvalidInput
from rememo.memory import Memory


class RememoDocumentIndex(DocumentIndex):
    """The documents of a `RememoVectorStore` over the same view."""

    memory: Memory
    """A memory, or a view of one."""
    k: int = 4
    """How many documents answer a question."""
    mode: Mode = "hybrid"
    """By words and meaning, or by one of them."""

    def upsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:  # noqa: ARG002 - as it is called
        """Add documents, or replace those of the same ids, all or none."""
        return UpsertResponse(succeeded=self._store().add_documents(list(items)), failed=[])

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> DeleteResponse:  # noqa: ARG002 - as it is called
        """Delete documents by their ids; ids that are not there are no error."""
        if ids is None:
            raise InvalidInput("delete() was given no ids; name the documents that are to go")
        existing = [document.id for document in self._store().get_by_ids(ids) if document.id is not None]
        self._store().delete(existing)
        return DeleteResponse(succeeded=existing, num_deleted=len(existing), failed=[], num_failed=0)

    def get(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:  # noqa: ARG002 - as it is called
        """Return the documents of these ids that are there, in the order of the ids."""
        return self._store().get_by_ids(ids)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - as it is called
        k: int | None = None,
    ) -> list[Document]:
        return self._store().similarity_search(query, self.k if k is None else k)

    def _store(self) -> RememoVectorStore:
        return RememoVectorStore(self.memory, mode=self.mode)
