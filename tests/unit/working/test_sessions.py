"""Sessions: saved, taken up again, listed, and gone without a trace when they should be."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import AlreadyExists, Closed, Corrupt, InvalidInput, NotFound, ReadOnly
from rememo.testing.clock import ManualClock
from rememo.working.file_names import check_file_name, fold_file_name

QUIET = Settings(learn=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=QUIET, clock=clock) as memory:
        yield memory


@pytest.mark.requirement("session.save-load-list")
def test_saved_loaded_listed_and_deleted(memory: Memory, clock: ManualClock):
    chat = memory.scope(user="alice", room="chat")
    chat.working.messages.add("user", "hello")
    chat.working.think("hm")
    chat.working.context.set("mood", "glad")
    chat.working.todos.add("answer")
    monday = chat.sessions.save("Monday, 5 pm")
    assert (monday.name, monday.saved_at) == ("Monday, 5 pm", clock())
    assert (monday.messages, monday.actions, monday.thoughts, monday.todos, monday.context) == (1, 0, 1, 1, 1)
    assert monday.bytes > 100
    was = chat.working.export()
    clock.advance()
    chat.clear()  # whatever becomes of the records, what is saved stays
    chat.working.messages.add("user", "on Tuesday")
    chat.working.context.set("mood", "tired")
    chat.sessions.save("Tuesday")
    assert [session.name for session in chat.sessions.list()] == ["Monday, 5 pm", "Tuesday"]
    assert chat.sessions.list()[0] == monday
    receipt = chat.sessions.load("Monday, 5 pm")
    assert chat.working.export() == was
    assert chat.working.context.all() == {"mood": "glad"}
    memory.undo(receipt)
    assert [message.content for message in chat.messages.history()] == ["on Tuesday"]
    # Its own content, for a file or another memory.
    with Memory(":memory:", embedder=None) as other:
        other.working.import_(chat.sessions.get("Monday, 5 pm"))
        assert other.messages.latest()[0].content == "hello"
    # Saving again replaces; other scopes have sessions of their own.
    assert chat.sessions.save("Monday, 5 pm").thoughts == 0
    assert len(chat.sessions.list()) == 2
    assert memory.sessions.list() == memory.scope(user="bob", room="chat").sessions.list() == []
    assert chat.sessions.delete("Monday, 5 pm")
    assert not chat.sessions.delete("Monday, 5 pm")
    assert [session.name for session in chat.sessions.list()] == ["Tuesday"]


def test_a_session_outlives_the_process_and_goes_into_an_export(tmp_path: Path):
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        memory.scope(room="r").working.context.set("a", [1, 2])
        memory.scope(room="r").sessions.save("kept")
        memory.scope(room="r").clear()
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        memory.export(tmp_path / "all.jsonl")
        memory.scope(room="r").sessions.load("kept")
        assert memory.scope(room="r").working.context.all() == {"a": [1, 2]}
    with Memory(":memory:", embedder=None) as other:
        other.import_(tmp_path / "all.jsonl")
        other.scope(room="r").sessions.load("kept")
        assert other.scope(room="r").working.context.get("a") == [1, 2]


def test_sessions_that_are_not_there(memory: Memory):
    memory.working.context.set("a", 1)
    memory.sessions.save("There")
    for name in ("nowhere", "there"):
        with pytest.raises(NotFound, match="there is no session"):
            memory.sessions.load(name)
        with pytest.raises(NotFound, match="there is no session"):
            memory.sessions.get(name)
        assert not memory.sessions.delete(name)
    with pytest.raises(AlreadyExists, match="'There'"):
        memory.sessions.save("there")
    with pytest.raises(AlreadyExists, match="'There'"), memory.sessions.run("THERE"):
        pytest.fail("it must not begin")
    assert [session.name for session in memory.sessions.list()] == ["There"]
    assert memory.working.context.all() == {"a": 1}
    past = memory.as_of(memory.snapshot("s"))
    with pytest.raises(ReadOnly):
        past.sessions.list()
    with pytest.raises(ReadOnly):
        past.sessions.save("x")
    with memory.batch() as batch, pytest.raises(InvalidInput, match="batch"):
        batch.sessions.load("There")


def test_a_damaged_session_is_told(memory: Memory):
    engine = view_of(memory).engine  # to do the damage
    memory.working.context.set("a", 1)
    memory.sessions.save("x")
    space = '[null,null,null,"sessions"]'
    assert engine.kv.keys("default", space, "*", engine.now()) == ["x"]
    entry = engine.kv.get("default", space, "x", engine.now())
    assert entry is not None
    engine.kv.set("default", space, "x", entry.value.replace('"rememo-working"', '"else"'), engine.now())
    with pytest.raises(InvalidInput, match="not the export"):
        memory.sessions.load("x")
    engine.kv.set("default", space, "x", entry.value[:-9], engine.now())
    with pytest.raises(Corrupt, match="'x'"):
        memory.sessions.load("x")
    for damaged in ("[]", "[3,4]", '[{"name":"x"},{}]', "17"):
        engine.kv.set("default", space, "x", damaged, engine.now())
        with pytest.raises(Corrupt, match="'x'"):
            memory.sessions.list()
    assert memory.working.context.all() == {"a": 1}


def test_a_run_goes_on_where_it_ended(memory: Memory):
    chat = memory.scope(room="r")
    with chat.sessions.run("work") as working:
        working.messages.add("user", "one")
    chat.working.messages.add("user", "said outside")
    with pytest.raises(KeyError), chat.sessions.run("work") as working:  # noqa: PT012 - the block is what is tested
        assert [message.content for message in working.messages.history()] == ["one"]
        working.messages.add("user", "two")
        raise KeyError
    chat.working.clear()
    with chat.sessions.run("work") as working:
        assert [message.content for message in working.messages.history()] == ["one", "two"]
    lost = Memory(":memory:", embedder=None)
    with pytest.raises(KeyError) as caught, lost.sessions.run("work"):  # noqa: PT012 - the block is what is tested
        lost.close()
        raise KeyError("what matters")
    assert "could not be saved" in caught.value.__notes__[0]


@pytest.mark.requirement("security.clear-on-end")
def test_nothing_stays_of_a_session_that_is_cleared(tmp_path: Path):
    with Memory(tmp_path / "a.db") as memory:
        chat = memory.scope(user="alice", room="r")
        chat.messages.add("user", "an old message", learn=False)
        moment, before, stats = memory.snapshot("before"), chat.working.export(), memory.stats().kinds
        with chat.sessions.run("secret", clear=True) as working:
            receipt = working.messages.add("user", "My name is Zerubbabel. I live in Lisbon.").wait()
            with working.tool("bank", {"pin": "Zerubbabel"}) as call:
                call.result = "Zerubbabel"
            working.think("Zerubbabel")
            working.todos.add("Zerubbabel")
            working.context.set("Zerubbabel", 1)
            assert (working.stats().messages.count, working.bound) == (1, chat.bound)
            assert working.messages.get(receipt.id).content.endswith("Lisbon.")
            # Nobody else sees it meanwhile.
            assert not memory.search("Zerubbabel")
        with pytest.raises(ValueError, match="stop"), chat.sessions.run("secret", clear=True) as other:  # noqa: PT012 - the block is what is tested
            assert other.stats().messages.count == 0
            other.messages.add("user", "Zerubbabel again")
            raise ValueError("stop")
        for ended in (working, other):
            with pytest.raises(Closed):
                ended.stats()
        assert chat.working.export() == before
        assert memory.diff(moment) == memory.diff(moment, moment)
        assert (memory.stats().kinds, chat.sessions.list(), chat.facts.list(), memory.jobs.list()) == (
            stats,
            [],
            [],
            [],
        )
        with pytest.raises(NotFound):
            memory.history(receipt.id)
        assert _files_without(tmp_path, b"Zerubbabel")
        with pytest.raises(InvalidInput, match="clear"), chat.sessions.run("x", clear="yes"):  # pyright: ignore[reportArgumentType] - meant
            pytest.fail("it must not begin")
        chat.sessions.save("kept")
        with pytest.raises(AlreadyExists, match="is saved"), chat.sessions.run("kept", clear=True):
            pytest.fail("it must not begin")
    assert _files_without(tmp_path, b"Zerubbabel")


def _files_without(folder: Path, secret: bytes) -> bool:
    return not any(secret in path.read_bytes() for path in folder.iterdir() if path.is_file())


@pytest.mark.requirement("security.clear-on-end")
def test_not_even_a_killed_process_leaves_anything_of_it(tmp_path: Path):
    script = textwrap.dedent("""
        import sys, time
        from rememo import Memory
        memory = Memory(sys.argv[1], embedder=None)
        memory.messages.add("user", "known to all", learn=False)
        with memory.sessions.run("secret", clear=True) as working:
            working.messages.add("user", "Zerubbabel")
            print("said", flush=True)
            time.sleep(100)
    """)
    process = subprocess.Popen([sys.executable, "-c", script, tmp_path / "a.db"], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "said\n"
        process.kill()
    assert _files_without(tmp_path, b"Zerubbabel")
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        assert [message.content for message in memory.messages.history()] == ["known to all"]


WRONG: list[Any] = [
    "", " ", ".", "..", "a/b", "a\\b", "a:b", "a*", "a?", 'a"', "<a>", "a|b", "a\n", "a\x00", "a\x7f", "a\u202eb", "a ",
    " a", "a.", "con", "NUL", "nul.txt", "Aux .log", "com1", "LPT9.x", "COM¹", "CONIN$", "x" * 101, "日" * 67, "\ud800",
    None, 3, b"a", Path("a"),
]  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_names_that_no_file_could_have(memory: Memory, name: Any):
    for verb in (memory.sessions.save, memory.sessions.load, memory.sessions.get, memory.sessions.delete):
        with pytest.raises(InvalidInput, match="name"):
            verb(name)
    with pytest.raises(InvalidInput, match="name"), memory.sessions.run(name, clear=True):
        pytest.fail("it must not begin")
    assert not memory.sessions.list()


NAMES = st.text(st.sampled_from("aAbßéÉcom1nul.$ /\u0130i\u0307") | st.characters(), max_size=8)


@given(NAMES, NAMES)
@example("console", "com10")
@example("e\u0301te\u0301", "ÉTÉ")
@example("straße", "STRASSE")
def test_every_name_that_is_taken_is_a_file_name(first: str, second: str):
    taken: list[str] = []
    for name in (first, second):
        try:
            taken.append(check_file_name(name))
        except InvalidInput:
            continue
    for name in taken:
        assert check_file_name(name) == name
        assert len(f"{name}.json".encode()) <= 255
        assert Path(f"{name}.json").name == f"{name}.json"
        assert not set(name) & set('/\\:*?"<>|')
    if len({name.upper() for name in taken}) == 1 or len({name.lower() for name in taken}) == 1:
        assert len({fold_file_name(name) for name in taken}) == 1


def test_how_a_session_is_told(memory: Memory):
    saved = memory.sessions.save("Été 日本 ½")
    assert asdict(saved)["name"] == "Été 日本 ½"
    assert memory.sessions.list() == [saved]
    assert memory.sessions.save("E\u0301te\u0301 日本 ½").name == saved.name
    with pytest.raises(AlreadyExists):
        memory.sessions.save("ÉTÉ 日本 ½")
