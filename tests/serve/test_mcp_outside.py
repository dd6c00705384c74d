"""The MCP server seen by others: the inspector's command line and the published conformance runner."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rememo
from rememo import Memory
from rememo.serve.auth import ApiKeys

BASELINES = Path(__file__).parent / "conformance"


Script = Callable[[str, str], list[str]]


def inspect(script: Script, *arguments: str) -> Any:
    """Return what the inspector's command line says."""
    command = [*script("@modelcontextprotocol/inspector", "clients/launcher/build/index.js"), "--cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


@pytest.mark.requirement("mcp.server")
def test_the_inspector_uses_a_memory_over_stdio(tmp_path: Path, script: Script):
    starter = tmp_path / "rememo-mcp"
    source = Path(rememo.__file__).parents[1]  # the inspector keeps the environment to itself
    starter.write_text(
        f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -c "from rememo.cli import main; main()" mcp "$@"\n'
    )
    starter.chmod(0o755)
    command = [str(starter), str(tmp_path / "a.db")]
    tools = inspect(script, *command, "--method", "tools/list")["tools"]
    assert {"remember", "recall", "context"} <= {tool["name"] for tool in tools}
    made = inspect(
        script, *command, "--method", "tools/call", "--tool-name", "remember", "--tool-arg", "text=Ana likes tea."
    )
    assert made["structuredContent"]["outcome"] == "added"
    assert not made.get("isError")


def test_the_inspector_uses_a_memory_over_http(serve: Any, memory: Memory, keys: ApiKeys, script: Script):
    memory.scope(user="ana", room="tea").add("Ana likes tea.")
    _, text = keys.add(user="ana", rights=["read"])
    command = [f"{serve()}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {text}"]
    found = inspect(script, *command, "--method", "resources/read", "--uri", "rememo://rooms/tea")
    assert "Ana likes tea." in found["contents"][0]["text"]


@pytest.mark.requirement("mcp.server")
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_server_conforms(serve: Any, memory: Memory, tmp_path: Path, script: Script, version: str):
    """Every check passes but those the baseline names; one that is named there and passes fails, too."""
    memory.scope(user="ana", room="chat-1").messages.add("user", "I like tea.")
    command = script("@modelcontextprotocol/conformance", "dist/index.js")
    command += ["server", "--url", f"{serve()}/mcp", "--suite", "all", "--spec-version", version]
    command += ["--expected-failures", str(BASELINES / f"{version}.yml"), "--output-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr
    checks = [check for file in tmp_path.glob("*/checks.json") for check in json.loads(file.read_text())]
    assert sum(check["status"] == "SUCCESS" for check in checks) >= 30


def test_a_stale_baseline_fails(serve: Any, tmp_path: Path, script: Script):
    stale = tmp_path / "stale.yml"
    stale.write_text("server:\n  - ping\n")
    command = script("@modelcontextprotocol/conformance", "dist/index.js")
    command += ["server", "--url", f"{serve()}/mcp", "--scenario", "ping", "--expected-failures", str(stale)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path)
    assert done.returncode == 1
    assert "ping" in done.stdout + done.stderr
