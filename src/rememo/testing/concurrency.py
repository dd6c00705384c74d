"""Threads: writers at the same time lose nothing, readers are never disturbed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from rememo.errors import VersionConflict
from rememo.memory import Memory
from rememo.testing.base import OpenMemory, Suite, texts

THREADS = 6
EACH = 20


def run_in_threads(work: Callable[[int], object]) -> None:
    """Run it in several threads; the first failure is raised."""
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


class ConcurrencySuite(Suite):
    """One memory, many threads; one store, several openings."""

    @pytest.mark.requirement("store.transactions-concurrency")
    def test_no_add_is_lost(self, open_memory: OpenMemory) -> None:
        memory = open_memory()
        others = [open_memory() if self.reopens else memory for _ in range(THREADS)]

        def work(number: int) -> None:
            for turn in range(EACH):
                others[number].add(f"thread{number} turn{turn}")

        run_in_threads(work)
        expected = {f"thread{number} turn{turn}" for number in range(THREADS) for turn in range(EACH)}
        assert set(texts(memory.list(limit=1_000))) == expected
        assert len({record.recorded_at for record in memory.list(limit=1_000)}) == THREADS * EACH
        assert memory.count() == THREADS * EACH
        assert memory.verify().ok

    @pytest.mark.requirement("store.transactions-concurrency")
    def test_no_guarded_update_is_lost(self, memory: Memory) -> None:
        memory.add("counter", id="n", metadata={"n": 0})

        def add_one() -> None:
            while True:
                record = memory.get("n")
                try:
                    memory.update("n", metadata={"n": record.metadata["n"] + 1}, expected_version=record.version)
                except VersionConflict:
                    continue
                return

        run_in_threads(lambda _: [add_one() for _ in range(5)])
        assert memory.get("n").metadata == {"n": THREADS * 5}
        assert memory.get("n").version == THREADS * 5 + 1

    def test_updates_of_different_fields_do_not_undo_each_other(self, memory: Memory) -> None:
        memory.add("shared", id="x")

        def work(number: int) -> None:
            for turn in range(10):
                if number % 2:
                    memory.update("x", metadata={"turn": turn})
                else:
                    memory.update("x", data={"turn": turn})

        run_in_threads(work)
        assert memory.get("x").metadata == {"turn": 9}
        assert memory.get("x").data == {"turn": 9}
        assert memory.get("x").version == THREADS * 10 + 1

    @pytest.mark.requirement("store.transactions-concurrency")
    def test_no_key_value_update_is_lost(self, memory: Memory) -> None:
        run_in_threads(lambda _: [memory.kv.update("n", lambda value: value + 1, default=0) for _ in range(EACH)])
        assert memory.kv.get("n") == THREADS * EACH

    def test_one_key_is_written_once_whoever_is_first(self, memory: Memory) -> None:
        receipts: list[str] = []
        run_in_threads(lambda _: receipts.append(memory.add("once", key="k").id))
        assert len(set(receipts)) == 1
        assert memory.count() == 1

    def test_one_id_is_created_once_whoever_is_first(self, memory: Memory) -> None:
        outcomes: list[str] = []
        run_in_threads(lambda number: outcomes.append(memory.add(str(number), id="x", on_conflict="ignore").outcome))
        assert sorted(outcomes) == ["added"] + ["ignored"] * (THREADS - 1)

    @pytest.mark.requirement("store.transactions-concurrency")
    def test_readers_see_whole_batches_only(self, memory: Memory) -> None:
        seen: list[int] = []

        def work(number: int) -> None:
            for turn in range(10):
                if number == 0:
                    memory.add_many([f"harbour {turn} {part}" for part in range(5)])
                else:
                    seen.append(memory.count())
                    seen.append(len(memory.list(limit=1_000)))
                    memory.search("harbour")

        run_in_threads(work)
        assert {count % 5 for count in seen} == {0}
        assert memory.count() == 50
