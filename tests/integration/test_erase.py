"""Erasure down to the bytes: with others at work, after `kill -9` in the middle, and in every corner of the file."""

import json
import logging
import random
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
import pytest

import rememo.keep.erase
from rememo import Memory
from rememo.engine.engine import Engine
from rememo.engine.learning import LEARN
from rememo.engine.view import view_of
from rememo.keep.erase import need_erasing_store
from rememo.settings import Settings
from rememo.store.byte_patterns import BytePatterns
from rememo.store.sqlite.connection import connect
from rememo.store.sqlite.database import SqliteDatabase
from rememo.testing import WordEmbedder

from .talk import kill_when

Process = subprocess.Popen[str]
Start = Callable[..., Process]

_log = logging.getLogger(__name__)

MOMENTS = (239, 150, 20, 0)
"""How many of 240 current records are left when whoever erases them is killed."""


def hear(process: Process) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"the process ended ({process.wait()}) where it should have said something"
    return json.loads(line)


def open_engine_of(memory: Memory) -> Engine:
    return view_of(memory).engine


def secret(number: int) -> str:
    """Return a word that stands nowhere else, and that no stemmer shortens."""
    return "".join("bcdfghjklmnpqrst"[byte % 16] for byte in blake2b(f"{number}".encode(), digest_size=10).digest())


def fill(path: Path, count: int) -> list[str]:
    """Give kim and ana something to say in turns, changed and deleted here and there; returns kim's secrets."""
    secrets: list[str] = []
    with Memory(path, embedder=WordEmbedder(), settings=Settings(durability="fast", worker=False)) as memory:
        kim, ana = memory.scope(user="kimberly", room="shared"), memory.scope(user="ana", room="shared")
        for number in range(count):
            word, other = secret(2 * number), secret(2 * number + 1)
            secrets += [word, other]
            # Some fill pages of their own.
            kim.add(
                f"On day {number} the word was {word}. " * (200 if number % 40 == 7 else 1), id=f"kimberly-{number}"
            )
            ana.add(f"On day {number} nothing was said to ana.", id=f"ana-{number}")
            if number % 3 == 0:
                kim.update(
                    f"kimberly-{number}", text=f"On day {number} it was {other} after all.", metadata={"was": word}
                )
            else:
                kim.kv.set(f"day {number}", {"other": other})
            if number % 5 == 0:
                kim.delete(f"kimberly-{number}")
                ana.update(f"ana-{number}", text=f"On day {number} something was said to ana.")
    return secrets


def leaked_secrets(path: Path, secrets: list[str]) -> list[str]:
    """Return the secrets of which a trace is in the file or its log; an index keeps the ends of words only."""
    data = raw(path)
    return [word for word in secrets if word[3:].encode() in data]


def raw(path: Path) -> bytes:
    """Return every byte of a file and its log. By a process of its own: closing a file drops the locks of a process."""
    return subprocess.run(["cat", path, f"{path}-wal"], stdout=subprocess.PIPE, check=False).stdout  # noqa: S607


@pytest.mark.requirement("erase.proof")
def test_no_byte_is_left_in_the_file_or_its_log(tmp_path: Path):
    path = tmp_path / "memory.db"
    secrets = fill(path, 400)
    with Memory(path, embedder=WordEmbedder()) as memory:
        assert len(leaked_secrets(path, secrets)) == len(secrets)
        memory.backup(tmp_path / "copy.db")
        receipt = memory.erase(user="kimberly")
        assert leaked_secrets(path, secrets) == []
        assert b"kimberly" not in raw(path)
        assert receipt.ok, receipt.leftovers
        assert receipt.counts["records"] == 400
        assert receipt.counts["vectors"] == receipt.counts["versions"] > 400
        assert receipt.checked["texts"] == receipt.counts["versions"]
        assert receipt.checked["file_bytes"] == path.stat().st_size
        assert receipt.backups == (str(tmp_path / "copy.db"),)
        assert memory.verify().faults == ()
        assert memory.scope(user="ana").count() == 400
        assert len(memory.history("ana-5")) == 2
        (tmp_path / "copy.db").unlink()
        assert memory.erase(user="kimberly").backups == ()


