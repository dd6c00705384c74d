"""Files that the frameworks write, brought in: what an application had, it finds again."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any, cast

from agents import SQLiteSession

from rememo import Memory
from rememo.adapters.langgraph import RememoStore
from rememo.adapters.openai_agents import RememoSession
from rememo.imports import import_from

ITEMS: list[Any] = [
    {"role": "user", "content": "I moved to Lisbon."},
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "…"},
    {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "sunny"},
    {"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": [{"type": "output_text", "text": "Sunny."}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]},
]  # fmt: skip


def test_a_session_goes_on_where_it_was(tmp_path: Path):
    async def check() -> None:
        theirs = SQLiteSession("chat-1", tmp_path / "sessions.db")
        await theirs.add_items(ITEMS)
        with Memory(tmp_path / "memory.db") as memory:
            done = import_from(memory, tmp_path / "sessions.db", "openai-agents")
            assert (done.total, dict(done.left_out)) == (len(ITEMS), {})
            ours = RememoSession("chat-1", memory)
            await ours.add_items([{"role": "user", "content": "Thanks!"}])
            assert cast("list[Any]", await ours.get_items())[:-1] == await theirs.get_items()
            assert memory.search("who moved to Lisbon?", kind="message")[0].text == "I moved to Lisbon."
        theirs.close()

    asyncio.run(check())


def test_a_store_goes_on_where_it_was(tmp_path: Path):
    connection = sqlite3.connect(tmp_path / "graph.db")
    connection.executescript((Path(__file__).parents[2] / "data" / "imports" / "langgraph.sql").read_text())
    connection.close()
    with Memory(tmp_path / "memory.db") as memory:
        import_from(memory, tmp_path / "graph.db", "langgraph")
        store = RememoStore(memory)
        item = store.get(("memories", "ana"), "m1")
        assert item is not None
        assert item.value == {"data": "Likes tea"}
        assert store.list_namespaces() == [("memories", "ana"), ("users", "ana", "profile")]
        assert [hit.key for hit in store.search(("users",), filter={"age": 30})] == ["p"]
        assert store.search(("memories",), query="what does she drink?")[0].key == "m1"
        store.put(("memories", "ana"), "m1", {"data": "Likes coffee"})  # the same item, not a second one
        assert len(store.search(("memories",))) == 1
