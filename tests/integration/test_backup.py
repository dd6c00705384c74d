"""Backups and exports of a memory that lives: one consistent state, while others write, in little memory."""

import json
import logging
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.errors import AlreadyExists
from rememo.settings import Settings

Process = subprocess.Popen[str]
Start = Callable[..., Process]

_log = logging.getLogger(__name__)


def hear(process: Process) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"the process ended ({process.wait()}) where it should have said something"
    return json.loads(line)


def steps_of(memory: Memory, who: str) -> int:
    """Return how many steps of a writer are there; a step that is there in part, or after a gap, fails."""
    parts = Counter(record.data["step"] for record in memory.scope(room=who).list(limit=10_000))
    assert set(parts.values()) <= {3}, "a transaction is there in part"
    assert sorted(parts) == list(range(len(parts))), "a transaction is missing before one that is there"
    return len(parts)


@pytest.mark.requirement("integrity.backup", "process.safe")
def test_backups_under_heavy_writing_hold_one_consistent_state_each(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    writers = {who: start("write_on", path, who) for who in ("one", "two")}
    for writer in writers.values():
        assert hear(writer) == "ready"
    with Memory(path, embedder=None) as memory:
        for number in range(6):
            memory.backup(tmp_path / f"copy{number}.db")
            if number == 3:
                memory.export(tmp_path / "export.jsonl")
        (tmp_path / "memory.db.stop").touch()
        written = {who: hear(writer) for who, writer in writers.items()}
        assert {who: steps_of(memory, who) for who in writers} == written
        assert memory.verify().faults == ()
    before = dict.fromkeys(writers, 0)
    for number in range(6):
        with Memory(tmp_path / f"copy{number}.db", embedder=None) as copy:
            assert copy.verify().faults == ()
            there = {who: steps_of(copy, who) for who in writers}
        assert all(before[who] <= there[who] <= written[who] for who in writers)
        before = there
    with Memory(":memory:", embedder=None) as brought:
        brought.import_(tmp_path / "export.jsonl")
        assert all(0 < steps_of(brought, who) <= written[who] for who in writers)
        assert brought.verify().faults == ()


@pytest.mark.requirement("integrity.backup")
def test_opening_a_backup_is_restoring_it(tmp_path: Path):
    with Memory(tmp_path / "memory.db") as memory:
        room = memory.scope(user="alice", room="chat")
        ids = room.add_many([f"entry{number} about Lisbon" for number in range(50)]).ids
        room.update(ids[3], text="changed")
        memory.delete(ids[4])
        memory.kv.set("key", {"a": 1})
        memory.snapshot("then")
        memory.scope(tenant="another").add("of another tenant")
        memory.backup(tmp_path / "copy.db")
        with pytest.raises(AlreadyExists, match="choose another file"):
            memory.backup(tmp_path / "copy.db")
        hits = [hit.record for hit in room.search("entry7 Lisbon")]
        records = memory.list()
        histories = [memory.history(id) for id in ids]
        room.clear()
    with Memory(tmp_path / "copy.db") as copy:
        assert copy.list() == records
        assert [copy.history(id) for id in ids] == histories
        assert [hit.record for hit in copy.scope(user="alice", room="chat").search("entry7 Lisbon")] == hits
        assert copy.kv.get("key") == {"a": 1}
        assert list(copy.snapshots()) == ["then"]
        assert copy.scope(tenant="another").count() == 1
        copy.add("goes on here")
        assert copy.verify().faults == ()


@pytest.mark.requirement("integrity.backup")
def test_a_memory_without_a_file_can_be_backed_up_too(tmp_path: Path):
    with Memory(":memory:", embedder=None) as memory:
        id = memory.add("only in memory so far").id
        memory.backup(tmp_path / "copy.db")
    with Memory(tmp_path / "copy.db", embedder=None) as copy:
        assert copy.get(id).text == "only in memory so far"
        assert copy.verify().faults == ()


@pytest.mark.requirement("integrity.backup")
def test_an_export_takes_little_memory(tmp_path: Path, start: Start):
    """The whole process stays under 100 MB, and the export's own share shows that it does not grow with the file.

    30,000 records here, for the time it takes; the share is bounded so that 100,000 would stay under 100 MB as well.
    """
    path = tmp_path / "memory.db"
    with Memory(path, embedder=None, settings=Settings(durability="fast")) as memory:
        for begin in range(0, 30_000, 5_000):
            memory.add_many(
                [
                    {"text": f"entry{number}: the tram to Lisbon was late again", "metadata": {"number": number}}
                    for number in range(begin, begin + 5_000)
                ]
            )
    report = hear(start("measure_export", path, tmp_path / "export.jsonl"))
    assert report["versions"] == 30_000
    share = (report["peak_kib"] - report["before_kib"]) / 1024
    _log.info("export of 30,000: %.1f MB at its peak, %.1f MB by itself", report["peak_kib"] / 1024, share)
    assert report["peak_kib"] / 1024 < 100
    assert share < 16
