"""`kill -9` at any moment: what was acknowledged is there, nothing is half there, and the next one works at once."""

import json
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.errors import NotFound
from rememo.settings import Settings

Process = subprocess.Popen[str]
Start = Callable[..., Process]

AT_ONCE = Settings(busy_timeout=2.0)
"""Whoever died holds no lock: a writer that had to wait for one would be told so after this."""


def hear(process: Process) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"the process ended ({process.wait()}) where it should have said something"
    return json.loads(line)


def kill_after(process: Process, seconds: float) -> list[Any]:
    """Kill a process some moments from now; returns what it had said by then."""
    time.sleep(seconds)  # the moment is what the seed decides; nothing is waited for
    process.kill()
    process.wait()
    assert process.stdout is not None
    # A line without its end was not said.
    return [json.loads(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]


def kill_once_there(process: Process, path: Path) -> None:
    """Kill a process as soon as the first records that it writes can be seen."""
    with Memory(path, embedder=None) as memory:
        while process.poll() is None and not memory.count():
            pass
    kill_after(process, 0)


def exported(path: Path) -> list[dict[str, Any]]:
    """Return everything a file holds, a line each, without what is said only once about all of it."""
    with Memory(path, embedder=None) as memory:
        memory.export(path.with_suffix(".lines"))
    lines = path.with_suffix(".lines").read_text(encoding="utf-8").splitlines()
    path.with_suffix(".lines").unlink()
    return [json.loads(line) for line in lines[1:-1]]


class Ledger:
    """What acknowledged writes must have left behind."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.jobs: set[str] = set()
        self.keys: dict[str, int] = {}

    def book(self, said: dict[str, Any]) -> None:
        match said["did"]:
            case "add":
                self.texts[said["id"]] = f"entry{said['id']} said" + (" later" if said["jobs"] else "")
                self.jobs |= set(said["jobs"])
            case "update":
                self.texts[said["id"]] = said["text"]
            case "delete":
                del self.texts[said["id"]]
                self.deleted.add(said["id"])
            case "add_many":
                self.texts |= {id: f"entry{id} of many" for id in said["ids"]}
            case "set":
                self.keys[said["key"]] = said["value"]
            case _:
                assert said == {"did": "opened"}

    def check(self, memory: Memory) -> None:
        """Everything is as acknowledged, but for the one write that was under way when the process died."""
        overtaken: list[str] = []
        for id, text in self.texts.items():
            versions = memory.history(id)
            assert text in [version.text for version in versions]
            if versions[-1].superseded_at is not None or versions[-1].text != text:
                overtaken.append(id)
        assert len(overtaken) <= 1
        for id in self.deleted:
            with pytest.raises(NotFound):
                memory.get(id)
        for key, value in self.keys.items():
            assert memory.kv.get(key) == value

    def check_jobs(self, path: Path) -> None:
        assert self.jobs <= {line["job"]["id"] for line in exported(path) if "job" in line}


@pytest.mark.requirement("process.safe", "store.transactions-concurrency")
def test_what_was_acknowledged_survives_a_kill_at_any_moment(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    for seed in range(24):
        dice = random.Random(seed)
        ledger = Ledger()
        writer = start("acknowledge", path, seed)
        for _ in range(dice.randrange(1, 60)):
            ledger.book(hear(writer))
        for said in kill_after(writer, dice.uniform(0, 0.03)):
            ledger.book(said)
        with Memory(path, embedder=None, settings=AT_ONCE) as memory:
            memory.add("the next writer works at once")
            ledger.check(memory)
            assert memory.verify().faults == ()
            # Whatever of this process is there can be found by its words too.
            for record in [record for record in memory.list(limit=1000) if record.id.startswith(f"{seed}-")][:20]:
                hits = memory.search(record.text, limit=50, mode="words")
                assert record.id in {hit.record.id for hit in hits}
        ledger.check_jobs(path)


@pytest.mark.requirement("store.transactions-concurrency")
def test_a_batch_is_there_whole_or_not_at_all(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    done = 0
    for seed in range(6):
        dice = random.Random(100 + seed)
        writer = start("add_batches", path, 400)
        done -= hear(writer)
        said = kill_after(writer, dice.uniform(0.02, 0.25))
        with Memory(path, embedder=None, settings=AT_ONCE) as memory:
            count = memory.count()
            assert count % 400 == 0
            acknowledged = done + len(said)
            assert acknowledged <= count // 400 <= acknowledged + 1
            done = count // 400
            assert memory.verify().faults == ()


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A file with something of everything."""
    path = tmp_path / "filled.db"
    with Memory(path, embedder=None) as memory:
        memory.add_many(
            [{"text": f"entry{number} about Lisbon", "id": f"id-{number}", "learn": False} for number in range(1_500)]
        )
        for number in range(0, 100, 10):
            memory.update(f"id-{number}", text=f"entry{number} changed")
        memory.delete("id-5")
        memory.kv.set("key", {"a": 1})
        memory.snapshot("then")
    return path


@pytest.mark.requirement("integrity.backup")
def test_a_backup_that_was_killed_leaves_no_half_copy(tmp_path: Path, filled: Path, start: Start):
    for seed in range(5):
        folder = tmp_path / f"copies{seed}"
        folder.mkdir()
        process = start("repeat_backup", filled, folder)
        assert hear(process) == "ready"
        said = kill_after(process, random.Random(200 + seed).uniform(0.01, 0.15))
        copies = sorted(folder.glob("*.db"))
        assert len(said) <= len(copies) <= len(said) + 1
        for copy in copies[-2:]:
            with Memory(copy, embedder=None) as memory:
                assert memory.count() == 1_499
                assert memory.verify().faults == ()
        with Memory(filled, embedder=None, settings=AT_ONCE) as memory:
            # The same name again: what the dead one left in the way does not matter.
            memory.backup(folder / f"copy{len(copies)}.db")
            assert memory.verify().faults == ()


@pytest.mark.requirement("integrity.backup")
def test_an_export_that_was_killed_leaves_no_half_file(tmp_path: Path, filled: Path, start: Start):
    for seed in range(5):
        folder = tmp_path / f"exports{seed}"
        folder.mkdir()
        process = start("repeat_export", filled, folder)
        assert hear(process) == "ready"
        said = kill_after(process, random.Random(300 + seed).uniform(0.01, 0.3))
        exports = sorted(folder.glob("*.jsonl"))
        assert len(said) <= len(exports) <= len(said) + 1
        with Memory(filled, embedder=None, settings=AT_ONCE) as memory:
            memory.export(folder / f"copy{len(exports)}.jsonl")
        for place in exports[-1:]:
            with Memory(":memory:", embedder=None) as memory:
                assert memory.import_(place).versions == 1_510


@pytest.mark.requirement("integrity.backup")
def test_an_import_that_was_killed_can_be_repeated(tmp_path: Path, filled: Path, start: Start):
    source = tmp_path / "export.jsonl"
    with Memory(filled, embedder=None) as memory:
        memory.export(source)
    wanted = exported(filled)
    partly = 0
    for seed in range(5):
        path = tmp_path / f"import{seed}.db"
        process = start("import_export", path, source)
        assert hear(process) == "ready"
        if seed:
            kill_after(process, random.Random(400 + seed).uniform(0.05, 0.35))
        else:
            kill_once_there(process, path)
        with Memory(path, embedder=None, settings=AT_ONCE) as memory:
            assert memory.verify().faults == ()
            partly += 0 < memory.stats().versions < 1_510
            memory.import_(source)
            assert memory.stats().versions == 1_510
            assert exported(path) == wanted
            assert memory.kv.get("key") == {"a": 1}
            assert list(memory.snapshots()) == ["then"]
            assert memory.verify().faults == ()
    assert partly, "no kill came in the middle of an import, not even the one that waited for its first records"


@pytest.mark.requirement("process.safe")
def test_processes_that_make_one_file_at_once_all_succeed(tmp_path: Path, start: Start):
    makers = [start("open_each") for _ in range(4)]
    for maker in makers:
        assert hear(maker) == "ready"
    for number in range(15):
        path = tmp_path / f"new{number}.db"
        for maker in makers:
            assert maker.stdin is not None
            maker.stdin.write(f"{path}\n")
        assert [hear(maker) for maker in makers] == ["done"] * 4
        with Memory(path, embedder=None) as memory:
            assert memory.count() == 4
            assert memory.verify().faults == ()


@pytest.mark.requirement("process.safe")
def test_a_file_whose_maker_was_killed_opens(tmp_path: Path, start: Start):
    for seed in range(12):
        path = tmp_path / f"new{seed}.db"
        maker = start("open_once", path)
        assert hear(maker) == "opening"
        kill_after(maker, random.Random(500 + seed).uniform(0, 0.02))
        with Memory(path, embedder=None, settings=AT_ONCE) as memory:
            memory.add("it works")
            assert memory.verify().faults == ()
        with Memory(path, embedder=None) as memory:
            assert memory.count() == 1
