"""The files of Claude's memory tool as records: no way out of the tree, versions, undo, many writers."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rememo import Memory, Settings
from rememo.adapters.memory_files import MemoryFiles
from rememo.adapters.memory_paths import ROOT, resolve_path
from rememo.errors import InvalidInput, NotFound, VersionConflict

LINES = [f"line {number}" for number in range(20)]
PLACES = [f"/memories/to-{number}" for number in range(8)]
WRITER = """
import sys
from rememo import Memory
from rememo.adapters.memory_files import MemoryFiles
with Memory(sys.argv[1], embedder=None) as memory:
    for number in range(int(sys.argv[3])):
        MemoryFiles(memory).insert("/memories/log.txt", 0, f"{sys.argv[2]}-{number}")
"""


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings()) as memory:
        yield memory


@pytest.fixture
def files(memory: Memory) -> MemoryFiles:
    return MemoryFiles(memory.scope(user="alice"))


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../etc/passwd", "/memories/../../etc", "/memories/a/../../etc", "/memories/..", "/memories/a/../..",
        "/memories/%2e%2e/etc", "/memories/%2e%2e%2fetc", "/memories/..%2f..%2fetc", "/memories/%252e%252e%252fetc",
        "/memories/..\\etc", "/memories\\..\\..", "/memories/a\\..\\..\\..", "/memories/\uff0e\uff0e/etc", "/memories/\u2025/etc",
        "/memories/%ef%bc%8e%ef%bc%8e/etc", "/memories/x\0/../y", "/memories/\n", "/memories/\ud800", "/etc/passwd",
        "/memoriesother", "memories/a", "", "C:\\memories", "//memories/a", "/memories/" + "a" * 256,
        "/memories/" + "/".join(["deep"] * 300), "/Memories/a", "/memories\u200b/a", "file:///memories/a",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_tree(files: MemoryFiles, memory: Memory, path: str):
    memory.add("a record beside the files", id="beside")
    files.create("/memories/a/inside.txt", "inside")
    values = {
        "path": path,
        "file_text": "x",
        "old_str": "inside",
        "new_str": "out",
        "insert_line": 0,
        "insert_text": "x",
    }
    asked = [{"command": name, **values} for name in ("view", "create", "str_replace", "insert", "delete")]
    asked += [{"command": "rename", "old_path": path, "new_path": "/memories/new"}]
    asked += [{"command": "rename", "old_path": "/memories/a", "new_path": path}]
    for command in asked:
        with pytest.raises(InvalidInput):
            files.run(command)
    assert files.view(ROOT).endswith("4K\t/memories\n4K\t/memories/a/\n6B\t/memories/a/inside.txt")
    assert memory.get("beside").version == 1


@given(some.text(some.sampled_from("./\\%2eEfF\uff0e\u2024\u2025\u2026a\0"), max_size=24))
def test_whatever_is_asked_stays_below_the_root(rest: str):
    for path in (f"{ROOT}/{rest}", f"{ROOT}{rest}", rest):
        try:
            place = resolve_path(path)
        except InvalidInput:
            continue
        assert place == ROOT or place.startswith(f"{ROOT}/")
        assert not {"..", ".", ""} & set(place.split("/")[1:])
        assert resolve_path(place) == place


@pytest.mark.parametrize(
    "name", ["100%", "a%2Fb", "Käse.md", "笔记.md", "..rc", "...", "a b", "a..b", "émoji🐱", "%2e%2e"]
)
def test_odd_names_are_only_names(files: MemoryFiles, name: str):
    path = f"/memories/notes/{name}"
    files.create(path, "x")
    assert files.view(path) == f"Here's the content of {path} with line numbers:\n     1\tx"
    assert files.delete("/memories/notes") == "Successfully deleted /memories/notes"


def test_files_are_found_by_search_and_directories_are_not(files: MemoryFiles, memory: Memory):
    files.create("/memories/projects/lisbon.md", "The move to Lisbon is planned for May.\n")
    assert [hit.record.data["path"] for hit in memory.search("when is the move")] == ["/memories/projects/lisbon.md"]
    assert len(memory.search("projects")) == 0


def test_every_change_is_a_version_and_the_last_ones_can_be_undone(files: MemoryFiles, memory: Memory):
    files.create("/memories/a.txt", "one")
    files.str_replace("/memories/a.txt", "one", "two")
    files.rename("/memories/a.txt", "/memories/b/c.txt")
    files.insert("/memories/b/c.txt", 1, "three")
    assert [version.text for version in files.history("/memories/b/c.txt")] == ["one", "two", "two", "two\nthree\n"]
    memory.snapshot("before")
    files.delete("/memories/b")
    with pytest.raises(NotFound):
        files.history("/memories/b/c.txt")
    files.undo()
    assert files.view("/memories/b/c.txt").endswith("     1\ttwo\n     2\tthree\n     3\t")
    files.undo()
    files.undo()
    assert files.view("/memories/a.txt").endswith("     1\ttwo")
    assert files.view(ROOT).count("\n") == 2
    files.undo()
    assert files.view("/memories/a.txt").endswith("     1\tone")
    files.undo()
    assert files.view(ROOT).count("\n") == 1
    with pytest.raises(NotFound, match="no change to take back"):
        files.undo()
    past = MemoryFiles(memory.as_of("before").scope(user="alice"))
    assert past.view("/memories/b/c.txt").endswith("     2\tthree\n     3\t")


def test_a_name_that_was_used_before_begins_anew(files: MemoryFiles):
    files.create("/memories/a", "first")
    files.delete("/memories/a")
    files.create("/memories/a", "second")
    files.rename("/memories/a", "/memories/b")
    files.rename("/memories/b", "/memories/a")
    assert [version.text for version in files.history("/memories/a")] == ["second"] * 3


def test_undo_is_refused_when_another_changed_the_file_since(files: MemoryFiles, memory: Memory):
    files.create("/memories/a", "mine")
    MemoryFiles(memory.scope(user="alice")).str_replace("/memories/a", "mine", "theirs")
    with pytest.raises(VersionConflict):
        files.undo()


def test_each_scope_has_a_tree_of_its_own(memory: Memory):
    alice, both = MemoryFiles(memory.scope(user="alice")), MemoryFiles(memory.scope(user="alice", agent="helper"))
    bob, pool = MemoryFiles(memory.scope(user="bob")), MemoryFiles(memory.scope(user="bob").pool("team"))
    shared = MemoryFiles(memory.scope(user="alice").pool("team"))
    for files in (alice, both, bob, pool):
        files.create("/memories/who.txt", str(id(files)))
    assert [files.view("/memories/who.txt").split("\t")[1] for files in (alice, both, bob)] == [
        str(id(files)) for files in (alice, both, bob)
    ]
    assert shared.view("/memories/who.txt").endswith(str(id(pool)))
    assert alice.clear() == "All memory cleared"
    assert alice.clear() == "All memory cleared"
    assert [files.view(ROOT).count("\n") for files in (alice, both, bob, shared)] == [1, 2, 2, 2]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({}, "Unknown command: None"),
        ({"command": "read", "path": "/memories"}, "Unknown command: read"),
        ({"command": ["view"]}, "Unknown command: ['view']"),
        ({"command": "view"}, "The command view needs `path`, a text"),
        ({"command": "view", "path": 7}, "The command view needs `path`, a text"),
        ({"command": "create", "path": "/memories/a"}, "The command create needs `file_text`, a text"),
        ({"command": "insert", "path": "/memories/f", "insert_line": "0", "insert_text": ""}, "The command insert needs `insert_line`, a number"),
        ({"command": "insert", "path": "/memories/f", "insert_line": True, "insert_text": ""}, "The command insert needs `insert_line`, a number"),
        ({"command": "view", "path": "/memories/f", "view_range": ["1", 2]}, "`view_range` must be two line numbers, such as [1, 10]; -1 stands for the last line"),
        ({"command": "create", "path": "/memories/f/g", "file_text": ""}, "The path /memories/f is not a directory."),
        ({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e/f"}, "Cannot move /memories/d into itself"),
        ({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/f/x"}, "The path /memories/f is not a directory."),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told_to_the_model(files: MemoryFiles, command: dict[str, object], told: str):
    files.create("/memories/f", "x")
    files.create("/memories/d/e", "x")
    with pytest.raises(InvalidInput) as error:
        files.run(command)
    assert str(error.value) == told
    assert files.result("toolu_1", command) == {
        "type": "tool_result", "tool_use_id": "toolu_1", "content": told, "is_error": True,
    }  # fmt: skip
    assert files.result("toolu_2", {"command": "view", "path": ROOT}) == {
        "type": "tool_result", "tool_use_id": "toolu_2", "content": files.view(ROOT),
    }  # fmt: skip


def test_contents_that_cannot_be_stored_are_refused_and_leave_nothing(files: MemoryFiles):
    for text in ("a\0b", "\ud800", "x" * 2_000_000):
        with pytest.raises(InvalidInput):
            files.create("/memories/new/bad.txt", text)
    assert files.view(ROOT).count("\n") == 1
    files.create("/memories/many.txt", "\n" * 1_000_000)
    with pytest.raises(InvalidInput, match=r"^File /memories/many\.txt exceeds maximum line limit of 999,999 lines\.$"):
        files.view("/memories/many.txt")
    with pytest.raises(InvalidInput, match="Multiple occurrences"):
        files.str_replace("/memories/many.txt", "", "x")


def test_one_of_many_creates_a_file_and_no_edit_is_lost(files: MemoryFiles):
    def create(number: int) -> bool:
        try:
            files.create("/memories/d/one.txt", f"{number}")
        except InvalidInput as error:
            assert str(error) == "File /memories/d/one.txt already exists"  # noqa: PT017 - of those that fail
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(8))) == 1
        list(threads.map(partial(files.insert, "/memories/d/one.txt", 0), LINES))
        found = list(threads.map(partial(_moved, files), PLACES))
    assert sum(found) == 1
    moved = PLACES[found.index(True)]
    assert {line.split("\t")[1] for line in files.view(moved).split("\n")[1:]} >= {
        f"line {number}" for number in range(20)
    }


def _moved(files: MemoryFiles, to: str) -> bool:
    try:
        files.rename("/memories/d/one.txt", to)
    except InvalidInput:
        return False
    return True


def test_two_processes_edit_one_file(tmp_path: Path):
    path = tmp_path / "files.db"
    with Memory(path, embedder=None) as memory:
        files = MemoryFiles(memory)
        files.create("/memories/log.txt", "")
        both = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, "15"]) for name in ("a", "b")]
        assert [writer.wait(120) for writer in both] == [0, 0]
        lines = {line.split("\t")[1] for line in files.view("/memories/log.txt").split("\n")[1:]}
        assert lines == {f"{name}-{number}" for name in "ab" for number in range(15)} | {""}


def test_it_can_be_awaited(files: MemoryFiles):
    async def ask() -> str:
        await files.arun({"command": "create", "path": "/memories/a", "file_text": json.dumps([1])})
        return await files.arun({"command": "view", "path": "/memories/a", "view_range": [1, -1]})

    assert asyncio.run(ask()) == "Here's the content of /memories/a with line numbers:\n     1\t[1]"
