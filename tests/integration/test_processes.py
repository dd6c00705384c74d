"""Many processes, many threads, one file: nothing is lost, nobody waits for ever, nothing is carried over a fork."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.errors import Busy, Closed, NotFound
from rememo.settings import Settings

from .talk import Process, go, hear

Start = Callable[..., Process]

_log = logging.getLogger(__name__)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


# ---- processes


@pytest.mark.requirement("process.safe", "store.transactions-concurrency")
def test_eight_processes_add_to_one_file(path: Path, start: Start):
    writers = [start("add", path, 500, f"writer{number}") for number in range(8)]
    go(*writers)
    told = [hear(writer) for writer in writers]
    assert [writer.wait() for writer in writers] == [0] * 8

    waits = sorted(wait for report in told for wait in report["waits"])
    totals = sorted(report["total"] for report in told)
    _log.info(
        "waits: p99 %.1f ms, longest %.1f ms; slowest writer to fastest %.2f",
        1000 * waits[int(len(waits) * 0.99)],
        1000 * waits[-1],
        totals[-1] / totals[0],
    )

    with Memory(path) as memory:
        assert memory.count() == 4_000
        for number, report in enumerate(told):
            room = memory.scope(room=f"writer{number}")
            assert len(set(report["ids"])) == 500
            assert {hit.record.id for hit in room.search("Lisbon", limit=1000, mode="words")} == set(report["ids"])
            for place, id in enumerate(report["ids"]):
                assert room.get(id).metadata == {"number": place}
            [hit] = room.search("entry271", limit=1, mode="words")
            assert hit.record.id == report["ids"][271]
        assert memory.verify().faults == ()

    # Waiting is fair: nobody is done long before the others, and no single write starved.
    assert totals[-1] < 2 * totals[0]
    assert waits[-1] < 0.25 * totals[-1]


@pytest.mark.requirement("process.safe", "write.receipt")
def test_processes_that_wait_for_what_they_wrote_do_not_hold_each_other_up(tmp_path: Path, start: Start):
    def run(*names: str) -> list[dict[str, Any]]:
        writers = [start("add_and_wait", tmp_path / f"{len(names)}.db", 12, name) for name in names]
        go(*writers)
        told = [hear(writer) for writer in writers]
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go on\n")
            writer.stdin.flush()
        assert [writer.wait() for writer in writers] == [0] * len(writers)
        return told

    [alone] = run("ana")
    together = run("ana", "bob")
    _log.info("alone %s, together %s", alone, together)
    for writer in together:
        # Each is as fast as it was by itself, but for what the other takes of the machine.
        assert writer["total"] < 6 * alone["total"] + 1
        assert writer["spent"] < writer["total"] / 2 + 0.5, "who waits leaves the processor to others"


@pytest.mark.requirement("process.safe")
def test_readers_are_not_blocked_by_a_writer_and_a_writer_that_waits_too_long_says_so(
    path: Path, start: Start, caplog: pytest.LogCaptureFixture
):
    with Memory(path, embedder=None, settings=Settings(busy_timeout=0.2)) as memory:
        receipt = memory.add("Miso the cat lives in Lisbon")
        memory.kv.set("key", 1)
        holder = start("hold", path)
        assert hear(holder) == "ready"

        assert memory.get(receipt.id).text.startswith("Miso")
        assert [hit.record.id for hit in memory.search("cat")] == [receipt.id]
        assert memory.count() == len(memory.list()) == 1
        assert memory.kv.get("key") == 1
        assert memory.verify().ok
        assert memory.export(path.with_suffix(".jsonl")).versions == 1
        memory.backup(path.with_suffix(".copy"))
        assert "no erasure will tell of it" in caplog.text
        with Memory(path.with_suffix(".copy"), embedder=None) as copy:
            assert copy.count() == 1
        with pytest.raises(Busy, match=str(path)):
            memory.add("cannot be written now")
        with Memory(path, embedder=None) as another:
            assert another.count() == 1

        assert holder.stdin is not None
        holder.stdin.write("go\n")
        assert hear(holder) == "released"
        assert holder.wait() == 0
        memory.add("can be written now")
        assert memory.count() == 2


@pytest.mark.requirement("process.safe", "store.transactions-concurrency")
def test_a_shared_counter_counts_every_process(path: Path, start: Start):
    counters = [start("count_up", path, 200) for _ in range(8)]
    go(*counters)
    assert [hear(counter) for counter in counters] == ["done"] * 8
    with Memory(path, embedder=None) as memory:
        assert memory.kv.get("counter") == 1_600
        assert memory.kv.version("counter") == 1_600


@pytest.mark.requirement("process.safe", "store.transactions-concurrency", "integrity.versions")
def test_expected_versions_lose_no_change(path: Path, start: Start):
    with Memory(path, embedder=None) as memory:
        memory.add("a list that many write", id="list", data={"marks": []})
    writers = [start("revise_expected", path, "list", 40, f"writer{number}") for number in range(4)]
    go(*writers)
    assert all(hear(writer) >= 0 for writer in writers)
    with Memory(path, embedder=None) as memory:
        record = memory.get("list")
        assert sorted(record.data["marks"]) == sorted(
            f"writer{writer}-{number}" for writer in range(4) for number in range(40)
        )
        assert [version.version for version in memory.history("list")] == list(range(1, 162))
        assert memory.verify().faults == ()


@pytest.mark.requirement("process.safe", "store.transactions-concurrency")
def test_updates_of_different_fields_do_not_undo_each_other(path: Path, start: Start):
    with Memory(path, embedder=None) as memory:
        memory.add("text 0", id="shared")
    fields = ("text", "source", "importance", "metadata")
    writers = [start("revise_field", path, "shared", 40, field) for field in fields]
    go(*writers)
    assert [hear(writer) for writer in writers] == ["done"] * 4
    with Memory(path, embedder=None) as memory:
        record = memory.get("shared")
        assert (record.text, record.source, record.importance) == ("text 40", "source 40", 1.0)
        assert record.metadata == {"number": 40}
        assert record.version == 161
        assert memory.verify().faults == ()


# ---- forks


@pytest.mark.requirement("process.safe")
def test_a_memory_goes_on_in_parent_and_child_of_a_fork(path: Path, start: Start):
    told = hear(start("fork_and_go_on", path, 100))
    assert told == {"child": 0, "count": 201}
    with Memory(path) as memory:
        assert memory.count() == 201
        assert memory.verify().faults == ()


@pytest.mark.requirement("process.safe")
def test_a_fork_while_a_thread_loads_what_it_needs(path: Path, start: Start):
    assert hear(start("fork_while_loading", path)) == {"child": 0, "count": 2}


@pytest.mark.requirement("process.safe")
def test_a_fork_while_threads_write_read_and_back_up_loses_nothing(path: Path, start: Start):
    told = hear(start("fork_while_writing", path, 12, 10))
    assert told["exits"] == [0] * 12
    assert told["errors"] == []
    with Memory(path) as memory:
        assert memory.count() == len(told["ids"]) + 120
        for id in told["ids"]:
            memory.get(id)
        assert memory.verify().faults == ()


@pytest.mark.requirement("process.safe")
def test_a_pool_of_forked_processes_shares_the_parents_memory(path: Path, start: Start):
    told = hear(start("fork_pool", path, 60))
    assert len(set(told["ids"])) == 60
    assert told["count"] == 62
    with Memory(path) as memory:
        assert memory.verify().faults == ()


# ---- threads


@pytest.mark.requirement("process.safe", "store.transactions-concurrency")
def test_sixteen_threads_add_and_read_at_once(path: Path):
    with Memory(path) as memory:

        def work(who: int) -> list[str]:
            ids: list[str] = []
            for number in range(40):
                ids.append(memory.add(f"thread {who} wrote entry{number}").id)
                assert memory.get(ids[-1]).text == f"thread {who} wrote entry{number}"
                assert memory.list(limit=3)
            assert memory.search(f"thread {who}", limit=5)
            return ids

        with ThreadPoolExecutor(16) as pool:
            ids = [id for written in pool.map(work, range(16)) for id in written]
        assert len(set(ids)) == 640
        assert {record.id for record in memory.list(limit=1000)} == set(ids)
        assert memory.verify().faults == ()


@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_more_threads_than_one_group_takes_all_get_their_receipt(path: Path, place: str):
    """A group commit takes the oldest 64 that wait; the others must not be told they were written."""
    with Memory(path if place == "file" else place, embedder=None) as memory:
        together = threading.Barrier(150)

        def work(who: int) -> str:
            together.wait()
            return memory.add(f"thread {who}").id

        with ThreadPoolExecutor(150) as pool:
            ids = list(pool.map(work, range(150)))
        assert {record.id for record in memory.list(limit=1000)} == set(ids)


def test_a_failing_write_in_a_group_fails_alone(path: Path):
    with Memory(path, embedder=None) as memory:
        memory.add("taken", id="taken")
        together = threading.Barrier(32)

        def work(who: int) -> str:
            together.wait()
            try:
                return memory.add(f"thread {who}", id="taken" if who % 2 else f"free-{who}").outcome
            except Exception as error:  # noqa: BLE001 - which one it is, is what is tested
                return type(error).__name__

        with ThreadPoolExecutor(32) as pool:
            outcomes = list(pool.map(work, range(32)))
        assert outcomes == ["added", "AlreadyExists"] * 16
        assert memory.count() == 17
        assert memory.verify().faults == ()


# ---- closing


def test_close_tells_every_thread_and_nothing_hangs(path: Path, start: Start):
    told = hear(start("close_under_way", path))
    assert told == {"ended": ["Closed"] * 8, "alive": 0}
    with Memory(path, embedder=None) as memory:
        assert memory.verify().faults == ()


@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_use_after_close_raises_closed_and_closing_twice_is_harmless(path: Path, tmp_path: Path, place: str):
    memory = Memory(path if place == "file" else place)
    receipt = memory.add("once")
    moment = memory.snapshot("then")
    view = memory.scope(user="alice")
    memory.close()
    memory.close()
    verbs: list[Callable[[], object]] = [
        lambda: memory.add("late"),
        lambda: view.add("late"),
        lambda: memory.add_many(["late"]),
        lambda: memory.get(receipt.id),
        memory.list,
        memory.count,
        lambda: memory.search("once"),
        lambda: memory.update(receipt.id, text="late"),
        lambda: memory.delete(receipt.id),
        memory.clear,
        lambda: memory.history(receipt.id),
        lambda: memory.snapshot("late"),
        memory.snapshots,
        lambda: memory.rollback(moment),
        lambda: memory.undo(receipt),
        memory.rooms,
        lambda: memory.kv.get("key"),
        lambda: memory.kv.set("key", 1),
        lambda: memory.export(tmp_path / "late.jsonl"),
        lambda: memory.backup(tmp_path / "late.db"),
        memory.verify,
        memory.stats,
        memory.maintain,
    ]
    for verb in verbs:
        with pytest.raises(Closed):
            verb()
    assert not (tmp_path / "late.jsonl").exists()
    assert not (tmp_path / "late.db").exists()


def test_two_memories_of_one_process_share_a_file(path: Path):
    with Memory(path, embedder=None) as first, Memory(path, embedder=None) as other:
        id = first.add("seen by both").id
        assert other.get(id).text == "seen by both"
        other.update(id, text="changed by the other")
        assert first.get(id).text == "changed by the other"
        first.close()
        other.delete(id)
        with pytest.raises(NotFound):
            other.get(id)
        assert other.verify().faults == ()
