"""Claude's memory tool: answer by answer what Anthropic's own implementation over a file system gives, and in its runners."""

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx2 as httpx
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.tools import BetaAsyncLocalFilesystemMemoryTool, BetaLocalFilesystemMemoryTool, ToolError
from hypothesis import given, settings
from hypothesis import strategies as some

from rememo import Memory
from rememo.adapters.anthropic_memory import AsyncRememoMemoryTool, RememoMemoryTool
from rememo.errors import Closed

PATHS = [
    "/memories", "/memories/", "/memories/a", "/memories/a/", "/memories/./a", "/memories//a", "/memories/a/b",
    "/memories/a/b/c", "/memories/a/b/c/d.txt", "/memories/.hidden", "/memories/.hidden/x", "/memories/b", "/memories/a/../b",
    "/memories/../memories/a", "/memories/../x", "/memories/a/../../x", "/memories/b.txt", "/memories/Ä/ß.md", "/other", "",
    "/memories/a/%2e%2e", "/memories/...",
]  # fmt: skip
TEXTS = [
    "",
    "\n",
    "one",
    "one\n",
    "one\ntwo\nthree\nfour\nfive\nsix\n",
    "one\r\ntwo\r\n",
    "aaa",
    "one one\none",
    "\n\n\n",
    "ä😀\u2028x",
    "x" * 1500,
]
PARTS = ["", "one", "two", "\n", "aa", "a", "three\nfour", "ä", "missing", "\r\n"]
HEADER = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:"
EDITED = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
LINES = some.integers(-2, 9)


def _command(name: str, **fields: Any) -> Any:
    return some.fixed_dictionaries({"command": some.just(name), **fields})


PATH, TEXT, PART = some.sampled_from(PATHS), some.sampled_from(TEXTS), some.sampled_from(PARTS)
COMMANDS = some.one_of(
    _command("create", path=PATH, file_text=TEXT),
    _command(
        "create", path=some.sampled_from(["/memories/a/b", "/memories/b", "/memories/a/b/c/d.txt"]), file_text=TEXT
    ),
    _command("view", path=PATH),
    _command("view", path=PATH, view_range=some.lists(LINES, max_size=3)),
    _command("str_replace", path=PATH, old_str=PART, new_str=PART),
    _command("insert", path=PATH, insert_line=LINES, insert_text=TEXT),
    _command("delete", path=PATH),
    _command("rename", old_path=PATH, new_path=PATH),
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None) as memory:
        yield memory


def ask(tool: Any, command: dict[str, Any]) -> str:
    """Return the answer, whether good or bad; a directory's own size is the file system's affair."""
    try:
        answer = str(tool.call(command))
    except ToolError as error:
        return f"ToolError: {error}"
    except OSError:
        return "OSError"
    if not answer.startswith("Here're"):
        return answer
    head, own, *lines = answer.split("\n")
    lines = [re.sub(r"^[^\t]+\t", "4K\t", line) if line.endswith("/") else line for line in lines]
    return "\n".join([head, re.sub(r"^[^\t]+\t", "4K\t", own), *lines])


def folders(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_dir()}


@settings(max_examples=60, deadline=None)
@given(some.lists(COMMANDS, min_size=4, max_size=12))
def test_every_answer_is_that_of_anthropics_own_implementation(commands: list[dict[str, Any]]):
    home = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)  # noqa: S108 - they sync every write
    try:
        theirs = BetaLocalFilesystemMemoryTool(home)
        with Memory(":memory:", embedder=None) as memory:
            ours = RememoMemoryTool(memory)
            for command in commands:
                compare(ours, theirs, command)
            files = [path for path in theirs.memory_root.rglob("*") if path.is_file()]
            for file in [theirs.memory_root, *files]:
                path = "/memories/" + str(file.relative_to(theirs.memory_root))
                assert ask(ours, {"command": "view", "path": path}) == ask(theirs, {"command": "view", "path": path})
    finally:
        shutil.rmtree(home)


