"""mem0, LangGraph and the OpenAI Agents SDK: the files that they really wrote."""

import json
import pickle
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.adapters.store_items import read_item
from rememo.errors import InvalidInput
from rememo.imports import import_from

DATA = Path(__file__).parents[2] / "data" / "imports"
Rebuild = Callable[[str, str], Path]


# ---- mem0


def test_memories_that_mem0_returned_are_notes_with_their_own_ids(memory: Memory):
    done = import_from(memory, DATA / "mem0_get_all.json", "mem0")
    assert (dict(done.added), dict(done.left_out)) == ({"note": 3}, {})
    record = memory.get("39804987-9202-49d2-9669-7094d00a3d13")
    assert (record.text, record.scope.user, record.metadata) == (
        "Likes green tea, not coffee",
        "ana",
        {"topic": "drinks", "role": "user"},
    )
    assert record.at.isoformat() == "2026-11-15T17:48:20.460706+00:00"
    assert memory.scope(user="ana", agent="helper", room="run-1").count() == 2
    assert memory.search("what does she drink?")[0].id == record.id


def test_memories_of_qdrants_folder_are_read_without_its_package(memory: Memory, rebuild: Rebuild):
    storage = rebuild("mem0_qdrant.sql", "qdrant/collection/mem0/storage.sqlite")
    done = import_from(memory, storage.parents[2], "mem0")
    assert done.added == {"note": 3}
    assert {(record.text, record.scope.user, record.scope.room) for record in memory.list()} == {
        ("Likes green tea, not coffee", "ana", None),
        ("I live in Lisbon", "ana", "run-1"),
        ("Lovely city", "ana", "run-1"),
    }
    # What get_all returns are the same memories: their ids say so.
    assert import_from(memory, DATA / "mem0_get_all.json", "mem0").known == {"note": 3}


def test_a_point_cannot_make_us_run_anything(memory: Memory, tmp_path: Path):
    class Attack:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "pwned",))

    storage = tmp_path / "collection" / "mem0" / "storage.sqlite"
    storage.parent.mkdir(parents=True)
    connection = sqlite3.connect(storage)
    connection.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    connection.execute("INSERT INTO points VALUES ('a', ?)", (pickle.dumps(Attack()),))
    connection.commit()
    connection.close()
    done = import_from(memory, tmp_path / "collection", "mem0")
    assert (done.total, dict(done.left_out)) == (0, {"a point of Qdrant's that cannot be read": 1})
    assert not (tmp_path / "pwned").exists()


def test_the_history_of_mem0_gives_what_each_memory_says_at_last(memory: Memory, rebuild: Rebuild):
    done = import_from(memory, rebuild("mem0_history.sql", "history.db"), "mem0")
    assert (done.added, done.left_out) == (
        {"note": 3, "message": 2},
        {"an earlier wording of a memory": 2, "a memory that mem0 deleted": 1},
    )
    assert "Likes green tea, not coffee" in {record.text for record in memory.list(kind="note")}
    messages = memory.scope(user="ana", agent="helper", room="run-1").messages.history()
    assert [(message.role, message.content) for message in messages] == [
        ("user", "I live in Lisbon"),
        ("assistant", "Lovely city"),
    ]


def test_a_history_of_an_older_mem0_has_fewer_columns(memory: Memory, tmp_path: Path):
    connection = sqlite3.connect(tmp_path / "history.db")
    connection.execute(
        "CREATE TABLE history (id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at TEXT)"
    )
    connection.execute("INSERT INTO history VALUES ('1', 'm', NULL, 'Likes tea', 'ADD', '2024-01-02T03:04:05-07:00')")
    connection.commit()
    connection.close()
    assert import_from(memory, tmp_path / "history.db", "mem0").added == {"note": 1}
    assert (memory.get("m").text, memory.get("m").metadata) == ("Likes tea", {})


@pytest.mark.parametrize("shape", ["list", "memories", "pages"])
def test_every_shape_of_memories_is_read(memory: Memory, tmp_path: Path, shape: str):
    page = json.loads((DATA / "mem0_get_all.json").read_text())
    shapes = {"list": page["results"], "memories": {"memories": page["results"]}, "pages": [page, page]}
    path = tmp_path / "memories.json"
    path.write_text(json.dumps(shapes[shape]))
    assert import_from(memory, path, "mem0").total == 3


