"""mem0."""

import os
from collections.abc import Sequence
from pathlib import Path

from rememo.bench.peers.wrappers.peer import Peer
from rememo.bench.peers.wrappers.shared_embedding import DIMENSION, embed


class Mem0(Peer):
    """mem0 with `infer=False` and its local vector store; it has no call for many."""

    needs = ("mem0ai==2.2.1", "qdrant-client", "langchain")

    def __init__(self, folder: Path) -> None:
        os.environ |= {"OPENAI_API_KEY": "never used", "MEM0_DIR": str(folder), "MEM0_TELEMETRY": "False"}
        from langchain_core.embeddings import Embeddings
        from mem0 import Memory

        class Mem0Embedding(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return embed(texts)

            def embed_query(self, text: str) -> list[float]:
                return embed([text])[0]

        store = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "collection_name": "memories",
            "embedding_model_dims": DIMENSION,
        }
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {
                    "provider": "langchain",
                    "config": {"model": Mem0Embedding(), "embedding_dims": DIMENSION},
                },
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, id: str, text: str) -> None:
        self.memory.add(text, user_id="u", infer=False, metadata={"own": id})

    def search(self, question: str, limit: int) -> list[str]:
        response = self.memory.search(question, filters={"user_id": "u"}, top_k=limit)
        return [hit["metadata"]["own"] for hit in response["results"]]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        records = self.memory.get_all(filters={"user_id": "u"}, top_k=1_000_000)["results"]
        return {record["metadata"]["own"] for record in records} & set(dict(items))