def compare(ours: Any, theirs: BetaLocalFilesystemMemoryTool, command: dict[str, Any]) -> None:
    before = folders(theirs.memory_root)
    expected, answer = ask(theirs, command), ask(ours, command)
    if command["command"] == "rename" and "Error" in expected:
        # They leave the new directories behind when there is nothing to put into them.
        for folder in sorted(folders(theirs.memory_root) - before, reverse=True):
            folder.rmdir()
    if expected == "OSError":
        # What they have no sentence for: a file where a directory should be, or something moved into itself.
        assert re.fullmatch(
            r"ToolError: (The path .* is not a directory\.|The path .* does not exist|Cannot move .* into itself)",
            answer,
        ), command
    else:
        assert answer == expected, command


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 1536, 10_000, 102_400, 1_048_575, 1_048_576])
def test_sizes_are_written_alike(memory: Memory, tmp_path: Path, size: int):
    ours, theirs = RememoMemoryTool(memory), BetaLocalFilesystemMemoryTool(str(tmp_path))
    for tool in (ours, theirs):
        tool.call({"command": "create", "path": "/memories/file", "file_text": "x" * size})
    view = {"command": "view", "path": "/memories"}
    assert ask(ours, view) == ask(theirs, view)


def test_the_documented_sentences(memory: Memory):
    tool = RememoMemoryTool(memory)
    answers = [
        ask(tool, command)
        for command in (
            {"command": "create", "path": "/memories/notes.txt", "file_text": "one\ntwo\nthree\n"},
            {"command": "create", "path": "/memories/notes.txt", "file_text": ""},
            {"command": "view", "path": "/memories"},
            {"command": "view", "path": "/memories/notes.txt", "view_range": [2, 3]},
            {"command": "view", "path": "/memories/none"},
            {"command": "str_replace", "path": "/memories/notes.txt", "old_str": "two", "new_str": "2"},
            {"command": "str_replace", "path": "/memories/notes.txt", "old_str": "four", "new_str": ""},
            {"command": "str_replace", "path": "/memories/notes.txt", "old_str": "e", "new_str": ""},
            {"command": "insert", "path": "/memories/notes.txt", "insert_line": 9, "insert_text": "x"},
            {"command": "insert", "path": "/memories/notes.txt", "insert_line": 1, "insert_text": "one and a half\n"},
            {"command": "rename", "old_path": "/memories/notes.txt", "new_path": "/memories/old/notes.txt"},
            {"command": "rename", "old_path": "/memories/old", "new_path": "/memories/old/notes.txt"},
            {"command": "delete", "path": "/memories"},
            {"command": "delete", "path": "/memories/old"},
            {"command": "delete", "path": "/memories/old"},
        )
    ]
    assert answers == [
        "File created successfully at: /memories/notes.txt",
        "ToolError: File /memories/notes.txt already exists",
        f"{HEADER}\n4K\t/memories\n14B\t/memories/notes.txt",
        "Here's the content of /memories/notes.txt with line numbers:\n     2\ttwo\n     3\tthree",
        "ToolError: The path /memories/none does not exist. Please provide a valid path.",
        f"{EDITED}\n     1\tone\n     2\t2\n     3\tthree\n     4\t",
        "ToolError: No replacement was performed, old_str `four` did not appear verbatim in /memories/notes.txt.",
        "ToolError: No replacement was performed. Multiple occurrences of old_str `e` in lines: 1, 3, 3. Please ensure it is unique",
        "ToolError: Invalid `insert_line` parameter: 9. It should be within the range [0, 3].",
        "The file /memories/notes.txt has been edited.",
        "Successfully renamed /memories/notes.txt to /memories/old/notes.txt",
        "ToolError: The destination /memories/old/notes.txt already exists",
        "ToolError: Cannot delete the /memories directory itself",
        "Successfully deleted /memories/old",
        "ToolError: The path /memories/old does not exist",
    ]


@pytest.mark.parametrize(
    "input",
    [
        None,
        "view",
        [],
        {},
        {"command": "read"},
        {"command": []},
        {"command": "create", "path": "/memories/a"},
        {"command": "view", "path": None},
    ],
)
def test_bad_input_is_told_to_the_model(memory: Memory, input: Any):
    with pytest.raises(ToolError, match=r"^(Unknown command|The command \w+ needs)"):
        RememoMemoryTool(memory).call(input)


STEPS = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/alice.md", "file_text": "Alice lives in Lisbon.\n"},
    {"command": "view", "path": "/memories/bob.md"},
]