def test_a_memory_with_an_end_ends_when_it_did(memory: Memory, tmp_path: Path):
    path = tmp_path / "memories.json"
    path.write_text(
        json.dumps(
            [
                {"id": "a", "memory": "over", "expiration_date": "2020-01-01"},
                {"id": "b", "memory": "goes on", "expiration_date": "2099-01-01"},
                {"id": "c", "memory": "for ever", "expiration_date": "9999-12-31"},
            ]
        )
    )
    done = import_from(memory, path, "mem0")
    assert (done.added, done.left_out) == ({"note": 2}, {"it has expired": 1})
    ends = memory.get("b").expires_at
    assert ends is not None
    assert abs(ends - datetime(2099, 1, 2, tzinfo=UTC)) < timedelta(minutes=1)
    assert memory.get("c").expires_at is None


# ---- LangGraph


def test_threads_and_items_of_langgraph(memory: Memory, rebuild: Rebuild):
    done = import_from(memory, rebuild("langgraph.sql", "graph.db"), "langgraph")
    assert (dict(done.added), dict(done.left_out)) == ({"note": 2, "message": 6}, {})
    messages = memory.scope(room="t1", user="ana").messages.history()
    assert [(message.role, message.content[:20]) for message in messages] == [
        ("user", "I moved to Lisbon. W"),
        ("assistant", ""),
        ("tool", "sunny"),
        ("assistant", "It is sunny."),
        ("user", "And this?"),
        ("assistant", "Noted: [{'type': 'te"),
    ]
    assert messages[1].tool_calls[0]["function"] == {"name": "weather", "arguments": '{"city": "Lisbon"}'}
    assert (messages[2].tool_call_id, messages[4].images) == ("c1", ["https://x/y.png"])
    assert messages[0].at < messages[3].at < messages[5].at
    # Items are what RememoStore makes of them: a room for each namespace, the value as it was.
    assert memory.rooms(prefix="store:") == ["store:memories.ana", "store:users.ana.profile"]
    [tea] = memory.scope(room="store:memories.ana").list()
    assert (tea.text, *read_item(tea.data), tea.data["ttl"]) == ("Likes tea", "m1", {"data": "Likes tea"}, None)
    [ana] = memory.scope(room="store:users.ana.profile").list()
    assert (ana.text, ana.metadata["value"]) == ("Ana", {"name": "Ana", "age": 30})


def test_items_of_a_store_with_an_end_and_broken_ones(memory: Memory, tmp_path: Path):
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, created_at TEXT, updated_at TEXT, expires_at TEXT, ttl_minutes REAL)"
    )
    rows = [
        ("cache", "over", '{"a": 1}', None, "2020-01-01 00:00:00", "2020-01-02 00:00:00", 1440.0),
        ("cache", "lives", '{"a": 2}', None, "2020-01-01 00:00:00", "2090-01-02 00:00:00", 1440.0),
        ("cache", "nan", '{"a": NaN}', None, "2020-01-01 00:00:00", None, None),
        ("cache", "text", "no JSON", None, "2020-01-01 00:00:00", None, None),
    ]
    connection.executemany("INSERT INTO store VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    done = import_from(memory, path, "langgraph")
    assert (done.added, done.left_out) == ({"note": 1}, {"an item that is not JSON": 2, "it has expired": 1})
    [record] = memory.list()
    assert (record.data["ttl"], str(record.expires_at)[:4]) == (86_400.0, "2090")


def test_checkpoints_of_the_older_form_and_broken_ones(memory: Memory, tmp_path: Path):
    path = tmp_path / "old.db"
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "Hello from before", "id": "m1"},
    }
    checkpoint = {"ts": "2024-03-01T10:00:00+00:00", "channel_values": {"messages": [message]}}
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB)"
    )
    rows = [
        ("t", "", "1", "json", json.dumps(checkpoint).encode(), b"{}"),
        ("t", "", "2", "msgpack", b"\xc1broken", b"{}"),
        ("t", "inner:1", "1", "json", b"{}", b"{}"),
        ("u", "", "1", "pickle", b"x", None),
    ]
    connection.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    done = import_from(memory, path, "langgraph")
    assert done.left_out == {
        "a checkpoint that cannot be read": 2,
        "a checkpoint of a graph within a graph": 1,
    }
    [stored] = memory.scope(room="t").messages.history()
    assert (stored.role, stored.content, stored.at.isoformat()) == (
        "user",
        "Hello from before",
        "2024-03-01T10:00:00+00:00",
    )


