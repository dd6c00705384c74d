"""LangChain's retriever over everything that is remembered."""

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rememo.adapters.langchain.documents import read_document
from rememo.adapters.retrieval import Mode
from rememo.memory import Memory
from rememo.recall.relevance import FLOOR


class RememoRetriever(BaseRetriever):
    """Retrieves from everything in a view: messages, facts, documents and the rest.

    A document's metadata is the record's, with its kind, score, time and labels under `rememo`.
    """

    memory: Memory
    """Where to look: a memory, or a view of one."""
    k: int = 4
    """How many documents at the most; fewer where fewer answer."""
    kind: str | list[str] | None = None
    """Only these kinds."""
    filter: Mapping[str, Any] | None = None
    """Conditions on metadata."""
    threshold: float = FLOOR
    """Only what scores this or more, from 0 to 1: nothing where nothing is relevant; 0 gives the best of what there is."""
    mode: Mode = "hybrid"
    """By words and meaning, or by one of them."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - as it is called
        k: int | None = None,
    ) -> list[Document]:
        hits = self.memory.search(
            query,
            kind=self.kind,
            limit=self.k if k is None else k,
            metadata=self.filter,
            threshold=self.threshold,
            mode=self.mode,
        )
        documents: list[Document] = []
        for hit in hits:
            document, record = read_document(hit.record), hit.record
            labels = {"agent": record.scope.agent, "user": record.scope.user, "room": record.scope.room}
            details = {
                "id": record.id,
                "kind": record.kind,
                "score": hit.score,
                "status": hit.status,
                "superseded_by": hit.superseded_by,
                "at": record.at.isoformat(),
                **labels,
            }
            documents.append(document.model_copy(update={"metadata": {**document.metadata, "rememo": details}}))
        return documents
