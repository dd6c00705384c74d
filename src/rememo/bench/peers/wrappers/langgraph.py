"""LangGraph's stores."""

import sqlite3
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from rememo.bench.peers.wrappers.peer import Peer
from rememo.bench.peers.wrappers.shared_embedding import DIMENSION, embed


class LangGraph(Peer):
    """LangGraph's store on SQLite."""

    needs = ("langgraph-checkpoint-sqlite==3.1.2", "langgraph==1.2.20", "pysqlite3-binary")
    batch_size = 10_000

    def __init__(self, folder: Path) -> None:
        from langgraph.store.base import PutOp
        from langgraph.store.sqlite import SqliteStore

        self._put = PutOp
        # It loads an extension, for which the standard module is not built everywhere.
        module: Any = sqlite3 if hasattr(sqlite3.Connection, "enable_load_extension") else import_module("pysqlite3")
        self._connection = module.connect(
            str(folder / "store.db"), isolation_level=None, check_same_thread=False, timeout=30
        )
        self.store = SqliteStore(self._connection, index={"dims": DIMENSION, "embed": embed, "fields": ["text"]})
        self.store.setup()

    def add(self, id: str, text: str) -> None:
        self.store.put(("m",), id, {"text": text})

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        self.store.batch([self._put(("m",), id, {"text": text}) for id, text in items])

    def search(self, question: str, limit: int) -> list[str]:
        return [hit.key for hit in self.store.search(("m",), query=question, limit=limit)]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        return {id for id, _ in items if self.store.get(("m",), id) is not None}


class LangGraphInMemory(LangGraph):
    """LangGraph's store in the process's memory."""

    persists = False

    def __init__(self, folder: Path) -> None:
        from langgraph.store.base import PutOp
        from langgraph.store.memory import InMemoryStore

        self._put = PutOp
        self.store = InMemoryStore(index={"dims": DIMENSION, "embed": embed, "fields": ["text"]})
