"""`rememo serve` and `rememo keys` as processes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from rememo import Memory

COMMAND = [sys.executable, "-c", "from rememo.cli import main; main()"]
LONGEST = 300.0


def rememo(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture
def started() -> Iterator[Any]:
    """Start a server on any free port; give the process and its address."""
    with ExitStack() as stack:

        def start(*arguments: object, **environment: str) -> "tuple[subprocess.Popen[str], str]":
            process = stack.enter_context(
                subprocess.Popen(
                    [*COMMAND, "serve", *map(str, arguments), "--port", "0"],
                    env={**os.environ, **environment},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            watchdog = threading.Timer(LONGEST, process.kill)
            watchdog.start()
            stack.callback(process.kill)
            stack.callback(watchdog.cancel)
            assert process.stdout is not None
            line = process.stdout.readline()
            return process, line.removeprefix("dashboard: ").strip()

        yield start


@pytest.mark.requirement("api.rest")
def test_a_server_from_start_to_stop(started: Any, tmp_path: Path):
    file = tmp_path / "a.db"
    process, address = started(file)
    with httpx.Client(base_url=address, timeout=30, trust_env=False) as web:
        assert process.stdout is not None
        links = [address, *re.findall(r"http://\S+", process.stdout.readline())]
        assert [web.get(link, follow_redirects=True).status_code for link in links] == [200, 200]
        made = web.post("/v1/messages", params={"user": "ana"}, json={"role": "user", "content": "I live in Lisbon."})
        assert made.status_code == 201
        key = json.loads(rememo("keys", "add", file, "--scope", "user=ana", "--name", "phone", "--json").stdout)
        assert web.get("/v1/records").status_code == 401
        mine = {"Authorization": f"Bearer {key['key']}"}
        assert web.get("/v1/messages", headers=mine).json()["items"][0]["content"] == "I live in Lisbon."
        rotated = rememo("keys", "rotate", file, key["id"]).stdout.strip()
        assert web.get("/v1/records", headers=mine).status_code == 401
        assert web.get("/v1/records", headers={"Authorization": f"Bearer {rotated}"}).status_code == 200
        assert rememo("keys", "revoke", file, key["id"]).returncode == 0
        assert web.get("/v1/records", headers={"Authorization": f"Bearer {rotated}"}).status_code == 401
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "stopped; everything is stored" in out
    assert "there are no keys" in err
    assert key["key"] not in out + err
    listed = rememo("keys", "list", file).stdout
    assert key["id"] in listed
    assert "revoked" in listed
    [shown] = json.loads(rememo("keys", "list", file, "--json").stdout)
    assert (shown["name"], shown["user"], shown["last_used_at"] is not None) == ("phone", "ana", True)
    # Closed in order: the log of writes is gone into the file.
    assert not (tmp_path / "a.db-wal").exists()
    with Memory(file) as memory:
        assert memory.messages.history()[0].content == "I live in Lisbon."


def test_nobody_elsewhere_is_served_without_keys(tmp_path: Path):
    refused = rememo("serve", tmp_path / "a.db", "--host", "0.0.0.0")  # noqa: S104 - that is refused
    assert refused.returncode == 1
    assert "there are no keys yet" in refused.stderr


def test_the_addresses_are_what_is_printed_first(tmp_path: Path):
    command = [*COMMAND, "serve", tmp_path / "a.db", "--port", "0", "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        watchdog = threading.Timer(LONGEST, process.kill)
        watchdog.start()
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        watchdog.cancel()
    assert [line.split(":")[0] for line in lines] == ["dashboard", "API"]
    assert "worker 0 runs as process" in rest


def test_bad_calls_of_keys(tmp_path: Path):
    file = tmp_path / "a.db"
    refused = rememo("keys", "add", file, "--scope", "tenant=x")
    assert (refused.returncode, "--scope must be" in refused.stderr) == (1, True)
    assert rememo("keys", "revoke", file, "nobody").returncode == 1


def test_a_server_is_told_by_the_environment_where_its_memory_is(started: Any, tmp_path: Path):
    process, address = started("--log", "json", REMEMO_URL=str(tmp_path / "b.db"))
    httpx.get(
        f"{address}/v1/records?limit=5", trust_env=False, timeout=60, headers={"X-Request-Id": "r1"}
    ).raise_for_status()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (told,) = [line for line in lines if line.get("request") == "r1"]
    assert (told["method"], told["path"], told["status"], told["level"]) == ("GET", "/v1/records", 200, "info")
    assert (tmp_path / "b.db").exists()


@pytest.mark.requirement("store.postgres")
def test_the_production_store_can_be_tried_with_nothing_installed(started: Any):
    process, address = started("--postgres", "embedded")
    with httpx.Client(base_url=address, timeout=30, trust_env=False) as web:
        web.post("/v1/records", json={"text": "the ship sails on Friday"}).raise_for_status()
        hits = web.post("/v1/search", json={"query": "when does the ship sail?"}).raise_for_status().json()["items"]
        assert hits[0]["record"]["text"] == "the ship sails on Friday"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "gone when you stop" in err
    assert "the server is gone" in out


def test_a_file_and_a_server_of_its_own_are_not_both_meant(tmp_path: Path):
    done = rememo("serve", tmp_path / "c.db", "--postgres", "embedded")
    assert done.returncode == 1
    assert "not both" in done.stderr
