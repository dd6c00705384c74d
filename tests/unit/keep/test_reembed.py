"""Changing the embedding model: beside the old one, swapped when complete, resumable."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rememo import Memory
from rememo.engine.engine import Engine
from rememo.engine.view import view_of
from rememo.errors import EmbeddingFailed, EmbeddingMismatch, ModelChanged
from rememo.jobs.worker import Worker
from rememo.keep.health_check import check_health
from rememo.settings import Settings

pytestmark = pytest.mark.requirement("embed.online-change")


class Letters:
    """Counts hashed words: equal texts have equal vectors, and every dimension gives another model."""

    def __init__(self, dimension: int, *, fails_at: int | None = None) -> None:
        self.name, self.dimension = f"letters-{dimension}", dimension
        self.texts = 0
        self._fails_at = fails_at

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        if self._fails_at is not None and self.texts + len(texts) > self._fails_at:
            raise RuntimeError("the model went away")
        self.texts += len(texts)
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> NDArray[np.float32] | None:
        vector = np.zeros(self.dimension, np.float32)
        for word in text.lower().split():
            vector[hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1
        length = np.linalg.norm(vector)
        return vector / np.float32(length) if length else None


def fill(path: Path, count: int = 700) -> list[str]:
    with Memory(path, embedder=Letters(16)) as memory:
        receipt = memory.add_many([f"entry {number} about topic{number % 7}" for number in range(count)])
        memory.update(receipt.ids[0], text="entry zero rewritten").wait()
        memory.add("")
    return list(receipt.ids)


def test_the_new_model_takes_over_with_every_version(tmp_path: Path):
    fill(tmp_path / "a.db")
    steps: list[tuple[int, int]] = []
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
        memory.snapshot("now")
        new = Letters(24)
        assert memory.reembed(new, progress=lambda done, of: steps.append((done, of))) == 702
        assert steps[-1] == (702, 702)
        assert steps == sorted(steps)
        [hit, *_] = memory.search("entry 41 about topic6", mode="vector", limit=3)
        assert hit.text == "entry 41 about topic6"
        assert memory.as_of("now").search("zero rewritten", mode="vector", limit=1)[0].text == "entry zero rewritten"
        assert memory.verify().ok
        assert memory.stats().vectors == 701
        memory.add("written after the change")
        assert memory.search("written after the change", mode="vector", limit=1)[0].text == "written after the change"
    with pytest.raises(EmbeddingMismatch, match=r"letters-24.*reembed"):
        Memory(tmp_path / "a.db", embedder=Letters(16))
    with Memory(tmp_path / "a.db", embedder=Letters(24)) as memory:
        assert memory.reembed(Letters(24)) == 0


def test_searches_and_writes_go_on_meanwhile(tmp_path: Path):
    fill(tmp_path / "a.db")
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
        found: list[str] = []

        def meanwhile(done: int, of: int) -> None:
            found.append(memory.search("entry 5 about topic5", mode="vector", limit=1)[0].text)
            if done <= 512:
                memory.add(f"written while {done} of {of} were done")

        memory.reembed(Letters(24), progress=meanwhile)
        assert set(found) == {"entry 5 about topic5"}
        assert memory.stats().vectors == 701 + 2
        [late] = [record.text for record in memory.list() if "256" in record.text and record.text.startswith("written")]
        assert memory.search(late, mode="vector", limit=1)[0].text == late


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path):
    fill(tmp_path / "a.db")
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
        with pytest.raises(RuntimeError, match="went away"):
            memory.reembed(Letters(24, fails_at=600))
        assert memory.search("entry 5 about topic5", mode="vector", limit=1)[0].text == "entry 5 about topic5"
        assert memory.verify().ok
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
        again = Letters(24)
        assert memory.reembed(again) < 702
        assert memory.stats().vectors == 701
        assert memory.verify().ok


def test_a_process_without_the_new_model_goes_by_words_and_leaves_vectors_to_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    fill(tmp_path / "a.db")
    quiet = Settings(worker=False)
    with Memory(tmp_path / "a.db", embedder=Letters(16), settings=quiet) as other:
        with Memory(tmp_path / "a.db", embedder=Letters(16), settings=quiet) as memory:
            memory.reembed(Letters(24))
        assert other.stats().words_only is not None
        receipt = other.add("told to a memory with the old model", learn=False)
        assert receipt.jobs
        for _ in range(3):
            [hit, *_] = other.search("told old model", explain=True)
            assert hit.id == receipt.id
            assert "words_only" in hit.reasons
        with pytest.raises(EmbeddingFailed, match="letters-24"):
            other.search("told old model", mode="vector")
        told = [line for line in caplog.messages if "letters-24" in line]
        assert len(told) == 1, "once, not with each search"
        # A vector of the caller's own needs no embedder.
        [vector] = Letters(24).embed(["entry 41 about topic6"])
        assert vector is not None
        assert other.similar(vector.tolist(), limit=1)[0].text == "entry 41 about topic6"
        with pytest.raises(EmbeddingMismatch, match="letters-24"):
            other.similar([1.0] * 16)
        # Its worker leaves the job alone, however often it looks, and waiting does not fail.
        for _ in range(10):
            assert runner_of(other).run_once() == 0
        [job] = [job for job in other.jobs.list() if job.id in receipt.jobs]
        assert (job.state, job.attempts, job.error) == ("waiting", 0, None)
        assert receipt.wait(timeout=5).status == "learning"
        found = other.verify()
        assert (found.ok, found.owed_vectors) == (True, 1)
        # Given the model, it is as good as any.
        assert other.reembed(Letters(24)) == 0
        assert "words_only" not in other.search("told old model", explain=True)[0].reasons
        assert receipt.wait(timeout=5).status == "done"
        assert (other.verify().ok, other.verify().owed_vectors) == (True, 0)
        assert other.stats().words_only is None


def test_a_memory_goes_back_to_a_model_it_had_before(tmp_path: Path):
    fill(tmp_path / "a.db", 20)
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as other:
        with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
            memory.reembed(Letters(24))
            assert "words_only" in other.search("entry 5", explain=True)[0].reasons
            memory.reembed(Letters(16))
        wait_until(lambda: other.stats().words_only is None)
        assert other.search("entry 5 about topic5", mode="vector", limit=1)[0].text == "entry 5 about topic5"


def test_a_vector_that_is_missing_is_counted_and_can_be_made(tmp_path: Path):
    fill(tmp_path / "a.db", 30)
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
        engine_of(memory).store._database.write(  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage, reportUnknownMemberType]
            lambda connection: connection.execute("DELETE FROM vectors WHERE place % 3 = 0")  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType]
        )
        [fault] = memory.verify().missing_vectors
        assert "versions have no vector of letters-16" in fault
        lost = 31 - memory.stats().vectors
        assert f"{lost} versions" in fault
        assert [check.level for check in check_health(engine_of(memory), "default") if check.what == "vectors"] == [
            "bad"
        ]
        assert memory.reembed(Letters(16)) == lost
        assert memory.verify().ok
        assert [check for check in check_health(engine_of(memory), "default") if check.what == "vectors"] == []


def test_an_update_keeps_a_vector_that_this_process_could_not_make(tmp_path: Path):
    [id, *_] = fill(tmp_path / "a.db", 3)
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        memory.update(id, metadata={"seen": True})
        added = memory.add("written without an embedder")
        assert memory.verify().owed_vectors == 1
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
        assert memory.search("entry zero rewritten", mode="vector", limit=1)[0].id == id
        runner_of(memory).run_until_idle()
        assert memory.search("written without an embedder", mode="vector", limit=1)[0].id == added.id
        assert memory.verify() == replace(memory.verify(), faults=(), missing_vectors=(), owed_vectors=0)


def test_vectors_of_a_model_that_gave_way_before_it_had_any_are_not_mixed_in(tmp_path: Path):
    quiet = Settings(worker=False)
    with (
        Memory(tmp_path / "a.db", embedder=Letters(16), settings=quiet) as first,
        Memory(tmp_path / "a.db", embedder=Letters(24)) as second,
    ):
        first.add("written by the first")
        second.add("written by the second")
        runner_of(second).run_until_idle()
        assert second.verify() == replace(second.verify(), faults=(), missing_vectors=(), owed_vectors=0)
        assert second.search("written by the first", mode="vector", limit=1)[0].text == "written by the first"


def test_two_who_change_the_model_at_once_do_not_mix_their_vectors(tmp_path: Path):
    fill(tmp_path / "a.db")
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory, Memory(tmp_path / "a.db", embedder=None) as other:

        def meanwhile(done: int, _of: int) -> None:
            if done == 256:
                other.reembed(Letters(32))

        with pytest.raises(ModelChanged, match="another process changes the embedding model"):
            memory.reembed(Letters(24), progress=meanwhile)
        assert other.verify().ok
        assert other.stats().model == "letters-32"
        assert other.search("entry 41 about topic6", mode="vector", limit=1)[0].text == "entry 41 about topic6"


def test_a_thread_that_embedded_before_the_change_stores_no_vector_of_the_old_model(tmp_path: Path):
    fill(tmp_path / "a.db", 30)
    slow = Letters(16)
    with Memory(tmp_path / "a.db", embedder=slow) as memory:
        engine = engine_of(memory)
        [write] = engine.drafts.puts(memory.bound, [{"text": "embedded by the old model"}])
        memory.reembed(Letters(24))
        receipt = engine.commit(memory.bound, [write])
        assert receipt.wait().status == "done"
        assert memory.search("embedded by the old model", mode="vector", limit=1)[0].id == receipt.id
        assert memory.verify().ok


def engine_of(memory: Memory) -> Engine:
    return view_of(memory).engine  # what is behind the surface


def runner_of(memory: Memory) -> Worker:
    runner = engine_of(memory).runner
    assert isinstance(runner, Worker)
    return runner


def wait_until(happened: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(1_000):
        if happened():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen within ten seconds")
