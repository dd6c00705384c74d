"""Changing the embedding model: beside the old one, swapped when complete, resumable."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rememo import Memory
from rememo.errors import EmbeddingMismatch

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
        memory.update(receipt.ids[0], text="entry zero rewritten")
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


def test_another_memory_of_the_file_loses_nothing(tmp_path: Path):
    fill(tmp_path / "a.db")
    with Memory(tmp_path / "a.db", embedder=Letters(16)) as other:
        with Memory(tmp_path / "a.db", embedder=Letters(16)) as memory:
            memory.reembed(Letters(24))
        receipt = other.add("told to a memory with the old model")
        assert receipt.jobs
        assert other.search("told old model", mode="words")[0].id == receipt.id
        with pytest.raises(EmbeddingMismatch, match="open the memory again"):
            other.search("told old model")
    with Memory(tmp_path / "a.db", embedder=Letters(24)) as memory:
        assert memory.get(receipt.id).text == "told to a memory with the old model"
        assert memory.verify().ok