class Claude:
    """Answers the Messages API: one tool call after another, then a text; keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(json.loads(request.content))
        turn = len(self.sent) - 1
        content: dict[str, Any] = {"type": "text", "text": "Noted."}
        if turn < len(STEPS):
            content = {"type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": STEPS[turn]}
        answer = {"id": "msg", "type": "message", "role": "assistant", "model": "claude", "content": [content]}
        answer |= {"stop_reason": "tool_use" if turn < len(STEPS) else "end_turn", "stop_sequence": None}
        return httpx.Response(200, json=answer | {"usage": {"input_tokens": 1, "output_tokens": 1}})

    def tool_results(self) -> list[tuple[str, bool]]:
        """Return what it was told by the tool, call by call."""
        messages = [message for sent in self.sent for message in sent["messages"] if message["role"] == "user"]
        blocks = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
        return list(
            {block["tool_use_id"]: (block["content"], block.get("is_error", False)) for block in blocks}.values()
        )


ASKED: Any = {"model": "claude", "max_tokens": 100, "messages": [{"role": "user", "content": [{"type": "text", "text": "Remember: Alice lives in Lisbon."}]}]}  # fmt: skip
TOLD = [
    (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n4K\t/memories",
        False,
    ),
    ("File created successfully at: /memories/alice.md", False),
    ("The path /memories/bob.md does not exist. Please provide a valid path.", True),
]


def test_the_sdks_runner_works_with_it(memory: Memory):
    claude = Claude()
    client = Anthropic(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(claude)))
    tool = RememoMemoryTool(memory.scope(user="alice"), cache_control={"type": "ephemeral"})
    runner: Any = cast("Any", client.beta.messages).tool_runner(tools=[tool], **ASKED)
    assert runner.until_done().content[0].type == "text"
    assert claude.sent[0]["tools"] == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]
    assert claude.tool_results() == TOLD
    assert memory.search("where does Alice live?", kind="note")[0].record.text == "Alice lives in Lisbon.\n"


def test_the_sdks_runner_works_with_it_on_an_event_loop(memory: Memory):
    async def run() -> None:
        claude = Claude()
        client = AsyncAnthropic(api_key="none", http_client=httpx.AsyncClient(transport=httpx.MockTransport(claude)))
        tool = AsyncRememoMemoryTool(memory)
        runner: Any = cast("Any", client.beta.messages).tool_runner(tools=[tool], **ASKED)
        await runner.until_done()
        assert claude.tool_results() == TOLD
        assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}

    asyncio.run(run())


def test_the_awaited_tool_answers_as_the_other_one(memory: Memory, tmp_path: Path):
    async def run() -> None:
        ours, theirs = AsyncRememoMemoryTool(memory), BetaAsyncLocalFilesystemMemoryTool(str(tmp_path))
        for command in (
            *STEPS,
            {"command": "insert", "path": "/memories/alice.md", "insert_line": 1, "insert_text": "She has a cat."},
            {"command": "str_replace", "path": "/memories/alice.md", "old_str": "cat", "new_str": "dog"},
            {"command": "rename", "old_path": "/memories/alice.md", "new_path": "/memories/people/alice.md"},
            {"command": "view", "path": "/memories/people/alice.md"},
            {"command": "delete", "path": "/memories/people"},
            {"command": "delete", "path": "/memories/people"},
        ):
            answers: list[str] = []
            for tool in (ours, theirs):
                try:
                    answers.append(str(await tool.call(command)))
                except ToolError as error:
                    answers.append(f"ToolError: {error}")
            assert re.sub(r"\n\S+\t/memories$", "", answers[0]) == re.sub(r"\n\S+\t/memories$", "", answers[1])
        await ours.call({"command": "create", "path": "/memories/a", "file_text": ""})
        assert await ours.clear_all_memory() == await theirs.clear_all_memory() == "All memory cleared"

    asyncio.run(run())


def test_it_clears_only_its_own_files_and_closes_only_what_it_opened(memory: Memory, tmp_path: Path):
    tool, other = RememoMemoryTool(memory.scope(user="alice")), RememoMemoryTool(memory.scope(user="bob"))
    for each_tool in (tool, other):
        each_tool.call({"command": "create", "path": "/memories/a", "file_text": "x"})
    assert tool.clear_all_memory() == "All memory cleared"
    assert "/memories/a" not in ask(tool, {"command": "view", "path": "/memories"})
    assert "/memories/a" in ask(other, {"command": "view", "path": "/memories"})
    tool.files.close()
    memory.add("still open")
    own = RememoMemoryTool(tmp_path / "own.db")
    own.files.close()
    with pytest.raises(Closed):
        own.call({"command": "view", "path": "/memories"})
