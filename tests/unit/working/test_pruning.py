"""Pruning: the newest stay, what matters stays, pairs stay together, and it can be taken back."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.collections.pruning import select_messages, select_records
from rememo.collections.working_limits import WorkingLimits
from rememo.errors import InvalidInput, ReadOnly
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.testing.clock import START, ManualClock
from rememo.text.windows import call_ids, units


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(learn=False), clock=clock) as memory:
        yield memory


def filled(memory: Memory) -> None:
    """Fill a workbench in one go."""
    with memory.batch() as batch:
        batch.working.messages.add("system", "Be brief.", id="rules")
        batch.working.messages.add("user", "keep this", id="pinned", pinned=True)
        for number in range(6):
            batch.working.messages.add("user", f"question {number}", id=f"q{number}")
            batch.working.messages.add("assistant", "", tool_calls=[{"id": f"c{number}"}], id=f"c{number}")
            batch.working.messages.add("tool", f"result {number}", tool_call_id=f"c{number}", id=f"r{number}")
        for number in range(5):
            batch.actions.add("search", id=f"a{number}", pinned=number == 0)
            batch.thoughts.add("THINK", "hm", id=f"t{number}")


@pytest.mark.requirement("working.prune")
def test_the_newest_stay_with_what_matters(memory: Memory):
    filled(memory)
    working = memory.working
    before = working.export()
    pruned = working.prune(max_messages=6, max_actions=2, max_thoughts=3)
    # Six may stay: the rules, the pinned one, the last pair with its question; one more pair would be too much.
    assert [message.id for message in working.messages.history(100)] == ["rules", "pinned", "q5", "c5", "r5"]
    assert pruned.messages[:3] == ("q0", "c0", "r0")
    assert [action.id for action in working.actions.list()] == ["a0", "a4"]
    assert [thought.id for thought in working.thoughts.list()] == ["t2", "t3", "t4"]
    assert (pruned.actions, pruned.thoughts) == (("a1", "a2", "a3"), ("t0", "t1"))
    assert pruned.count == len(pruned.receipt.ids) == 15 + 3 + 2
    memory.undo(pruned.receipt)
    assert working.export() == before


def test_nothing_to_prune_is_nothing_done(memory: Memory):
    filled(memory)
    pruned = memory.working.prune()
    assert pruned.count == 0
    assert memory.undo(pruned.receipt).ids == ()
    assert memory.count() == 30


def test_limits_are_kept_and_stand_in_for_what_is_not_given(memory: Memory):
    working = memory.scope(room="r").working
    assert working.limits() == WorkingLimits(max_messages=100, max_actions=50, max_thoughts=200)
    assert working.limits().enforced == ()
    working.limit(max_actions=2)
    both = working.limit(max_thoughts=3)
    assert both == working.limits()
    assert (both.max_messages, both.max_actions, both.max_thoughts) == (100, 2, 3)
    assert both.enforced == ("max_actions", "max_thoughts")
    for number in range(4):
        working.messages.add("user", f"question {number}")
    assert working.prune(max_messages=3).count == 1
    assert memory.working.limits() == WorkingLimits()


@pytest.mark.requirement("working.prune")
def test_a_limit_is_kept_by_every_way_to_write(memory: Memory, clock: ManualClock):
    room = memory.scope(room="r")
    room.actions.add("old", id="pinned", pinned=True)
    for number in range(6):
        room.actions.add("old", id=f"old{number}")
    room.working.limit(max_actions=2)
    assert [action.id for action in room.actions.list()] == ["pinned", "old5"], "at once"
    clock.advance()
    with room.working.tool("search"):
        pass
    assert [action.tool for action in room.actions.list()] == ["old", "search"]
    room.actions.add("by the collection")
    assert [action.tool for action in room.actions.list()] == ["old", "by the collection"]
    room.working.actions.add("by the workbench")
    assert [action.tool for action in room.actions.list()] == ["old", "by the workbench"]
    with room.batch() as batch:
        for _ in range(3):
            batch.actions.add("in a batch")
    room.actions.add("the next")
    assert [action.tool for action in room.actions.list()] == ["old", "the next"]
    for number in range(300):
        room.thoughts.add("THINK", f"thought {number}")
    assert len(room.thoughts.list(limit=1_000)) == 300, "what was not limited is not touched"
    room.working.limit(max_thoughts=2, max_messages=3)
    room.working.think("the last")
    assert [thought.record.text for thought in room.thoughts.list()] == ["thought 299", "the last"]
    room.messages.add("system", "Be brief.")
    for number in range(4):
        room.messages.add("user", f"question {number}")
        room.messages.add("assistant", "", tool_calls=[{"id": f"c{number}"}])
        room.messages.add("tool", "result", tool_call_id=f"c{number}")
    assert [message.role for message in room.messages.history()] == ["system", "assistant", "tool"]
    assert memory.scope(room="other").actions.add("elsewhere").outcome == "added"


def test_a_limit_can_be_taken_away(memory: Memory):
    working = memory.scope(room="r").working
    assert working.unlimit() is False
    working.limit(max_actions=1)
    assert working.unlimit() is True
    for _ in range(3):
        working.actions.add("search")
    assert len(working.actions.list()) == 3
    assert working.limits() == WorkingLimits()


def test_limits_of_before_hold_for_pruning_alone(memory: Memory):
    room = memory.scope(room="r")
    room.working.limit(max_actions=2)
    (held,) = room.list(kind="state")
    old = {name: value for name, value in held.data["value"].items() if name != "enforced"}
    room.update(held.id, data=held.data | {"value": old})
    for _ in range(4):
        room.actions.add("search")
    assert len(room.actions.list()) == 4
    assert room.working.prune().count == 2


def test_limits_that_cannot_be_meant(memory: Memory):
    working = memory.working
    for wrong in (0, -1, True, 2.5, "10", 10**12):
        for name in ("max_messages", "max_actions", "max_thoughts"):
            given: dict[str, Any] = {name: wrong}
            with pytest.raises(InvalidInput, match=name):
                working.prune(**given)
            with pytest.raises(InvalidInput, match=name):
                working.limit(**given)
    with pytest.raises(InvalidInput, match="nothing to change"):
        working.limit()
    assert working.limits() == WorkingLimits()
    with memory.batch() as batch, pytest.raises(InvalidInput, match="batch"):
        batch.working.prune()
    with pytest.raises(ReadOnly):
        memory.as_of(memory.snapshot("s")).working.prune()


def test_what_was_learned_stays_when_a_message_leaves():
    with Memory(":memory:", embedder=None) as memory:
        chat = memory.scope(user="alice", room="r")
        chat.messages.add("user", "I live in Lisbon.").wait()
        for _ in range(3):
            chat.messages.add("user", "Well.", learn=False)
        pruned = chat.working.prune(max_messages=1)
        assert pruned.receipt.jobs == ()
        chat.sessions.save("s")
        chat.working.clear()
        assert chat.sessions.load("s").jobs == ()
        assert not [job for job in memory.jobs.list() if job.state != "done"]
        assert [fact.object for fact in chat.facts.list(predicate="lives in")] == ["Lisbon"]


def test_pruning_while_others_write(tmp_path: Path):
    with Memory(tmp_path / "a.db", embedder=None, settings=Settings(learn=False)) as memory:

        def write(writer: int) -> None:
            for number in range(40):
                call = f"{writer}-{number}"
                with memory.batch() as batch:
                    batch.messages.add("assistant", "", tool_calls=[{"id": call}])
                    batch.messages.add("tool", "so", tool_call_id=call)
                memory.working.think("hm")

        left: list[str] = []
        with ThreadPoolExecutor(3) as threads:
            running = [threads.submit(write, writer) for writer in range(3)]
            while not all(future.done() for future in running):
                left += memory.working.prune(max_messages=6, max_thoughts=4).messages
                turns = [message.record.data for message in memory.messages.history(1_000)]
                calls = [id for data in turns for id in call_ids(data)]
                assert calls == [data["tool_call_id"] for data in turns if "tool_call_id" in data]
            for future in running:
                future.result()
        left += memory.working.prune(max_messages=6, max_thoughts=4).messages
        assert len(left) == len(set(left)) == 3 * 40 * 2 - 6
        assert len(memory.thoughts.list()) == 4


def _record(place: int, data: dict[str, Any], *, pinned: bool) -> Record:
    return Record(
        id=str(place), version=1, kind="message", text="", data=data, scope=Scope(), created_at=START,
        recorded_at=START, pinned=pinned,
    )  # fmt: skip


IDS = st.sampled_from("abc")
TURNS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({"role": "user"}),
    st.just({"role": "system"}),
    st.lists(IDS, min_size=1, max_size=2).map(
        lambda ids: {"role": "assistant", "tool_calls": [{"id": id} for id in ids]}
    ),
    IDS.map(lambda id: {"role": "tool", "tool_call_id": id}),
)


@given(st.lists(st.tuples(TURNS, st.booleans()), max_size=25), st.integers(1, 30))
def test_whatever_the_turns_are(turns: list[tuple[dict[str, Any], bool]], most: int):
    records = [_record(place, data, pinned=pinned) for place, (data, pinned) in enumerate(turns)]
    leaving = select_messages(records, most)
    gone = {record.id for record in leaving}
    left = [record for record in records if record.id not in gone]
    assert [int(record.id) for record in leaving] == sorted(int(record.id) for record in leaving)
    assert not any(record.pinned or record.data["role"] == "system" for record in leaving)
    assert not records or left, "the newest turn stays"
    grouped = units([record.data for record in records])
    for unit in grouped:
        assert len({str(place) in gone for place in unit}) == 1, "a unit leaves as a whole"
    # Nobody's call is answered by another's result because of what left.
    for record in left:
        answered = record.data.get("tool_call_id")
        calls = [caller for caller in left if answered in call_ids(caller.data) and int(caller.id) < int(record.id)]
        called = [caller for caller in records if answered in call_ids(caller.data) and int(caller.id) < int(record.id)]
        assert bool(calls) == bool(called)
    # Nothing leaves without need, and what could leave does.
    free = [
        unit
        for unit in sorted(grouped, key=lambda unit: unit[-1])[:-1]
        if not any(records[place].pinned or records[place].data["role"] == "system" for place in unit)
    ]
    assert len(left) <= most or all(str(place) in gone for unit in free for place in unit)
    if leaving:
        last = max((unit for unit in free if str(unit[0]) in gone), key=lambda unit: unit[-1])
        assert len(left) + len(last) > most


@given(st.lists(st.booleans(), max_size=12), st.integers(1, 12))
def test_whatever_is_pinned(pins: list[bool], most: int):
    records = [_record(place, {}, pinned=pinned) for place, pinned in enumerate(pins)]
    over = max(0, len(records) - most)
    free = [record for record in records if not record.pinned]
    assert select_records(records, over) == free[:over]
