"""The audit trail under many processes and kills: one whole chain, and a line for every write that is there."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.settings import Settings

from .talk import kill_when

Process = subprocess.Popen[str]
Start = Callable[..., Process]


def hear(process: Process) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"the process ended ({process.wait()}) where it should have said something"
    return json.loads(line)


@pytest.mark.requirement("audit.trail", "process.safe")
def test_many_processes_and_threads_write_one_chain(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    writers = [start("add_audited", path, f"process{number}", 4, 60) for number in range(4)]
    for writer in writers:
        assert hear(writer) == "ready"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
    assert [hear(writer) for writer in writers] == ["done"] * 4
    with Memory(path, embedder=None) as memory:
        assert memory.audit.verify().faults == ()
        entries = memory.audit.list(limit=2_000)
        assert [entry.number for entry in entries] == list(range(1, 4 * 4 * 60 + 1))
        assert {entry.ids[0] for entry in entries} == {record.id for record in memory.list(limit=2_000)}
        assert all(entry.ids[0].startswith(f"{entry.actor}-") for entry in entries)


@pytest.mark.requirement("audit.trail")
def test_a_kill_leaves_a_line_for_every_write_and_no_other(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    for seed in range(4):
        writer = start("add_audited", path, f"process{seed}", 3, 10_000)
        assert hear(writer) == "ready"
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        with Memory(path, embedder=None) as watching:
            enough = watching.count() + random.Random(seed).randint(1, 150)
            kill_when(writer, lambda watching=watching, enough=enough: watching.count() >= enough)
        with Memory(path, embedder=None, settings=Settings(busy_timeout=2.0)) as memory:
            assert memory.audit.verify().faults == ()
            named = [entry.ids[0] for entry in memory.audit.list(limit=10_000)]
            assert sorted(named) == sorted(record.id for record in memory.list(limit=10_000))
            assert named
