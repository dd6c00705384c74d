"""Taking writes back after something was learned from them: each state comes back, with what was known in it."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import VersionConflict
from rememo.jobs.worker import Worker
from rememo.model.receipt import Receipt
from rememo.testing.clock import ManualClock

pytestmark = pytest.mark.requirement("version.undo")

SAID = (
    "I live in Lisbon.",
    "I live in Porto now.",
    "My sister is called Ana. I work at Acme.",
    "My cat is called Miso. I like tea.",
    "I do not live in Lisbon any more.",
)
IDS = ("m1", "m2", "m3")
State = list[tuple[str, str]]


def learn(memory: Memory) -> None:
    runner = view_of(memory).engine.runner  # what is behind the surface
    assert isinstance(runner, Worker)
    runner.run_until_idle()


def state(memory: Memory) -> State:
    """Everything that is known, without what only tells how it came to be."""
    learn(memory)
    return sorted(
        (record.kind, record.text + str(record.data.get("status", "")) + str(record.data.get("count", "")))
        for record in memory.list(limit=1000)
    )


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(worker=False), clock=clock) as memory:
        yield memory.scope(user="ana", room="r")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_a_roll_back_that_revived_a_message_is_undone_after_it_was_learned_from(memory: Memory, clock: ManualClock):
    message = memory.messages.add("user", "I live in Lisbon. My sister is called Ana.")
    known = state(memory)
    assert len(known) > 2
    memory.snapshot("before")
    clock.advance(60)
    memory.delete(message.id)
    assert state(memory) == []
    back = memory.rollback("before")
    assert state(memory) == known
    undone = memory.undo(back)
    assert state(memory) == []
    memory.undo(undone)
    assert state(memory) == known


def test_what_somebody_changed_by_hand_since_is_a_conflict(memory: Memory, clock: ManualClock):
    message = memory.messages.add("user", "I live in Lisbon.")
    state(memory)
    memory.snapshot("before")
    clock.advance(60)
    memory.delete(message.id)
    state(memory)
    back = memory.rollback("before")
    state(memory)
    [fact] = memory.facts.list()
    memory.facts.update(fact.id, confidence=0.4)
    with pytest.raises(VersionConflict, match=fact.id):
        memory.undo(back)


def test_a_fact_added_by_hand_is_taken_back_and_what_a_message_says_stays(memory: Memory):
    added = memory.facts.add("ana", "lives_in", "Lisbon")
    memory.messages.add("user", "I live in Lisbon.")
    state(memory)
    memory.undo(added)
    state(memory)
    [fact] = memory.facts.list()
    assert [source.id for source in fact.sources] == [message.id for message in memory.messages.history(1000)]


def test_a_message_that_had_left_into_a_summary_leaves_again_and_stays_known(memory: Memory, clock: ManualClock):
    for number in range(20):
        memory.messages.add("user", f"My cat is called Miso{number}.")
    everything = state(memory)
    memory.snapshot("before")
    clock.advance(60)
    memory.summaries.compress(older_than="1ms")
    compressed = state(memory)
    facts = [row for row in compressed if row[0] == "fact"]
    assert facts
    memory.snapshot("compressed")
    clock.advance(60)
    back = memory.rollback("before")
    assert state(memory) == everything
    undone = memory.undo(back)
    assert state(memory) == compressed
    memory.undo(undone)
    clock.advance(60)
    memory.rollback("compressed")
    assert state(memory) == compressed


STEP = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(IDS), st.sampled_from(SAID)),
    st.tuples(st.just("update"), st.sampled_from(IDS), st.sampled_from(SAID)),
    st.tuples(st.just("delete"), st.sampled_from(IDS), st.just("")),
    st.tuples(st.just("rollback"), st.integers(0, 5), st.just("")),
    st.tuples(st.just("fact"), st.sampled_from(("Lisbon", "Porto")), st.just("")),
    st.tuples(st.just("undo"), st.just(""), st.just("")),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(steps=st.lists(STEP, min_size=1, max_size=7))
def test_writes_are_taken_back_one_by_one_whatever_was_learned(steps: list[tuple[str, object, str]]):
    clock = ManualClock()
    with Memory(":memory:", embedder=None, settings=Settings(worker=False), clock=clock) as opened:
        memory = opened.scope(user="ana", room="r")
        taken: list[tuple[State, Receipt]] = []
        moments = [clock()]
        for name, what, text in steps:
            before = state(memory)
            clock.advance(60)
            receipt = step(memory, (name, what, text), moments, taken)
            if receipt is not None and receipt.ids:
                taken.append((before, receipt))
            state(memory)  # a moment before it was learned from has a message and nothing that it says
            clock.advance(60)
            moments.append(clock())
        while taken:
            expected, receipt = taken.pop()
            state(memory)
            clock.advance(60)
            memory.undo(receipt)
            assert state(memory) == expected


def step(
    memory: Memory, chosen: tuple[str, object, str], moments: list[datetime], taken: list[tuple[State, Receipt]]
) -> Receipt | None:
    name, what, text = chosen
    there = {message.id for message in memory.messages.history(1000)}
    match name:
        case "add" if what not in there:
            return memory.messages.add("user", text, id=str(what))
        case "update" if what in there:
            return memory.update(str(what), text=text)
        case "delete" if what in there:
            return memory.delete(str(what))
        case "rollback" if isinstance(what, int) and what < len(moments):
            return memory.rollback(moments[what])
        case "fact":
            return memory.facts.add("ana", "lives_in", str(what))
        case "undo" if taken:
            return memory.undo(taken[-1][1])
        case _:
            return None
