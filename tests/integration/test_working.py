"""Working state shared by processes: every change counts, whoever makes it, and whoever dies."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rememo import Memory

from .talk import Process, go, hear

Start = Callable[..., Process]


@pytest.mark.requirement("typed.thread-safe", "process.safe")
def test_eight_processes_count_in_one_typed_value(tmp_path: Path, start: Start):
    path = tmp_path / "m.db"
    counters = [start("count_typed", path, 200) for _ in range(8)]
    go(*counters)
    assert max(hear(counter) for counter in counters) == 1_600
    with Memory(path, embedder=None) as memory:
        box = memory.typed("counter", 0)
        assert (box.get(), box.version) == (1_600, 1_600)
        assert [version.value for version in box.history()] == list(range(1, 1_601))
        assert memory.verify().faults == ()


@pytest.mark.requirement("flow.start-get-set-clear", "process.safe")
def test_two_processes_lose_nothing_in_one_flow(tmp_path: Path, start: Start):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None) as memory:
        flow = memory.flow("shared", steps=["gather"])
        first = flow.start("ana")
        writers = [start("gather_in_flow", path, 150, who) for who in ("one", "two")]
        go(*writers)
        assert [hear(writer) for writer in writers] == ["done"] * 2
        state = flow.get("ana")
        assert state is not None
        expected = {str(number): number for number in range(150)}
        assert state.data == {"by": {"one": expected, "two": expected}}
        assert state.version == first.version + 300


@pytest.mark.requirement("flow.recover")
def test_a_flow_outlives_the_process_that_ran_it(tmp_path: Path, start: Start):
    path = tmp_path / "m.db"
    dying = start("die_in_flow", path)
    assert hear(dying) == "ready"
    dying.kill()
    dying.wait()
    with Memory(path, embedder=None) as memory:
        flow = memory.flow("shared", steps=["gather", "end"])
        with flow.run("ana") as state:
            assert (state.step, state.data, state.active) == ("end", {"half": True}, True)
