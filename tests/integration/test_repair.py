"""Repair: what a damaged file still holds comes over exactly, and the new file is sound."""

import json
import os
import random
import shutil
import subprocess
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rememo import Keyring, Memory
from rememo.errors import AlreadyExists, Corrupt, IncompatibleStore, KeyMismatch, StorageError
from rememo.recall.analyze import Analyzer, asks, fingerprint
from rememo.settings import Settings
from rememo.store.drafts import Analysis
from rememo.store.sqlite.connection import connect
from rememo.store.sqlite.repair import RepairReport, repair

ANALYSIS = Analysis(terms=Analyzer("english").terms, fingerprint=fingerprint, asks=asks)
Start = Callable[..., "subprocess.Popen[str]"]
STILL = Settings(worker=False)
"""Nobody learns anything meanwhile."""
PAGE = 4096
RECORDS = 5_000
TEXT = "entry{} of the diary: Miso the cat slept, Alice wrote letters, and the tram to Lisbon was late again"
SMALLEST_ROW = 200
"""What the shortest row of the test's file takes: its text and twenty-seven other columns."""
MOST_ROWS = PAGE // SMALLEST_ROW


class Eight:
    """A model of eight dimensions."""

    name = "eight"
    dimension = 8

    def embed(self, texts: Sequence[str]) -> "list[NDArray[np.float32] | None]":
        if any("later" in text for text in texts):
            raise ConnectionError("the model is not there")
        dice = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=8) for text in texts]
        return [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in dice]


def run(source: Path, target: Path) -> RepairReport:
    return repair(str(source), str(target), analysis=ANALYSIS)


Versions = dict[tuple[str, int], dict[str, Any]]


def versions_of(path: Path) -> Versions:
    """Return all versions with what belongs to them."""
    with Memory(path, embedder=None, settings=STILL) as memory:
        memory.export(path.with_suffix(".lines"))
    lines = [json.loads(line) for line in path.with_suffix(".lines").read_text(encoding="utf-8").splitlines()]
    path.with_suffix(".lines").unlink()
    return {(line["record"]["id"], line["record"]["version"]): line for line in lines if "record" in line}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 5,000 records with something of everything, some of it longer than a page."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with Memory(path, embedder=Eight(), settings=STILL) as memory:
        room = memory.scope(user="alice", room="chat")
        for start in range(0, RECORDS, 1_000):
            room.add_many(
                [
                    {
                        "text": TEXT.format(number) + (" and so on" * 600 if number % 500 == 0 else ""),
                        "id": f"id-{number}",
                        "metadata": {"number": number},
                        "data": {"half": number / 2},
                        "importance": (number % 10) / 10,
                    }
                    for number in range(start, start + 1_000)
                ]
            )
        for number in range(0, 300, 3):
            memory.update(f"id-{number}", text=f"changed {number}: " + TEXT.format(number))
        for number in range(1, 100, 7):
            memory.delete(f"id-{number}")
        for number in range(20):
            memory.add(f"later {number}: " + TEXT.format(number), key=f"key-{number}")
        for number in range(200):
            memory.kv.set(f"key-{number}", {"number": number})
        memory.snapshot("then")
    return path


@pytest.fixture(scope="module")
def original(whole: Path) -> Versions:
    return versions_of(whole)


@pytest.mark.requirement("trouble.corruption", "integrity.validate")
def test_a_whole_file_comes_over_whole(whole: Path, original: Versions, tmp_path: Path):
    before = whole.read_bytes()
    report = run(whole, tmp_path / "new.db")
    assert whole.read_bytes() == before
    assert sorted(path.name for path in whole.parent.iterdir()) == ["memory.db"]
    assert [path.name for path in tmp_path.iterdir()] == ["new.db"]
    assert (report.damaged_pages, report.damaged_rows, report.lost_versions, report.lost) == (0, 0, 0, ())
    assert versions_of(tmp_path / "new.db") == original
    with (
        Memory(tmp_path / "new.db", embedder=Eight(), settings=STILL) as memory,
        Memory(whole, embedder=Eight(), settings=STILL) as old,
    ):
        assert memory.verify().faults == ()
        assert [(job.id, job.state) for job in memory.jobs.list()] == [(job.id, job.state) for job in old.jobs.list()]
        assert sum(job.task == "embed" for job in memory.jobs.list()) == 20
        assert memory.stats().vectors == old.stats().vectors
        assert memory.snapshots() == old.snapshots()
        assert memory.kv.keys() == old.kv.keys()
        assert memory.kv.get("key-7") == {"number": 7}
        question = "entry4321 diary"
        assert [hit.record for hit in memory.search(question)] == [hit.record for hit in old.search(question)]
        # A retry under a key that is remembered is still harmless, and new writes go on after the old ones.
        assert memory.add("again", key="key-3").ids == old.add("again", key="key-3").ids
        memory.update("id-7", text="goes on")
        assert memory.verify().faults == ()


