"""MemPalace."""

import os
from collections.abc import Sequence
from pathlib import Path

from rememo.bench.peers.wrappers.peer import Peer
from rememo.bench.peers.wrappers.shared_embedding import endpoint


class MemPalace(Peer):
    """MemPalace: a drawer for each text. Its embedding comes from an endpoint in this process."""

    needs = ("mempalace==3.11.0",)
    batch_size = 1_000

    def __init__(self, folder: Path) -> None:
        os.environ |= {
            "HOME": str(folder), "MEMPALACE_PALACE_PATH": str(folder / "palace"),
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat", "MEMPALACE_EMBEDDING_API_URL": endpoint(),
            "MEMPALACE_EMBEDDING_API_MODEL": "same",
        }  # fmt: skip
        from mempalace.miner import add_drawer
        from mempalace.palace import get_collection
        from mempalace.searcher import search_memories

        self._palace = str(folder / "palace")
        self._collection = get_collection(self._palace)
        self._add, self._search = add_drawer, search_memories

    def add(self, id: str, text: str) -> None:
        self._add(self._collection, "wing", "room", text, id, 0, "bench")

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        self._collection.upsert(
            ids=[id for id, _ in items],
            documents=[text for _, text in items],
            metadatas=[{"wing": "wing", "room": "room", "source_file": id, "chunk_index": 0} for id, _ in items],
        )

    def search(self, question: str, limit: int) -> list[str]:
        response = self._search(question, self._palace, n_results=limit)
        if "results" not in response:
            raise RuntimeError(str(response)[:300])
        return [str(hit.get("source_file")) for hit in response["results"]]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        response = self._collection.get(include=["metadatas"], limit=1_000_000)
        metadatas = response["metadatas"] if isinstance(response, dict) else response.metadatas
        return {str(metadata.get("source_file")) for metadata in metadatas} & set(dict(items))