def test_what_others_say_too_is_no_leftover(tmp_path: Path):
    with Memory(tmp_path / "memory.db") as memory:
        for user in ("kimberly", "ana"):
            memory.scope(user=user).add("Good morning, everybody in this room!")
        memory.scope(user="kimberly").add("And this only kim says, to nobody else.")
        receipt = memory.erase(user="kimberly")
        assert receipt.ok, receipt.leftovers
        assert receipt.checked["pieces_others_have"] >= 1
        assert memory.count() == 1


@pytest.mark.requirement("erase.proof")
def test_a_model_under_construction_forgets_too(tmp_path: Path):
    path = tmp_path / "memory.db"
    fill(path, 40)
    with Memory(path, embedder=WordEmbedder()) as memory:
        store = open_engine_of(memory).store
        model = store.begin_model("another", 4)
        _, versions = store.unembedded(model, 1_000)
        unit = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
        store.put_vectors(model, [(version.number, unit) for version in versions])
        receipt = memory.erase(user="kimberly")
        assert receipt.counts["vectors"] == 2 * receipt.counts["versions"]
        # What is written now may have a number that was done already.
        memory.add("new", id="new")
        assert store.unembedded(model, 1_000)[1][-1].text == "new"
        assert memory.verify().faults == ()


@pytest.mark.requirement("erase.proof", "process.safe")
def test_others_read_and_write_meanwhile(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    secrets = fill(path, 600)
    others = [start("chat_on", path, f"other{number}") for number in range(2)]
    for other in others:
        assert hear(other) == "ready"
    with Memory(path, embedder=WordEmbedder()) as memory:
        memory.search("word", limit=5)
        receipt = memory.erase(user="kimberly")
        assert receipt.ok, receipt.leftovers
        assert leaked_secrets(path, secrets) == []
        counts: list[int] = []
        for other in others:
            assert other.stdin is not None
            other.stdin.write("stop\n")
            answer = hear(other)
            counts.append(answer["count"])
            _log.info("another process waited %.1f ms at the longest", 1000 * answer["longest"])
        for number, count in enumerate(counts):
            assert memory.scope(user=f"other{number}").count() == count
        assert memory.scope(user="ana").count() == 600
        assert memory.search("entry5", limit=5)
        assert memory.verify().faults == ()
    assert leaked_secrets(path, secrets) == []


@pytest.mark.requirement("erase.proof")
def test_a_kill_in_the_middle_is_taken_up_again(tmp_path: Path, start: Start):
    partly = 0
    for seed in range(len(MOMENTS)):
        path = tmp_path / f"memory{seed}.db"
        secrets = fill(path, 300)
        eraser = start("erase_user", path, "kimberly")
        assert hear(eraser) == "ready"
        with Memory(path, embedder=None) as watching:
            kim, left = watching.scope(user="kimberly"), MOMENTS[seed]
            kill_when(eraser, lambda kim=kim, left=left: kim.count() <= left)
        with Memory(path, embedder=WordEmbedder(), settings=Settings(busy_timeout=2.0)) as memory:
            assert memory.verify().faults == ()
            interrupted = bool(need_erasing_store(open_engine_of(memory)).erasures("default"))
            partly += interrupted
            if seed % 2:
                memory.maintain()
                assert leaked_secrets(path, secrets) == []
            receipt = memory.erase(user="kimberly")
            assert receipt.ok, receipt.leftovers
            if interrupted:
                assert receipt.counts["records"] == 300
            assert memory.erase(user="kimberly").counts == {}
            assert leaked_secrets(path, secrets) == []
            assert memory.scope(user="kimberly").list() == []
            assert memory.scope(user="ana").count() == 300
            assert need_erasing_store(open_engine_of(memory)).erasures("default") == []
            assert memory.verify().faults == ()
    assert partly, "no kill came in the middle of an erasure; the moments must be chosen anew"


def leased(memory: Memory) -> list[Any]:
    """Take the jobs that are open, as another worker would that then takes very long over them."""
    engine = open_engine_of(memory)
    return engine.store.lease_many((LEARN,), 3_600, engine.now(), limit=100)


@pytest.mark.requirement("erase.proof")
def test_an_erasure_that_was_interrupted_leaves_no_job_without_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Memory(tmp_path / "memory.db", embedder=None, settings=Settings(worker=False)) as memory:
        kim = memory.scope(user="kimberly")
        kim.add("I live in Lisbon.", id="doing")
        assert len(leased(memory)) == 1
        kim.add("I work at Acme.", id="waiting")
        memory.scope(user="ana").add("I live in Porto.", id="other")
        store = need_erasing_store(open_engine_of(memory))

        def interrupted(*_: object) -> int:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(type(store), "forget", interrupted)
            with pytest.raises(KeyboardInterrupt):
                memory.erase(user="kimberly")
        assert kim.count() == 0
        # One is just being done, and the erasure will wait for it.
        assert sorted(job.payload["record"] for job in memory.jobs.list()) == ["doing", "other"]
        assert memory.verify().faults == ()
        monkeypatch.setattr(rememo.keep.erase, "_LONGEST_WAIT", 0.1)
        assert memory.erase(user="kimberly").ok
        assert [job.payload["record"] for job in memory.jobs.list()] == ["other"]
        assert memory.verify().faults == ()


@pytest.mark.requirement("erase.proof")
@pytest.mark.parametrize("target", [{"user": "kimberly"}, {"tenant": "default"}, {"ids": ["doing"]}, {"room": "r"}])
def test_who_takes_too_long_over_a_job_does_not_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: dict[str, Any]
):
    monkeypatch.setattr(rememo.keep.erase, "_LONGEST_WAIT", 0.1)
    with Memory(tmp_path / "memory.db", embedder=None, settings=Settings(worker=False)) as memory:
        memory.scope(user="kimberly", room="r").messages.add("user", "I live in Lisbon.", id="doing")
        jobs = leased(memory)
        assert memory.erase(**target).ok
        assert memory.jobs.list() == []
        assert open_engine_of(memory).store.extend(jobs, 60, jobs[0].due_at) == 0, "the worker is not told to stop"