def _zeros(page: bytearray, dice: random.Random) -> None:
    page[:] = bytes(PAGE)


def _noise(page: bytearray, dice: random.Random) -> None:
    page[:] = dice.randbytes(PAGE)


def _half(page: bytearray, dice: random.Random) -> None:
    page[PAGE // 2 :] = dice.randbytes(PAGE // 2)


def _head(page: bytearray, dice: random.Random) -> None:
    page[:64] = dice.randbytes(64)


WAYS = (_zeros, _noise, _half, _head)


@pytest.mark.requirement("trouble.corruption", "integrity.validate")
@pytest.mark.parametrize("seed", range(10))
def test_damaged_pages_cost_only_what_stood_on_them(whole: Path, original: Versions, tmp_path: Path, seed: int):
    dice = random.Random(seed)
    content = bytearray(whole.read_bytes())
    pages = dice.sample(range(1, len(content) // PAGE), (2, 5, 20, 60)[seed % 4])
    for number in pages:
        page = content[number * PAGE : (number + 1) * PAGE]
        WAYS[seed % len(WAYS)](page, dice)
        content[number * PAGE : (number + 1) * PAGE] = page
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(content)

    report = run(damaged, tmp_path / "new.db")
    assert damaged.read_bytes() == content

    saved = versions_of(tmp_path / "new.db")
    # A page holds so many rows, or a part of one; whatever else it is, it can be made anew or done without.
    assert len(saved) >= len(original) - len(pages) * MOST_ROWS
    assert report.recovered["records"] == len(saved)
    for key, version in saved.items():
        # A vector on a lost page is made anew later; one that is there is the right one.
        assert original[key] | version == original[key]
    missing = {f"default/{id} version {version}" for id, version in original.keys() - saved.keys()}
    assert set(report.lost) <= missing
    with Memory(tmp_path / "new.db", embedder=Eight()) as memory:
        assert memory.verify().faults == ()
        memory.add("works again")
        assert memory.verify().faults == ()


@pytest.mark.requirement("trouble.corruption")
@pytest.mark.parametrize("pages", [1, 8])
def test_a_lost_schema_costs_no_record(whole: Path, original: Versions, tmp_path: Path, pages: int):
    content = bytearray(whole.read_bytes())
    content[: pages * PAGE] = bytes(pages * PAGE)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(content)
    with pytest.raises(StorageError):
        Memory(damaged, embedder=None)
    run(damaged, tmp_path / "new.db")
    saved = versions_of(tmp_path / "new.db")
    assert len(saved) >= len(original) - MOST_ROWS * (pages - 1)
    assert all(original[key] | version == original[key] for key, version in saved.items())
    with Memory(tmp_path / "new.db", embedder=None, settings=STILL) as memory:
        assert memory.verify().faults == ()


@pytest.mark.requirement("trouble.corruption")
def test_a_file_cut_in_half_gives_its_half(whole: Path, original: Versions, tmp_path: Path):
    content = whole.read_bytes()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(content[: len(content) // 2])
    run(damaged, tmp_path / "new.db")
    saved = versions_of(tmp_path / "new.db")
    assert len(saved) > len(original) // 4
    assert all(original[key] | version == original[key] for key, version in saved.items())
    with Memory(tmp_path / "new.db", embedder=None, settings=STILL) as memory:
        assert memory.verify().faults == ()


@pytest.mark.requirement("trouble.corruption")
def test_flipped_bits_are_not_taken_for_what_was_said(whole: Path, original: Versions, tmp_path: Path):
    """Kind, text and data are proved by their hash; the small columns beside them are taken as they stand."""
    dice = random.Random(7)
    content = bytearray(whole.read_bytes())
    for place in dice.sample(range(PAGE, len(content)), 300):
        content[place] ^= 1 << dice.randrange(8)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(content)
    run(damaged, tmp_path / "new.db")
    saved = versions_of(tmp_path / "new.db")
    assert len(saved) >= len(original) - 300 * MOST_ROWS // 4
    assert {_said(version) for version in saved.values()} <= {_said(version) for version in original.values()}


def _said(version: dict[str, Any]) -> tuple[str, str, str]:
    record = version["record"]
    return record["kind"], record["text"], json.dumps(record["data"])


@pytest.mark.requirement("trouble.corruption")
def test_what_stands_only_in_the_log_is_saved_too(tmp_path: Path, start: Start):
    """A process was killed, and the file damaged before anybody opened it again."""
    path = tmp_path / "memory.db"
    maker = start("acknowledge", path, 3)
    assert maker.stdout is not None
    said = [json.loads(maker.stdout.readline()) for _ in range(60)]
    maker.kill()
    maker.wait()
    log = Path(f"{path}-wal").read_bytes()
    assert log
    content = path.read_bytes()
    path.write_bytes(os.urandom(64) + content[64:])
    damaged = path.read_bytes()

    run(path, tmp_path / "new.db")
    assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == (damaged, log)
    with Memory(tmp_path / "new.db", embedder=None, settings=STILL) as memory:
        ids = [report["id"] for report in said if report["did"] == "add"] + [
            id for report in said if report["did"] == "add_many" for id in report["ids"]
        ]
        assert all(memory.history(id) for id in ids)
        assert memory.verify().faults == ()

    # Beside it, SQLite's own reading of the whole pair is the judge.
    path.write_bytes(content)
    assert versions_of(path) == versions_of(tmp_path / "new.db")


def test_a_backup_and_an_emptied_file_can_be_repaired_too(whole: Path, original: Versions, tmp_path: Path):
    with Memory(whole, embedder=None, settings=STILL) as memory:
        memory.backup(tmp_path / "copy.db")
    run(tmp_path / "copy.db", tmp_path / "new.db")
    assert versions_of(tmp_path / "new.db") == versions_of(whole)

    # What was physically removed stays removed: free pages are not searched.
    shutil.copy(whole, tmp_path / "emptied.db")
    connection = connect(str(tmp_path / "emptied.db"))
    connection.execute("DELETE FROM records")
    connection.close()
    report = run(tmp_path / "emptied.db", tmp_path / "empty.db")
    assert report.recovered["records"] == 0


def test_what_cannot_be_repaired_says_so_and_leaves_nothing(whole: Path, tmp_path: Path):
    (tmp_path / "noise.db").write_bytes(random.Random(5).randbytes(200_000))
    (tmp_path / "text.db").write_text("Dear diary, " * 2_000, encoding="utf-8")
    (tmp_path / "empty.db").touch()
    connection = connect(str(tmp_path / "foreign.db"))
    connection.execute("CREATE TABLE records (a, b)")
    connection.pragma("application_id", 77)
    connection.close()
    before = {path.name for path in tmp_path.iterdir()}
    for name, error in (
        ("noise.db", Corrupt),
        ("text.db", Corrupt),
        ("empty.db", StorageError),
        ("nowhere.db", StorageError),
        ("foreign.db", IncompatibleStore),
    ):
        with pytest.raises(error, match=name):
            run(tmp_path / name, tmp_path / "new.db")
    with pytest.raises(AlreadyExists, match=r"text\.db"):
        run(whole, tmp_path / "text.db")
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.requirement("trouble.corruption", "encrypt.content")
def test_a_sealed_file_is_saved_sealed_and_needs_its_key(tmp_path: Path):
    keyring, path = Keyring(bytes(range(32))), tmp_path / "memory.db"
    with Memory(path, encryption=keyring) as memory:
        memory.add_many([{"text": TEXT.format(number), "id": f"id-{number}"} for number in range(2_000)])
        memory.update("id-7", text="entry7 was changed", metadata={"n": 7})
        memory.kv.set("key", "value")
    content = bytearray(path.read_bytes())
    dice = random.Random(5)
    for place in dice.sample(range(PAGE, len(content)), 100):
        content[place] ^= 1 << dice.randrange(8)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(content)
    with pytest.raises(KeyMismatch):
        repair(str(damaged), str(tmp_path / "new.db"), analysis=ANALYSIS)
    assert not (tmp_path / "new.db").exists()
    report = repair(str(damaged), str(tmp_path / "new.db"), analysis=ANALYSIS, encryption=keyring)
    assert report.recovered["records"] > 1_000
    assert b"diary" not in (tmp_path / "new.db").read_bytes()
    with Memory(tmp_path / "new.db", encryption=keyring) as memory:
        assert memory.verify().faults == ()
        for record in memory.list(limit=2_000):
            assert record.text == TEXT.format(record.id.removeprefix("id-")) or record.id == "id-7"
        found = [hit.id for hit in memory.search("entry1500 diary", mode="words", limit=1)]
        assert found == ["id-1500"] or "default/id-1500 version 1" in report.lost
