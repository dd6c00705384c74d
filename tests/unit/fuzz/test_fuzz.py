"""Whatever comes in, what comes out is an answer or an error of Rememo's, and the memory stays sound."""

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.errors import RememoError
from rememo.imports import SOURCES, import_from
from rememo.serve.mcp.tool import ToolCaller
from rememo.serve.mcp.tools import TOOLS

UNHURRIED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=UNHURRIED)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=UNHURRIED)
IMPORTS = Path(__file__).parents[2] / "data" / "imports"

odd = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ['"', "'", '"""', "a OR", "NEAR(", "*", "^x", "col:x", "-", "NOT", "AND AND", "\x00", "\u202e", "\ud800", "%", "_",
         "'; DROP TABLE records; --", "{{7*7}}", "<script>", "a" * 5_000, "👩‍👩‍👧", "日本語のテキスト", "last May", "0", "\n\n"]
    ),
)  # fmt: skip
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(odd, inner, max_size=3)),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def memory() -> Any:
    with Memory(":memory:", settings=Settings(worker=False)) as memory:
        memory.add_many([f"note {number} about Lisbon and tea" for number in range(20)])
        memory.scope(user="ana", room="r").messages.add("user", "I live in Lisbon.")
        yield memory


def tried(call: Callable[[], object]) -> None:
    """Call, and let pass what is an answer or an error that users are told of."""
    with suppress(RememoError):
        call()


@QUICK
@given(query=odd, metadata=values, limit=st.one_of(st.integers(-2, 20), values), mode=odd)
def test_any_question(memory: Memory, query: str, metadata: Any, limit: Any, mode: Any):
    tried(lambda: memory.search(query, limit=5))
    tried(lambda: memory.search(query, metadata=metadata, limit=limit))
    tried(lambda: memory.search(query, mode=mode))
    tried(lambda: memory.list(metadata=metadata, limit=limit))
    tried(lambda: memory.context(query, max_tokens=200))


@QUICK
@given(
    text=values,
    fields=st.dictionaries(
        st.sampled_from(["kind", "data", "metadata", "id", "ttl", "trust", "key", "source"]), values
    ),
)
def test_any_record(memory: Memory, text: Any, fields: dict[str, Any]):
    tried(lambda: memory.add(text, **fields))
    tried(lambda: memory.messages.add(text, str(fields)[:50] or "x"))
    tried(lambda: memory.scope(user=text, room=fields.get("id")).rooms())
    assert memory.verify().ok


@QUICK
@given(number=st.integers(0, len(TOOLS) - 1), data=st.data())
def test_any_call_of_an_assistant(memory: Memory, number: int, data: st.DataObject):
    tool = TOOLS[number]
    names = [*tool.schema(frozenset())["properties"], "surprise"]
    given_ = data.draw(st.dictionaries(st.sampled_from(names), values, max_size=5))
    view = memory.scope(user="ana")

    def call() -> None:
        arguments = tool.arguments(given_)
        tool.handler(view, ToolCaller(bound=frozenset({"user"})), arguments)

    tried(call)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("export")
    with Memory(folder / "a.db") as memory:
        memory.scope(user="ana", room="r").messages.add("user", "I live in Lisbon. My cat is Miso.").wait()
        memory.add("a note", metadata={"a": 1})
        memory.kv.set("k", {"v": 1})
        memory.snapshot("s")
        memory.export(folder / "a.jsonl")
    return (folder / "a.jsonl").read_bytes()


def spoiled(whole: bytes, seed: int) -> bytes:
    """Return bytes with a few of them changed, lost, doubled, or a value put elsewhere."""
    chance = random.Random(seed)
    raw = bytearray(whole)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(raw))
        match chance.randrange(5):
            case 0:
                raw[at] = chance.randrange(256)
            case 1:
                del raw[at : at + chance.randrange(1, 40)]
            case 2:
                raw[at:at] = raw[max(0, at - chance.randrange(1, 60)) : at]
            case 3:
                raw[at:] = b""
            case _:
                word = chance.choice([b"null", b"-1", b'"x"', b"[]", b"{}", b"1e999", b"true"])
                end = raw.find(b",", at)
                raw[raw.rfind(b":", 0, at) + 1 : end if end > 0 else at] = word
        if not raw:
            break
    return bytes(raw)


