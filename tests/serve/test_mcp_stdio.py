"""`rememo mcp` as a process at the other end of a pipe."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.serve.auth import ApiKeys

COMMAND = [sys.executable, "-c", "from rememo.cli import main; main()", "mcp"]
HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}},
}  # fmt: skip
LONGEST = 60.0
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(id: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def piped(*arguments: object, lines: list[Any]) -> "tuple[dict[Any, Any], str, int]":
    """Send lines, wait for the answers, hang up; return the answers by id, what was logged, and the exit code."""
    sent = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    wanted: set[int] = {line["id"] for line in lines if not isinstance(line, str) and "id" in line}
    answers: dict[Any, Any] = {}
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(LONGEST, process.kill)
        watchdog.start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        while wanted - set(answers):
            answer = json.loads(process.stdout.readline())  # nothing but the protocol
            assert answer["jsonrpc"] == "2.0"
            answers[answer.get("id")] = answer
        rest, logged = process.communicate(timeout=LONGEST)
        watchdog.cancel()
    assert rest == ""
    return answers, logged, process.returncode


@pytest.mark.requirement("mcp.server")
def test_a_memory_outlives_the_assistant(tmp_path: Path, assistant: Callable[..., Any]):
    file = str(tmp_path / "a.db")
    first = assistant(command=[file, "--user", "ana", "--room", "tea", "--agent", "helper", "--tenant", "acme"])
    assert first.client.server_info.name == "rememo"
    assert "long-term memory" in first.client.instructions
    assert not {"user", "room"} & set(first.tools()["remember"].input_schema["properties"])
    made = first.got("remember", text="Ana prefers tea.")
    with Memory(file, tenant="acme") as memory:
        record = memory.get(made["id"])
        assert (record.scope.user, record.scope.room, record.scope.agent) == ("ana", "tea", "helper")
    # Others share the file, in the protocol of today as well.
    second = assistant(command=[file, "--user", "ana", "--tenant", "acme", "--read-only"], mode="auto")
    assert second.client.protocol_version == "2026-07-28"
    assert [item["id"] for item in second.got("recall", query="tea", kinds=["note"])["items"]] == [made["id"]]
    assert set(second.tools()) == {"recall", "context", "facts", "history", "tasks"}
    with pytest.raises(Exception, match="Unknown tool: remember"):
        second.use("remember", text="x")


def test_nothing_but_the_protocol_is_said(tmp_path: Path):
    file = tmp_path / "a.db"
    lines = [HELLO, READY, "this is no JSON", '{"jsonrpc": "2.0"}', "", call(1, "remember", text="Ana prefers tea."),
             {"jsonrpc": "2.0", "id": 2, "method": "no/such"}, call(3, "sing"), call(4, "recall", query="")]  # fmt: skip
    answers, _, code = piped(file, lines=lines)
    assert code == 0
    assert answers[0]["result"]["serverInfo"]["name"] == "rememo"
    assert answers[1]["result"]["structuredContent"]["outcome"] == "added"
    assert answers[2]["error"]["code"] == -32601
    assert answers[3]["error"]["code"] == -32602
    assert answers[4]["result"]["isError"] is True
    # Closed in order when the client hung up: the log of writes is gone into the file.
    assert not (tmp_path / "a.db-wal").exists()
    with Memory(file) as memory:
        assert memory.list(kind="note")[0].source == "mcp:tester"


def test_a_memory_that_cannot_be_opened_is_told_by_every_call(tmp_path: Path):
    file = tmp_path / "a.db"
    file.write_text("This is a letter, and no memory at all. " * 100)
    answers, logged, code = piped(file, lines=[HELLO, READY, call(1, "recall", query="tea")])
    assert code == 0
    assert answers[0]["result"]
    assert answers[1]["result"]["isError"] is True
    assert str(file) in answers[1]["result"]["content"][0]["text"]
    assert "the memory cannot be opened" in logged


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--user", ""], "user is empty"),
        (["--key", "x"], "--key is for a server"),
        (["--compat", "tree"], "graph"),
        (["--colour", "red"], "No such option"),
    ],
)
def test_a_wrong_call_is_told_at_once(tmp_path: Path, arguments: list[str], told: str):
    answers, logged, code = piped(tmp_path / "a.db", *arguments, lines=[])
    assert (answers, code != 0) == ({}, True)
    assert told in logged.replace("\n", " ")


def test_a_memory_on_a_server_is_used_through_a_pipe(
    serve: Any, memory: Memory, keys: ApiKeys, assistant: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    url, (_, text) = serve(), keys.add(user="ana")
    monkeypatch.setenv("REMEMO_KEY", text)
    helper = assistant(command=[url, "--room", "tea"])
    made = helper.got("remember", text="Ana lives in Lisbon.")
    assert [fact["object"] for fact in made["facts"]] == ["Lisbon"]
    record = memory.get(made["id"])
    assert (record.scope.user, record.scope.room, record.trust) == ("ana", "tea", 0.9)
    assert helper.got("recall", query="Lisbon", kinds=["note"])["items"][0]["id"] == made["id"]
    assert "Lisbon" in helper.said("context", query="where does Ana live?")
    task = helper.got("note_task", text="Pack")["task"]["id"]
    assert helper.got("note_task", id=task, status="done")["task"]["status"] == "done"
    assert helper.got("forget", ids=[made["id"]])["facts"] == 1
    assert [str(resource.uri) for resource in helper.ask("list_resources").resources] == [
        "rememo://rooms/tea",
        "rememo://profiles/ana",
    ]
    monkeypatch.setenv("REMEMO_URL", "http://127.0.0.1:9")
    elsewhere = assistant(command=["--key", "x"])
    assert "cannot be reached" in elsewhere.fault("recall", query="x")


def test_loading_the_command_loads_no_engine():
    told = subprocess.run(
        [sys.executable, "-c", "import sys, rememo.cli.mcp, rememo.serve.mcp.stdio; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    heavy = {"numpy", "apsw", "rememo.memory", "rememo.engine.engine", "fastapi", "rich"}
    assert not heavy & set(told)
