"""Compressing in real processes: side by side, and killed in the middle, nothing is lost and nothing is said twice."""

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rememo import Memory

from .talk import kill_when

Start = Callable[..., "subprocess.Popen[str]"]
COUNT = 1_500


def filled(path: Path) -> set[str]:
    with Memory(path, embedder=None) as memory:
        items = [
            {"text": f"I counted {n} sheep.", "kind": "message", "data": {"role": "user"}, "id": f"m{n}"}
            for n in range(COUNT)
        ]
        return set(memory.scope(room="r").add_many(items).ids)


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def hear(process: "subprocess.Popen[str]") -> object:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def check(path: Path, ids: set[str]) -> int:
    """Every message is there, or one summary stands for it; returns how many are left."""
    with Memory(path, embedder=None) as memory:
        present = Counter(message.id for message in memory.messages.history(COUNT + 1))
        stood = Counter(id for summary in memory.summaries.list(1_000) for id in summary.sources)
        assert present + stood == Counter(ids)
        assert memory.verify().faults == ()
        return present.total()


@pytest.mark.requirement("compress.old-messages")
def test_a_kill_in_the_middle_loses_nothing(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    ids = filled(path)
    left = [COUNT]
    for seed in range(4):
        process = start("compress_all", path)
        assert hear(process) == "ready"
        go(process)
        with Memory(path, embedder=None) as watching:
            few = left[-1] - random.Random(seed).randint(1, left[-1] // 4)
            kill_when(process, lambda watching=watching, few=few: watching.count(kind="message") <= few)
        left.append(check(path, ids))
    assert left == sorted(left, reverse=True)
    with Memory(path, embedder=None) as memory:
        memory.summaries.compress(older_than="1ms")
    assert check(path, ids) == 0


@pytest.mark.requirement("compress.old-messages", "process.safe")
def test_four_processes_at_one_room_say_nothing_twice(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    ids = filled(path)
    processes = [start("compress_all", path) for _ in range(4)]
    for process in processes:
        assert hear(process) == "ready"
    for process in processes:
        go(process)
    answers = [hear(process) for process in processes]
    assert sum(answer["count"] for answer in answers if isinstance(answer, dict)) == COUNT  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    assert check(path, ids) == 0
