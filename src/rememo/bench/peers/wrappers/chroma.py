"""Chroma."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rememo.bench.peers.wrappers.peer import Peer
from rememo.bench.peers.wrappers.shared_embedding import embed


class Chroma(Peer):
    """Chroma in a folder."""

    needs = ("chromadb==1.5.9",)
    batch_size = 5_000  # it refuses more than 5,461

    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        class ChromaEmbedding(chromadb.EmbeddingFunction[Any]):
            def __init__(self) -> None:
                """Nothing to set."""

            def __call__(self, input: Any) -> Any:
                return embed(input)

        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self.collection = client.get_or_create_collection("memories", embedding_function=ChromaEmbedding())

    def add(self, id: str, text: str) -> None:
        self.collection.add(ids=[id], documents=[text])

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        self.collection.add(ids=[id for id, _ in items], documents=[text for _, text in items])

    def search(self, question: str, limit: int) -> list[str]:
        return self.collection.query(query_texts=[question], n_results=limit)["ids"][0]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        return set(self.collection.get(ids=[id for id, _ in items], include=[])["ids"])