@FEW
@given(seed=st.integers(0, 2**32))
def test_any_export_that_was_spoiled(exported: bytes, seed: int):
    with TemporaryDirectory() as folder, Memory(Path(folder) / "b.db", settings=Settings(worker=False)) as memory:
        memory.add("was here before", id="before")
        (Path(folder) / "b.jsonl").write_bytes(spoiled(exported, seed))
        tried(lambda: memory.import_(Path(folder) / "b.jsonl"))
        assert memory.get("before") is not None
        assert memory.verify().ok
        tried(lambda: memory.list(limit=100))


CHATS: dict[str, Any] = {
    "chatgpt-export": [
        {"id": "c1", "title": "T", "create_time": 1.0, "current_node": "b", "mapping": {
            "a": {"id": "a", "parent": None, "children": ["b"], "message": None},
            "b": {"id": "b", "parent": "a", "children": [], "message": {
                "id": "b", "author": {"role": "user"}, "create_time": 2.0,
                "content": {"content_type": "text", "parts": ["I live in Lisbon."]}}}}}
    ],
    "claude-export": [
        {"uuid": "u1", "name": "T", "created_at": "2026-01-01T00:00:00Z", "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "Hi", "created_at": "2026-01-01T00:00:01Z",
             "content": [{"type": "text", "text": "Hi"}], "attachments": []}]}
    ],
    "letta": {"agents": [{"id": "a", "name": "n", "block_ids": ["b"], "messages": [
                  {"id": "m", "role": "user", "content": [{"type": "text", "text": "Hi"}]}]}],
              "blocks": [{"id": "b", "label": "human", "value": "Ana"}]},
    "hindsight": {"items": [{"id": "f", "text": "Ana sails", "date": "2026-01-01", "entities": "Ana", "state": "valid"}]},
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes]]:
    """A source and what it wrote, for every source."""
    folder = tmp_path_factory.mktemp("sound")
    found = [(source, json.dumps(value).encode()) for source, value in CHATS.items()]
    found.append(("jsonl", b'{"role": "user", "content": "Hi", "id": "1"}\n{"text": "a note"}\n'))
    found.append(("mem0", (IMPORTS / "mem0_get_all.json").read_bytes()))
    for source, dump in (("langgraph", "langgraph"), ("mem0", "mem0_history"), ("openai-agents", "openai_agents")):
        connection = sqlite3.connect(folder / f"{dump}.db")
        connection.executescript((IMPORTS / f"{dump}.sql").read_text())
        connection.close()
        found.append((source, (folder / f"{dump}.db").read_bytes()))
    return found


def test_files_of_other_systems_are_sound_before_they_are_spoiled(sound: list[tuple[str, bytes]], tmp_path: Path):
    for number, (source, whole) in enumerate(sound):
        (tmp_path / str(number)).write_bytes(whole)
        with Memory(":memory:", settings=Settings(worker=False)) as memory:
            import_from(memory, tmp_path / str(number), source)
            assert memory.count() > 0, source


@QUICK
@given(seed=st.integers(0, 2**32), data=st.data())
def test_any_file_of_another_system(sound: list[tuple[str, bytes]], seed: int, data: st.DataObject):
    source, whole = data.draw(st.sampled_from(sound))
    with TemporaryDirectory() as folder, Memory(":memory:", settings=Settings(worker=False)) as memory:
        file = Path(folder) / "spoiled"
        file.write_bytes(spoiled(whole, seed))
        tried(lambda: import_from(memory, file, source))
        assert memory.verify().ok


def test_json_that_is_deeper_than_any_reader(tmp_path: Path):
    with Memory(":memory:", settings=Settings(worker=False)) as memory:
        (tmp_path / "deep.jsonl").write_text("[" * 100_000)
        for source in sorted(SOURCES):
            tried(lambda source=source: import_from(memory, tmp_path / "deep.jsonl", source))
        tried(lambda: memory.import_(tmp_path / "deep.jsonl"))
        tried(lambda: memory.add("x", data=json.loads("[" * 500 + "]" * 500)))