# ---- OpenAI Agents SDK


def test_sessions_of_the_openai_agents_sdk(memory: Memory, rebuild: Rebuild):
    done = import_from(memory, rebuild("openai_agents.sql", "sessions.db"), "openai-agents")
    assert (done.added, done.left_out) == ({"message": 5, "state": 3}, {})
    room = memory.scope(room="user-7")
    assert [(message.role, message.content) for message in room.messages.history()] == [
        ("user", "I moved to Lisbon. What is the weather?"),
        ("assistant", "It is sunny in Lisbon."),
        ("user", "And this?"),
    ]
    assert room.messages.latest()[0].images == ["https://example.org/cat.png"]
    # Every item is there as it was and in its place, as RememoSession gives it.
    items = [record.data["verbatim"] for record in room.list(metadata={"openai_agents": "item"})]
    assert [item.get("type", "message") for item in items] == [
        "message", "function_call", "function_call_output", "message", "message", "reasoning",
    ]  # fmt: skip
    assert items[1] == {
        "arguments": '{"city":"Lisbon"}', "call_id": "call_1", "name": "weather", "type": "function_call", "id": "fc_1",
    }  # fmt: skip
    assert memory.rooms() == ["user-7", "user-8"]


def test_odd_items_of_sessions(memory: Memory, tmp_path: Path):
    path = tmp_path / "sessions.db"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE my_turns (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TIMESTAMP)"
    )
    items: list[Any] = [
        {"__enc__": 1, "v": 1, "kid": "k", "payload": "…"},
        {"role": "user", "content": [{"type": "input_text", "text": "see"}, {"image_url": "/etc/hostname"}]},
        {"role": "developer", "content": "Be brief.\0"},
        {"role": "user", "content": "x" * 2_000_000},
    ]
    texts = ["no JSON", "[]", *map(json.dumps, items)]
    connection.executemany(
        "INSERT INTO my_turns (session_id, message_data, created_at) VALUES ('s', ?, '2026-01-02 03:04:05')",
        [(text,) for text in texts],
    )
    connection.commit()
    connection.close()
    done = import_from(memory, path, "openai-agents")
    assert done.added == {"message": 2, "state": 1}
    assert done.left_out == {"an item that is no JSON object": 2, "it cannot be stored; see problems": 1}
    [problem] = done.problems
    assert problem.startswith("message 6 of openai-agents:s: content is 2,000,000 bytes")
    messages = memory.messages.history()
    assert [(message.role, message.content, message.images) for message in messages] == [
        ("user", "see", []),
        ("system", "Be brief.", []),
    ]


def test_a_text_that_is_no_text_is_told(memory: Memory, tmp_path: Path):
    path = tmp_path / "history.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE history (memory_id TEXT, new_memory TEXT, event TEXT)")
    connection.execute("INSERT INTO history VALUES ('1', CAST(x'74a7' AS TEXT), 'ADD')")
    connection.commit()
    connection.close()
    with pytest.raises(InvalidInput, match=r"history\.db is damaged: a text in it is not UTF-8"):
        import_from(memory, path, "mem0")


@pytest.mark.parametrize("source", ["mem0", "langgraph", "openai-agents"])
def test_a_file_of_somebody_else_is_refused(memory: Memory, tmp_path: Path, source: str):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE cats (name TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(InvalidInput, match=r"other\.db"):
        import_from(memory, path, source)
    (tmp_path / "no.db").write_bytes(path.read_bytes()[:50] + b"\0" * 500)
    with pytest.raises(InvalidInput, match=r"no\.db"):
        import_from(memory, tmp_path / "no.db", source)
