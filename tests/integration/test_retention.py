"""`kill -9` in the middle of a run, and readers and writers beside it."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.testing.clock import START, ManualClock

from .talk import kill_when

FAST = Settings(durability="fast", worker=False, learn=False)
MANY = 2_000
PINNED = MANY // 100
RUN = """
import sys
from datetime import timedelta
from rememo import Memory, Settings
from rememo.testing.clock import START, ManualClock
given = Settings(durability="fast", worker=False, learn=False)
with Memory(sys.argv[1], embedder=None, settings=given, clock=ManualClock(START + timedelta(days=60))) as memory:
    print("begins", flush=True)
    memory.maintain()
    print("done", flush=True)
"""


def filled(path: Path) -> Memory:
    clock = ManualClock()
    memory = Memory(path, embedder=None, settings=FAST, clock=clock)
    room = memory.scope(room="r")
    room.add_many({"text": f"old {place}", "kind": "message", "pinned": place % 100 == 0} for place in range(MANY))
    room.add_many({"text": f"the same {place % 50}"} for place in range(300))
    for place in range(5):
        room.add("changed", id="x", on_conflict="replace", data={"place": place})
    clock.advance(60 * 86_400)
    room.add_many({"text": f"new {place}", "kind": "message"} for place in range(10))
    memory.retention.use("messages")
    memory.retention.use("duplicates")
    memory.retention.use("versions")
    return memory


def state(memory: Memory) -> tuple[object, ...]:
    return sorted((record.text, record.version) for record in memory.list(limit=10_000)), len(memory.history("x"))


# Old messages are removed first, then what was said twice, then old versions.
@pytest.mark.parametrize("left", [MANY + 300, 300, 100])
def test_a_killed_run_is_done_by_the_next(tmp_path: Path, left: int):
    with filled(tmp_path / "whole.db") as whole:
        report = whole.maintain()
        expected = state(whole)
        assert report.done == MANY - PINNED + 250 + 3
    path = tmp_path / "killed.db"
    filled(path).close()
    process = subprocess.Popen([sys.executable, "-c", RUN, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    with Memory(path, embedder=None, settings=FAST) as watching:
        kill_when(process, lambda: watching.count() <= left)
    process.stdout.close()
    clock = ManualClock()
    clock.advance((START - clock()).total_seconds() + 60 * 86_400)
    with Memory(path, embedder=None, settings=FAST, clock=clock) as memory:
        assert memory.verify().ok
        memory.maintain()
        assert state(memory) == expected
        assert memory.maintain().found == 0
        assert memory.verify().ok


def test_others_read_and_write_meanwhile(tmp_path: Path):
    with filled(tmp_path / "memory.db") as memory:
        room, over = memory.scope(room="r"), threading.Event()
        seen: list[int] = []

        def live() -> None:
            while not over.is_set():
                added = room.add("meanwhile", kind="message").id
                # What a policy is about to remove may be changed under its hands.
                room.update("x", data={"place": len(seen)})
                hits = room.search("new", limit=20, kind="message")
                seen.append(sum(hit.record.text.startswith("new") for hit in hits))
                room.delete(added)

        other = threading.Thread(target=live)
        other.start()
        try:
            report = memory.maintain()
        finally:
            over.set()
            other.join()
        assert report.done >= MANY - PINNED
        assert seen
        assert set(seen) == {10}
        assert memory.count(kind="message") == 10 + PINNED
        assert memory.verify().ok
