"""Compressing: old messages go once the summary that stands for them is stored, and can come back."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Settings, SummaryPolicy
from rememo.errors import InvalidInput, ReadOnly
from rememo.summary.summary import Compressed
from rememo.testing.clock import ManualClock

from .learning import triples, worker_of

DAY = 86_400.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(worker=False), clock=clock) as memory:
        yield memory


def talk(memory: Memory, clock: ManualClock, days: int, **labels: str) -> list[str]:
    """Say something each day, and return the ids."""
    ids: list[str] = []
    for number in range(days):
        ids.append(memory.scope(**labels).messages.add("user", f"On day {number} I drank {number} cups.").id)
        clock.advance(DAY)
    return ids


@pytest.mark.requirement("compress.old-messages")
def test_old_messages_become_a_summary_that_says_how_many_and_from_when(memory: Memory, clock: ManualClock):
    ids = talk(memory, clock, 10, user="ana", room="r")
    done = memory.summaries.compress(older_than="7d")
    assert (done.count, done.rooms) == (3, ("r",))
    assert done.since is not None
    assert done.until is not None
    assert (done.since.day, done.until.day) == (1, 3)
    chat = memory.scope(user="ana", room="r")
    assert [message.id for message in chat.messages.history()] == ids[3:]
    (summary,) = chat.summaries.list()
    assert summary.text == (
        "Summary of 3 messages from 2026-05-01 12:00 to 2026-05-03 12:00 UTC:\n"
        "ana: On day 0 I drank 0 cups.\nana: On day 1 I drank 1 cups.\nana: On day 2 I drank 2 cups."
    )
    assert (summary.id, summary.sources, summary.made_by) == (done.summaries[0], ids[:3], "compress")
    assert [message.id for message in chat.summaries.sources(summary.id)] == ids[:3]
    assert [hit.record.id for hit in chat.search("day 1 cups", limit=1)] == [summary.id]


@pytest.mark.requirement("compress.old-messages")
def test_it_can_be_undone(memory: Memory, clock: ManualClock):
    ids = talk(memory, clock, 10, room="r")
    done = memory.summaries.compress()
    assert done.receipt.outcomes[done.summaries[0]] == "added"
    memory.undo(done.receipt)
    worker_of(memory).run_until_idle()
    assert [message.id for message in memory.messages.history()] == ids
    assert memory.summaries.list() == []
    assert memory.summaries.compress().count == 3, "and done again"


def test_nothing_old_enough_is_a_clear_outcome(memory: Memory, clock: ManualClock):
    assert memory.summaries.compress() == Compressed()
    talk(memory, clock, 5, room="r")
    assert memory.summaries.compress(room="r") == Compressed()
    assert memory.summaries.compress(older_than="1d", room="elsewhere") == Compressed()
    assert memory.summaries.list() == []
    with pytest.raises(InvalidInput, match="0 transactions"):
        _ = Compressed().receipt


@pytest.mark.requirement("compress.old-messages")
def test_rooms_are_compressed_apart_and_scope_is_kept(memory: Memory, clock: ManualClock):
    for user, room in (("ana", "one"), ("bo", "one"), ("bo", "two")):
        memory.scope(user=user, room=room).messages.add("user", f"I am {user} and drink 3 teas.")
    memory.scope(user="ana").messages.add("user", "I am in no room and drink 4 teas.")
    memory.scope(tenant="other").scope(room="one").messages.add("user", "Behind the wall, 5 teas.")
    clock.advance(30 * DAY)
    hers = memory.scope(user="ana").summaries.compress()
    assert (hers.count, hers.rooms, len(hers.summaries)) == (2, ("one",), 2)
    assert memory.scope(user="bo").messages.history() != []
    rest = memory.summaries.compress()
    assert (rest.count, rest.rooms) == (2, ("one", "two"))
    assert memory.count(kind="message") == 0
    assert {(summary.record.scope.user, summary.record.scope.room) for summary in memory.summaries.list()} == {
        ("ana", "one"), ("ana", None), ("bo", "one"), ("bo", "two"),
    }  # fmt: skip
    assert memory.scope(tenant="other").count(kind="message") == 1


def test_what_was_learned_stays(memory: Memory, clock: ManualClock):
    chat = memory.scope(user="ana", room="r")
    chat.messages.add("user", "I live in Lisbon.").wait()
    clock.advance(30 * DAY)
    assert chat.summaries.compress().count == 1
    worker_of(memory).run_until_idle()
    assert triples(chat) == [("ana", "lives_in", "Lisbon")]


def test_pinned_and_system_messages_and_tool_pairs_stay_whole(memory: Memory, clock: ManualClock):
    chat = memory.scope(room="r")
    add = chat.messages.add

    def call(id: str) -> list[dict[str, Any]]:
        return [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}]

    stays = [add("system", "Be kind.").id, add("user", "My allergy is nuts.", pinned=True).id]
    add("assistant", "", tool_calls=call("done"))
    add("tool", "sunny", tool_call_id="done")
    add("assistant", "", tool_calls=call("never"))
    stays.append(add("assistant", "", tool_calls=call("late")).id)
    clock.advance(10 * DAY)
    stays.append(add("tool", "rain", tool_call_id="late").id)
    assert chat.summaries.compress().count == 3
    assert [message.id for message in chat.messages.history()] == stays


def test_what_a_policy_summarised_goes_without_being_said_twice(memory: Memory, clock: ManualClock):
    chat = memory.scope(room="r")
    chat.summaries.policy(SummaryPolicy(threshold=6, keep=2))
    ids = talk(memory, clock, 6, room="r")
    worker_of(memory).run_until_idle()
    clock.advance(30 * DAY)
    done = chat.summaries.compress()
    assert (done.count, len(done.summaries)) == (6, 1)
    assert [summary.sources for summary in chat.summaries.list()] == [ids[:4], ids[4:]]
    current = chat.summaries.current()
    assert current is not None
    assert current.count == 6
    for receipt in reversed(done.receipts):
        memory.undo(receipt)
    worker_of(memory).run_until_idle()
    assert [message.id for message in chat.messages.history()] == ids
    assert [message.id for message in chat.messages.window(1_000) if message.record.kind == "message"] == ids[4:]


def test_a_large_room_is_done_in_steps_of_bounded_size(memory: Memory, clock: ManualClock):
    room = memory.scope(room="r")
    room.add_many(
        {"text": f"I counted {number} sheep.", "kind": "message", "data": {"role": "user"}} for number in range(1_050)
    )
    clock.advance(30 * DAY)
    done = room.summaries.compress()
    assert done.count == 1_050
    assert all(len(receipt.ids) <= 101 for receipt in done.receipts)
    assert len(done.summaries) == len(done.receipts) == 11
    assert sorted(summary.count for summary in room.summaries.list(100)) == [50, *([100] * 10)]


@pytest.mark.parametrize("wrong", ["soon", 0, -1, "", None, True])
def test_ages_that_cannot_be_meant(memory: Memory, wrong: Any):
    with pytest.raises(InvalidInput, match="older_than"):
        memory.summaries.compress(older_than=wrong)


def test_it_is_no_part_of_a_batch_or_of_the_past(memory: Memory):
    with memory.batch() as batch, pytest.raises(InvalidInput, match="batch"):
        batch.summaries.compress()
    with pytest.raises(ReadOnly):
        memory.as_of(memory.snapshot("s")).summaries.compress()


plans = st.lists(
    st.tuples(st.sampled_from(["user", "system", "pinned", "call", "result"]), st.integers(0, 12)), max_size=30
)


@given(plans, st.integers(1, 10))
def test_every_message_stays_or_is_in_one_summary(plan: list[tuple[str, int]], days: int):
    clock = ManualClock()
    with Memory(":memory:", embedder=None, settings=Settings(worker=False, learn=False), clock=clock) as memory:
        room = memory.scope(room="r")
        added: list[str] = []
        for number, (what, hours) in enumerate(plan):
            clock.advance(hours * 3_600)
            calls = [{"id": f"c{number}"}] if what == "call" else None
            result = f"c{number - 1}" if what == "result" else None
            role = {"call": "assistant", "result": "tool", "pinned": "user"}.get(what, what)
            added.append(
                room.messages.add(
                    role, f"Thing {number}.", tool_calls=calls, tool_call_id=result, pinned=what == "pinned"
                ).id
            )
        done = room.summaries.compress(older_than=days * 7_200)
        present = [message.id for message in room.messages.history(1_000)]
        sources = [id for summary in room.summaries.list(1_000) for id in summary.sources]
        assert sorted([*present, *sources]) == sorted(added)
        assert done.count == len(sources)
        for place, (what, _) in enumerate(plan):
            if what in ("system", "pinned"):
                assert added[place] in present
            if what == "result" and place and plan[place - 1][0] == "call":
                assert (added[place] in present) == (added[place - 1] in present)
        for receipt in reversed(done.receipts):
            memory.undo(receipt)
        assert [message.id for message in room.messages.history(1_000)] == added or len(added) == 0
