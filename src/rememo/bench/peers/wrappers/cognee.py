"""cognee."""

import asyncio
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from rememo.bench.peers.wrappers.peer import Peer
from rememo.bench.peers.wrappers.shared_embedding import DIMENSION, endpoint

_TOKENIZER = "bench/words"


class Cognee(Peer):
    """cognee without a key for a model: its own steps, but for the two that ask one.

    Its `cognify` without a key asks a model that it would download, torch and all. What remains without is documented as
    a pipeline of one's own: classify, cut, embed, store. Its embedding comes from an endpoint in this process.
    """

    needs = ("cognee==1.6.5",)

    def __init__(self, folder: Path) -> None:
        _make_tokenizer(folder / "hub" / "hub")
        os.environ |= {
            "DATA_ROOT_DIRECTORY": str(folder / "data"), "SYSTEM_ROOT_DIRECTORY": str(folder / "system"),
            "EMBEDDING_PROVIDER": "openai_compatible", "EMBEDDING_ENDPOINT": endpoint() + "/v1",
            "EMBEDDING_MODEL": _TOKENIZER, "EMBEDDING_API_KEY": "none", "EMBEDDING_DIMENSIONS": str(DIMENSION),
            "HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1", "HUGGINGFACE_TOKENIZER": _TOKENIZER,
            "TELEMETRY_DISABLED": "1", "LLM_API_KEY": "", "ENABLE_BACKEND_ACCESS_CONTROL": "false",
        }  # fmt: skip
        import cognee
        from cognee.modules.pipelines.tasks.task import Task
        from cognee.tasks.documents import classify_documents, extract_chunks_from_documents
        from cognee.tasks.storage import add_data_points

        self._cognee = cognee
        self._tasks = lambda: [
            Task(classify_documents, needs_llm=False),
            Task(extract_chunks_from_documents, max_chunk_size=512, needs_llm=False),
            Task(add_data_points, task_config={"batch_size": 2_000}, needs_llm=False),
        ]
        self._loop = asyncio.new_event_loop()
        self._ids: dict[str, str] = {}

    def add(self, id: str, text: str) -> None:
        self.add_many([(id, text)])

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        self._ids |= {text: id for id, text in items}
        self._wait(self._cognee.add([text for _, text in items], dataset_name="bench"))
        self._wait(
            self._cognee.run_custom_pipeline(
                tasks=self._tasks(), dataset="bench", incremental_loading=True, pipeline_name="chunks"
            )
        )

    def search(self, question: str, limit: int) -> list[str]:
        return [self._ids.get(text, "") for text in self._search(question, limit)]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        return {id for id, text in items if text in self._search(text, 1)}

    def _search(self, question: str, limit: int) -> list[str]:
        kind = self._cognee.SearchType.CHUNKS
        hits = self._wait(self._cognee.search(question, query_type=kind, datasets=["bench"], top_k=limit))
        return [hit["text"] for hit in hits]

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def _make_tokenizer(hub: Path) -> None:
    """Lay down a tokenizer where its library looks first: cognee counts with one, and would otherwise download it."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    revision = "0" * 40
    model_folder = hub / ("models--" + _TOKENIZER.replace("/", "--"))
    files = model_folder / "snapshots" / revision
    if files.exists():
        return
    files.mkdir(parents=True)
    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))  # noqa: S106 - no password
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(files / "tokenizer.json"))
    (files / "tokenizer_config.json").write_text("{}")
    (model_folder / "refs").mkdir()
    (model_folder / "refs" / "main").write_text(revision)
