"""How each peer adds and searches, as its own documentation shows it, with the same embedding model.

This runs in the peer's environment. A wrapper imports its peer when it is made, and says what it cannot do by raising
`Cannot`; whatever else a peer raises is shown as what it said.
"""

import asyncio
import os
import re
import sqlite3
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from json import dumps, loads
from pathlib import Path
from typing import Any

from rememo.recall.embed.static import StaticEmbedder

DIMENSION = 256
_embedder = StaticEmbedder()


class Cannot(Exception):
    """What a peer has no way to do."""


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors that all peers use; a text without content gets an arbitrary one, as they all need one."""
    vectors = _embedder.embed(list(texts))
    return [[1.0] + [0.0] * (DIMENSION - 1) if one is None else one.tolist() for one in vectors]


class Peer(ABC):
    """One system under measurement."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def add(self, id: str, text: str) -> None:
        """Store one text."""

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        for id, text in items:
            self.add(id, text)

    def converse(self, turns: Sequence[dict[str, Any]]) -> None:
        """Store the turns of a conversation; who spoke is part of the text where a peer knows no speakers."""
        self.add_many([(turn["id"], f"{turn['speaker']}: {turn['text']}") for turn in turns])

    @abstractmethod
    def search(self, question: str, limit: int) -> list[str]:
        """Return the ids of what is found, best first."""

    def ask(self, question: dict[str, Any], limit: int) -> list[str]:
        """Search as of the moment of a question, where a peer knows moments."""
        return self.search(question["text"], limit)

    @abstractmethod
    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that can be read."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go."""


class Rememo(Peer):
    """Rememo itself, as it comes."""

    def __init__(self, folder: Path) -> None:
        from rememo import Memory

        self.memory = Memory(folder / "agent.db")
        self._ids: dict[str, str] = {}

    def add(self, id: str, text: str) -> None:
        self.memory.add(text, id=id)

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        self.memory.add_many([{"id": id, "text": text} for id, text in items])

    def converse(self, turns: Sequence[dict[str, Any]]) -> None:
        with self.memory.batch() as batch:
            for turn in turns:
                view = {"name": turn["speaker"], "at": _moment(turn["time"]), "learn": False}
                receipt = batch.scope(room=turn["room"]).messages.add("user", turn["text"], **view)
                self._ids[receipt.id] = turn["id"]

    def search(self, question: str, limit: int) -> list[str]:
        return [self._ids.get(hit.record.id, hit.record.id) for hit in self.memory.search(question, limit=limit)]

    def ask(self, question: dict[str, Any], limit: int) -> list[str]:
        hits = self.memory.search(question["text"], limit=limit, at=_moment(question["at"]), kind="message")
        return [self._ids.get(hit.record.id, hit.record.id) for hit in hits]

    def present(self, ids: Sequence[str]) -> set[str]:
        return {id for id in ids if self.memory.get(id) is not None}

    def close(self) -> None:
        self.memory.close()