def test_the_search_of_bytes_finds_what_is_there():
    patterns = BytePatterns()
    texts = [f"{secret(number)} stands {secret(number + 500)}" for number in range(300)]
    for text in texts:
        patterns.add(text)
    patterns.add("short")
    assert patterns.texts == 300
    data = random.Random(1).randbytes(100_000)
    patterns.search(data)
    assert patterns.found == set()
    for place, text in enumerate(texts[:50]):
        patterns.search(data[:place] + text.encode() + data[: place * 7])
    assert len(patterns.found) >= 50
    assert all(any(piece in text for text in texts[:50]) for piece in patterns.found)


def test_another_who_moves_the_log_is_waited_for(tmp_path: Path):
    path = tmp_path / "memory.db"
    with (
        Memory(path, embedder=None, settings=Settings(durability="fast", worker=False)) as memory,
        closing(connect(str(path))) as reader,
        closing(connect(str(path))) as mover,
    ):
        memory.add("Something that is said before.")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM records").fetchall()
        memory.add("Something else that is said later on.")
        waiting, released = threading.Event(), threading.Event()

        # As long as this is asked again and again, a checkpoint is under way that waits for the reader.
        def wait(_: int) -> bool:
            waiting.set()
            time.sleep(0.001)
            return not released.is_set()

        def move() -> None:
            mover.execute("SELECT count(*) FROM records").fetchall()  # one that has read nothing moves nothing
            mover.set_busy_handler(wait)
            with suppress(apsw.BusyError):
                mover.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)

        moving = threading.Thread(target=move)
        moving.start()
        assert waiting.wait(30)
        database = cast("Any", open_engine_of(memory).store)._database
        assert isinstance(database, SqliteDatabase)
        try:
            assert not database.empty_log(0.3)
        finally:
            reader.execute("COMMIT")
            released.set()
            moving.join()
        assert database.empty_log(30)


@pytest.mark.requirement("erase.proof")
def test_another_process_that_holds_the_file_costs_no_receipt(tmp_path: Path, start: Start):
    path = tmp_path / "memory.db"
    with Memory(path, embedder=None, settings=Settings(busy_timeout=0.2, worker=False)) as memory:
        memory.scope(user="kim").add("Something that is to go.")
        store = need_erasing_store(open_engine_of(memory))
        holder = start("hold_file", path)
        assert hear(holder) == "ready"
        assert "others held the file" in (store.purge("default", 1.0) or "")
        holder.communicate("go\n")
        assert store.purge("default", 30.0) is None
        assert memory.erase(user="kim").ok
