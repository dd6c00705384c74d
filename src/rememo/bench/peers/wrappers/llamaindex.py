"""LlamaIndex."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rememo.bench.peers.wrappers.peer import Peer
from rememo.bench.peers.wrappers.shared_embedding import embed


class LlamaIndex(Peer):
    """LlamaIndex's vector memory block over its own vector store."""

    needs = ("llama-index-core==0.14.25",)
    persists = False

    def __init__(self, folder: Path) -> None:
        from llama_index.core.base.embeddings.base import BaseEmbedding
        from llama_index.core.base.llms.types import ChatMessage
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.core.vector_stores import SimpleVectorStore
        from pydantic import PrivateAttr

        class LlamaIndexEmbedding(BaseEmbedding):
            def _get_query_embedding(self, query: str) -> list[float]:
                return embed([query])[0]

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return embed([query])[0]

            def _get_text_embedding(self, text: str) -> list[float]:
                return embed([text])[0]

        class TextVectorStore(SimpleVectorStore):
            """Its own store, which knows only ids, with the texts beside it: the block asks for a store that has them."""

            stores_text: bool = True
            _nodes: dict[str, Any] = PrivateAttr(default_factory=dict)

            def add(self, nodes: Any, **more: Any) -> list[str]:
                self._nodes |= {node.node_id: node for node in nodes}
                return super().add(nodes, **more)

            def query(self, query: Any, **more: Any) -> Any:
                result = super().query(query, **more)
                result.nodes = [self._nodes[id] for id in result.ids or ()]
                return result

        self._message = ChatMessage
        self._same = LlamaIndexEmbedding()
        self._store = TextVectorStore()
        self._block = VectorMemoryBlock
        self._ids: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()

    def _block_for(self, limit: int) -> Any:
        return self._block(
            vector_store=self._store, embed_model=self._same, similarity_top_k=limit, retrieval_context_window=1
        )

    def add(self, id: str, text: str) -> None:
        self._ids[text] = id
        self._loop.run_until_complete(self._block_for(2).aput([self._message(role="user", content=text)]))

    def search(self, question: str, limit: int) -> list[str]:
        context = self._loop.run_until_complete(
            self._block_for(limit).aget([self._message(role="user", content=question)])
        )
        return [id for text, id in self._ids.items() if text in str(context)]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        return set(self._ids.values()) & set(dict(items))
