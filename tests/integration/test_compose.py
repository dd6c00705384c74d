"""Composing beside other processes, over a fork, and with providers that never come back."""

import subprocess
import sys
from pathlib import Path

import pytest

from rememo import Memory

HANGS = """
import sys, threading
from rememo import Memory
memory = Memory(sys.argv[1], embedder=None)

@memory.provider("hang", timeout=0.05)
def hang(asked):
    threading.Event().wait()

@memory.provider("blocks", timeout=0.05)
async def blocks(asked):
    threading.Event().wait()

for _ in range(3):
    print([(one.name, one.reason) for one in memory.compose("x", include=["hang", "blocks"]).failures])
if sys.argv[2] == "close":
    memory.close()
print("over")
"""

FORKS = """
import os, sys
from rememo import Memory
memory = Memory(sys.argv[1], embedder=None)
memory.provider("plain")(lambda asked: "plain")

@memory.provider("later")
async def later(asked):
    return "later"

def text():
    return memory.compose("x", include=["plain", "later"]).text

first = text()
child = os.fork()
if child == 0:
    os._exit(0 if text() == first and memory.compose("y", include=["plain", "later"]).text == first else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text() == first)
"""

WRITES = """
import sys
from rememo import Memory
with Memory(sys.argv[1], embedder=None) as memory:
    memory.scope(user="alice", room="r").messages.add("user", sys.argv[2], learn=False)
    memory.profiles.update("alice", said=sys.argv[2])
"""


def run(script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("ending", ["close", "leave"])
def test_what_hangs_keeps_neither_close_nor_the_interpreter(tmp_path: Path, ending: str):
    said = run(HANGS, tmp_path / "m.db", ending).splitlines()
    assert said == ["[('hang', 'slow'), ('blocks', 'slow')]"] * 3 + ["over"]


def test_a_forked_child_composes(tmp_path: Path):
    assert run(FORKS, tmp_path / "m.db").split() == ["0", "True"]


@pytest.mark.requirement("state.cache")
def test_another_process_makes_a_state_old(tmp_path: Path):

    with Memory(tmp_path / "m.db", embedder=None) as memory:
        chat = memory.scope(user="alice", room="r")
        chat.compose("hello")
        for words in ("first", "second"):
            assert chat.compose("hello").cached
            run(WRITES, tmp_path / "m.db", words)
            state = chat.compose("hello")
            assert not state.cached
            assert f"alice: {words}" in state.text
            assert f"said: {words}" in state.text