class Fts5(Peer):
    """A hand-made table: FTS5 of the standard library, bm25."""

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "plain.db", timeout=30)
        self.connection.execute("PRAGMA journal_mode = wal")
        self.connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(id UNINDEXED, text, tokenize='porter')"
        )
        self.connection.commit()

    def add(self, id: str, text: str) -> None:
        self.add_many([(id, text)])

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        with self.connection:
            self.connection.executemany("INSERT INTO texts (id, text) VALUES (?, ?)", items)

    def search(self, question: str, limit: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = self.connection.execute(
            "SELECT id FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?", (words, limit)
        )
        return [row[0] for row in rows]

    def present(self, ids: Sequence[str]) -> set[str]:
        return {row[0] for row in self.connection.execute("SELECT id FROM texts")} & set(ids)

    def close(self) -> None:
        self.connection.close()


class Mem0(Peer):
    """mem0 with `infer=False` and its local vector store."""

    def __init__(self, folder: Path) -> None:
        os.environ |= {"OPENAI_API_KEY": "never used", "MEM0_DIR": str(folder), "MEM0_TELEMETRY": "False"}
        from langchain_core.embeddings import Embeddings
        from mem0 import Memory

        class Same(Embeddings):
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
                "embedder": {"provider": "langchain", "config": {"model": Same(), "embedding_dims": DIMENSION}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, id: str, text: str) -> None:
        self.memory.add(text, user_id="u", infer=False, metadata={"own": id})

    def search(self, question: str, limit: int) -> list[str]:
        found = self.memory.search(question, filters={"user_id": "u"}, top_k=limit)
        return [one["metadata"]["own"] for one in found["results"]]

    def present(self, ids: Sequence[str]) -> set[str]:
        found = self.memory.get_all(filters={"user_id": "u"}, top_k=1_000_000)["results"]
        return {one["metadata"]["own"] for one in found} & set(ids)


class Chroma(Peer):
    """Chroma in a folder."""

    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        class Same(chromadb.EmbeddingFunction[Any]):
            def __init__(self) -> None:
                """Nothing to set."""

            def __call__(self, input: Any) -> Any:
                return embed(input)

        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self.collection = client.get_or_create_collection("memories", embedding_function=Same())

    def add(self, id: str, text: str) -> None:
        self.collection.add(ids=[id], documents=[text])

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        for start in range(0, len(items), 5_000):  # it refuses more than 5,461 at once
            part = items[start : start + 5_000]
            self.collection.add(ids=[id for id, _ in part], documents=[text for _, text in part])

    def search(self, question: str, limit: int) -> list[str]:
        return self.collection.query(query_texts=[question], n_results=limit)["ids"][0]

    def present(self, ids: Sequence[str]) -> set[str]:
        return set(self.collection.get(ids=list(ids), include=[])["ids"])


class LangGraph(Peer):
    """LangGraph's store on SQLite."""

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
        return [one.key for one in self.store.search(("m",), query=question, limit=limit)]

    def present(self, ids: Sequence[str]) -> set[str]:
        return {id for id in ids if self.store.get(("m",), id) is not None}


class LangGraphInMemory(LangGraph):
    """LangGraph's store in the process's memory."""

    def __init__(self, folder: Path) -> None:
        from langgraph.store.base import PutOp
        from langgraph.store.memory import InMemoryStore

        self._put = PutOp
        self.store = InMemoryStore(index={"dims": DIMENSION, "embed": embed, "fields": ["text"]})


class LlamaIndex(Peer):
    """LlamaIndex's vector memory block over its own vector store."""

    def __init__(self, folder: Path) -> None:
        from llama_index.core.base.embeddings.base import BaseEmbedding
        from llama_index.core.base.llms.types import ChatMessage
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.core.vector_stores import SimpleVectorStore
        from pydantic import PrivateAttr

        class Same(BaseEmbedding):
            def _get_query_embedding(self, query: str) -> list[float]:
                return embed([query])[0]

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return embed([query])[0]

            def _get_text_embedding(self, text: str) -> list[float]:
                return embed([text])[0]

        class Keeping(SimpleVectorStore):
            """Its own store, which knows only ids, with the texts beside it: the block asks for a store that has them."""

            stores_text: bool = True
            _held: dict[str, Any] = PrivateAttr(default_factory=dict)

            def add(self, nodes: Any, **more: Any) -> list[str]:
                self._held |= {node.node_id: node for node in nodes}
                return super().add(nodes, **more)

            def query(self, query: Any, **more: Any) -> Any:
                found = super().query(query, **more)
                found.nodes = [self._held[id] for id in found.ids or ()]
                return found

        self._message = ChatMessage
        self._same = Same()
        self._store = Keeping()
        self._block = VectorMemoryBlock
        self._ids: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()

    def _of(self, limit: int) -> Any:
        return self._block(
            vector_store=self._store, embed_model=self._same, similarity_top_k=limit, retrieval_context_window=1
        )

    def add(self, id: str, text: str) -> None:
        self._ids[text] = id
        self._loop.run_until_complete(self._of(2).aput([self._message(role="user", content=text)]))

    def search(self, question: str, limit: int) -> list[str]:
        said = self._loop.run_until_complete(self._of(limit).aget([self._message(role="user", content=question)]))
        return [id for text, id in self._ids.items() if text in str(said)]

    def present(self, ids: Sequence[str]) -> set[str]:
        return set(self._ids.values()) & set(ids)


class MemPalace(Peer):
    """MemPalace: a drawer for each text. Its embedding comes from an endpoint in this process."""

    def __init__(self, folder: Path) -> None:
        os.environ |= {
            "HOME": str(folder), "MEMPALACE_PALACE_PATH": str(folder / "palace"),
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat", "MEMPALACE_EMBEDDING_API_URL": endpoint(),
            "MEMPALACE_EMBEDDING_API_MODEL": "same",
        }  # fmt: skip
        from mempalace.miner import add_drawer
        from mempalace.palace import get_collection
        from mempalace.searcher import search_memories

        self._place = str(folder / "palace")
        self._collection = get_collection(self._place)
        self._add, self._search = add_drawer, search_memories

    def add(self, id: str, text: str) -> None:
        self._add(self._collection, "wing", "room", text, id, 0, "bench")

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        for start in range(0, len(items), 1_000):
            part = items[start : start + 1_000]
            self._collection.upsert(
                ids=[id for id, _ in part],
                documents=[text for _, text in part],
                metadatas=[{"wing": "wing", "room": "room", "source_file": id, "chunk_index": 0} for id, _ in part],
            )

    def search(self, question: str, limit: int) -> list[str]:
        found = self._search(question, self._place, n_results=limit)
        if "results" not in found:
            raise RuntimeError(str(found)[:300])
        return [str(one.get("source_file")) for one in found["results"]]

    def present(self, ids: Sequence[str]) -> set[str]:
        held = self._collection.get(include=["metadatas"], limit=1_000_000)
        metadatas = held["metadatas"] if isinstance(held, dict) else held.metadatas
        return {str(one.get("source_file")) for one in metadatas} & set(ids)


class Cognee(Peer):
    """cognee without a key for a model. Its embedding comes from an endpoint in this process."""

    def __init__(self, folder: Path) -> None:
        os.environ |= {
            "DATA_ROOT_DIRECTORY": str(folder / "data"), "SYSTEM_ROOT_DIRECTORY": str(folder / "system"),
            "EMBEDDING_PROVIDER": "openai_compatible", "EMBEDDING_ENDPOINT": endpoint() + "/v1",
            "EMBEDDING_MODEL": "same", "EMBEDDING_API_KEY": "none", "EMBEDDING_DIMENSIONS": str(DIMENSION),
            "TELEMETRY_DISABLED": "1", "LLM_API_KEY": "", "ENABLE_BACKEND_ACCESS_CONTROL": "false",
        }  # fmt: skip
        import cognee

        self._cognee = cognee
        self._loop = asyncio.new_event_loop()
        self._texts: dict[str, str] = {}

    def add(self, id: str, text: str) -> None:
        self._texts[text] = id
        self._loop.run_until_complete(self._cognee.add(text, dataset_name="bench"))

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        self._texts |= {text: id for id, text in items}
        self._loop.run_until_complete(self._cognee.add([text for _, text in items], dataset_name="bench"))

    def search(self, question: str, limit: int) -> list[str]:
        kinds = self._cognee.SearchType
        found = self._loop.run_until_complete(
            self._cognee.search(question, query_type=kinds.CHUNKS, datasets=["bench"], top_k=limit)
        )
        said = str(found)
        return [id for text, id in self._texts.items() if text in said]

    def present(self, ids: Sequence[str]) -> set[str]:
        raise Cannot("what was added can only be read after a model has worked on it")


def endpoint() -> str:
    """Serve the same embedding at an OpenAI-compatible endpoint on loopback, for peers that take no function."""

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            given = loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [given["input"]] if isinstance(given["input"], str) else given["input"]
            data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(embed(texts))]
            body = dumps(
                {"object": "list", "model": "same", "data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def _moment(text: str) -> Any:
    from datetime import datetime

    return datetime.fromisoformat(text)


PEERS: dict[str, Callable[[Path], Peer]] = {
    "rememo": Rememo, "fts5": Fts5, "mem0": Mem0, "langgraph": LangGraph, "langgraph-in-memory": LangGraphInMemory,
    "chroma": Chroma, "mempalace": MemPalace, "cognee": Cognee, "llamaindex": LlamaIndex,
}  # fmt: skip


def name_of(number: int) -> str:
    """Return an id that every peer takes."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))
