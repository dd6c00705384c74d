"""Export and import of a workbench: equal on the other side, or refused and nothing changed."""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.errors import InvalidInput, ReadOnly
from rememo.testing.clock import START, ManualClock
from rememo.testing.strategies import JSON, METADATA

QUIET = Settings(learn=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=QUIET, clock=clock) as memory:
        yield memory


def filled(memory: Memory) -> dict[str, Any]:
    working = memory.working
    working.messages.add("system", "Be brief.", pinned=True)
    question = working.messages.add("user", "Where is Miso?", name="Ana", metadata={"n": 1}, at=START - timedelta(1)).id
    working.messages.add("assistant", "", tool_calls=[{"id": "c1", "name": "find"}], reply_to=question)
    working.messages.add("tool", "on the sofa", tool_call_id="c1", importance=0.5, source="house", trust=0.5)
    with working.tool("find", {"who": "Miso"}) as call:
        call.result = ["sofa"]
    working.think("She asks for the cat.")
    whole = working.todos.add("Feed the cat", priority=2).id
    working.todos.add("Buy food", parent=whole)
    working.context.set("room", {"name": "living room"})
    working.limit(max_messages=7)
    return json.loads(json.dumps(working.export()))


@pytest.mark.requirement("working.export-import")
def test_it_arrives_as_it_left(memory: Memory, clock: ManualClock):
    room = memory.scope(room="r", user="ana")
    room.messages.limit(max_messages=50, keep_roles=("system", "tool"))
    exported = filled(room)
    assert (exported["format"], exported["version"]) == ("rememo-working", 1)
    assert exported["limits"]["max_messages"] == 7
    assert exported["room_limits"]["max_messages"] == 50
    clock.advance(3_600)
    with Memory(":memory:", embedder=None, settings=QUIET, clock=clock) as other:
        there = other.scope(room="elsewhere", user="bob")
        there.messages.add("user", "something else")
        there.working.context.set("old", 1)
        there.add("a note stays")
        receipt = there.working.import_(exported)
        assert there.working.export() == exported
        assert there.working.stats() == room.working.stats()
        assert there.messages.limits() == room.messages.limits()
        assert [message.at for message in there.messages.history()] == [
            message.at for message in room.messages.history()
        ]
        assert [todo.depth for todo in there.working.todos.list()] == [0, 1]
        assert there.search("sofa", kind="message")
        assert there.count(kind="note") == 1
        # Again changes nothing; taking it back brings the old bench back.
        assert there.working.import_(exported).ids == ()
        other.undo(receipt)
        assert [message.content for message in there.messages.history()] == ["something else"]
        assert there.working.context.all() == {"old": 1}


def test_labels_within_the_view_go_along(memory: Memory):
    for user in ("ana", "bob"):
        memory.scope(room="r", user=user).messages.add("user", f"I am {user}.")
        memory.scope(room="r", user=user).working.context.set("who", user)
    exported = memory.scope(room="r").working.export()
    assert [message["labels"] for message in exported["messages"]] == [{"user": "ana"}, {"user": "bob"}]
    with Memory(":memory:", embedder=None) as other:
        other.scope(room="s").working.import_(exported)
        assert other.scope(room="s").working.export() == exported
        assert other.scope(room="s", user="bob").working.context.get("who") == "bob"
        before = other.stats()
        with pytest.raises(InvalidInput, match=r"messages\[0\].*bound to user 'eve'.*nothing was changed"):
            other.scope(room="s", user="eve").working.import_(exported)
        assert other.stats() == before


def test_another_scope_of_the_same_memory_gets_copies(memory: Memory):
    first, second = memory.scope(room="a"), memory.scope(room="b")
    exported = filled(first)
    second.working.import_(exported)
    assert first.working.export() == exported
    copied = second.working.export()
    assert {message["id"] for message in copied["messages"]}.isdisjoint(
        message["id"] for message in exported["messages"]
    )
    assert [message["text"] for message in copied["messages"]] == [message["text"] for message in exported["messages"]]
    assert copied["messages"][2]["data"]["reply_to"] == copied["messages"][0]["id"]
    assert [todo.depth for todo in second.working.todos.list()] == [0, 1]
    assert second.working.import_(exported).ids == ()
    # Copies that were deleted are taken up again, not copied once more.
    second.working.clear()
    second.working.import_(exported)
    assert second.working.export() == copied


def test_what_has_expired_on_the_way_stays_gone(memory: Memory, clock: ManualClock):
    memory.add("soon gone", kind="message", data={"role": "user"}, ttl=60)
    memory.messages.add("user", "stays")
    exported = memory.working.export()
    clock.advance(61)
    with Memory(":memory:", embedder=None, clock=clock) as other:
        other.working.import_(exported)
        assert [message.content for message in other.messages.history()] == ["stays"]


def test_other_words_bring_what_was_learned_in_line(clock: ManualClock):
    with Memory(":memory:", embedder=None, clock=clock) as memory:
        chat = memory.scope(user="alice", room="r")
        receipt = chat.messages.add("user", "I live in Lisbon.").wait()
        exported = chat.working.export()
        clock.advance()
        chat.update(receipt.id, text="I live in Porto.").wait()
        assert [fact.object for fact in chat.facts.list(predicate="lives in")] == ["Porto"]
        clock.advance()
        chat.working.import_(exported).wait()
        assert [fact.object for fact in chat.facts.list(predicate="lives in")] == ["Lisbon"]


def _without(*path: Any) -> Callable[[dict[str, Any]], None]:
    def damage(value: Any) -> None:
        for step in path[:-1]:
            value = value[step]
        del value[path[-1]]

    return damage


def _with(*path: Any) -> Callable[[dict[str, Any]], None]:
    def damage(value: Any) -> None:
        for step in path[:-2]:
            value = value[step]
        value[path[-2]] = path[-1]

    return damage


DAMAGES: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_without("format"), "not the export of a workbench"),
    (_with("format", "rememo-export"), "not the export of a workbench"),
    (_with("version", 2), "upgrade rememo"),
    (_with("version", "1"), "damaged"),
    (_with("version", True), "damaged"),
    (_without("version"), "damaged"),
    (_with("extra", []), "unknown part 'extra'"),
    (_without("messages"), "messages is no list"),
    (_with("context", {}), "context is no list"),
    (_with("messages", 0, "text"), r"messages\[0\].*mapping"),
    (_with("messages", 0, "text", 3), r"messages\[0\].*text"),
    (_with("messages", 0, "text", "a\x00"), "NUL"),
    (_without("messages", 0, "text"), "no text"),
    (_with("messages", 0, "colour", "red"), "colour"),
    (_with("messages", 1, "id", ""), "id is empty"),
    (_with("messages", 0, "data", []), "data must be a mapping"),
    (_with("messages", 0, "data", "role", 3), "role"),
    (_with("messages", 0, "data", "tool_calls", "x"), "tool_calls"),
    (_with("messages", 0, "metadata", {"a": 2**70}), "64 bits"),
    (_with("messages", 0, "created_at", "yesterday"), "ISO 8601"),
    (_with("messages", 0, "created_at", "2026-05-01T12:00:00"), "time zone"),
    (_with("messages", 0, "occurred_at", 3), "occurred_at"),
    (_with("messages", 0, "pinned", "yes"), "pinned"),
    (_with("messages", 0, "trust", 7), "trust"),
    (_with("messages", 0, "importance", -1), "importance"),
    (_with("messages", 0, "labels", {"tenant": "x"}), "tenant"),
    (_with("messages", 0, "labels", {"user": 3}), "user"),
    (_with("messages", 0, "labels", "user"), "mapping"),
    (lambda value: value["messages"].append(value["messages"][0]), "twice"),
    (lambda value: value["context"].append(value["context"][0]), "twice"),
    (_with("actions", 0, "data", "success", "yes"), "success"),
    (_with("actions", 0, "data", "duration", "long"), "duration"),
    (_without("actions", 0, "data", "tool"), "tool"),
    (_with("thoughts", 0, "data", "step", "GUESS"), "step"),
    (_with("todos", 0, "data", "status", "maybe"), "status"),
    (_with("todos", 0, "data", "priority", 99), "priority"),
    (_with("todos", 0, "data", "due", "soon"), "due"),
    (_without("context", 0, "value"), "no value"),
    (_with("context", 0, "name", ""), "name is empty"),
    (_with("limits", {}), "limits"),
    (_with("limits", "max_actions", -1), "max_actions"),
    (_with("room_limits", {"max_messages": 1}), "limits"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_what_is_damaged_foreign_or_newer_changes_nothing(
    memory: Memory, damage: Callable[[dict[str, Any]], None], message: str
):
    room = memory.scope(room="r")
    exported = filled(room)
    room.messages.add("user", "said since")
    before = room.working.export()
    wrong = copy.deepcopy(exported)
    damage(wrong)
    with pytest.raises(InvalidInput, match=message):
        room.working.import_(wrong)
    assert room.working.export() == before


def test_what_is_no_export_at_all(memory: Memory):
    wrong: list[Any] = [None, 3, "rememo-working", [], {}, b"{}"]
    for value in wrong:
        with pytest.raises(InvalidInput, match="not the export of a workbench"):
            memory.working.import_(value)
    exported = filled(memory)
    with pytest.raises(ReadOnly):
        memory.as_of(memory.snapshot("s")).working.import_(exported)
    with memory.batch() as batch, pytest.raises(InvalidInput, match="batch"):
        batch.working.import_(exported)
    assert memory.as_of("s").working.export() == exported


LABELS = st.dictionaries(st.sampled_from(["agent", "user"]), st.sampled_from(["x", "y"]), max_size=2)
WORDS = st.sampled_from(["a cat", "b", "Lisbon", "é", "long " * 30])
SPANS = st.none() | st.integers(-5, 5).map(lambda hours: START + timedelta(hours=hours))
STEPS = st.one_of(
    st.tuples(
        st.just("message"), st.sampled_from(["user", "system", "assistant"]), WORDS, METADATA, SPANS, st.booleans()
    ),
    st.tuples(st.just("call"), st.sampled_from(["c1", "c2"])),
    st.tuples(st.just("result"), st.sampled_from(["c1", "c2"])),
    st.tuples(st.just("action"), WORDS, JSON, st.booleans()),
    st.tuples(st.just("thought"), st.sampled_from(["THINK", "ACT", "OBSERVE", "FINAL"]), WORDS),
    st.tuples(st.just("todo"), WORDS, st.integers(0, 10)),
    st.tuples(st.just("value"), WORDS, JSON),
    st.tuples(st.just("limit"), st.integers(1, 9)),
    st.tuples(st.just("wait"), st.integers(0, 9)),
    st.tuples(st.just("done")),
    st.tuples(st.just("delete")),
)


def do(memory: Memory, clock: ManualClock, step: tuple[Any, ...]) -> None:
    """Do one thing to a workbench."""
    working = memory.working
    match step:
        case ("message", role, text, metadata, at, pinned):
            working.messages.add(role, text, metadata=metadata, at=at, pinned=pinned)
        case ("call", id):
            working.messages.add("assistant", "", tool_calls=[{"id": id}])
        case ("result", id):
            working.messages.add("tool", "so", tool_call_id=id)
        case ("action", tool, result, success):
            working.actions.add(tool[:20], result=result, success=success)
        case ("thought", kind, text):
            working.think(text, step=kind)
        case ("todo", text, priority):
            last = working.todos.list()
            working.todos.add(text, priority=priority, parent=last[-1].id if last else None)
        case ("value", name, value):
            working.context.set(name, value)
        case ("limit", most):
            working.limit(max_thoughts=most)
        case ("wait", seconds):
            clock.advance(seconds)
        case ("done",) if working.todos.list():
            working.todos.done(working.todos.list()[0].id)
        case ("delete",) if memory.list():
            memory.delete(memory.list()[0].id)
        case _:
            pass


@settings(max_examples=60)
@given(st.lists(st.tuples(LABELS, STEPS), max_size=14), st.lists(st.tuples(LABELS, STEPS), max_size=6))
def test_whatever_is_on_a_workbench_arrives(
    before: list[tuple[dict[str, str], tuple[Any, ...]]], after: list[tuple[dict[str, str], tuple[Any, ...]]]
):
    clock = ManualClock()
    with (
        Memory(":memory:", embedder=None, settings=QUIET, clock=clock) as memory,
        Memory(":memory:", embedder=None, settings=QUIET, clock=clock) as other,
    ):
        for labels, step in before:
            do(memory.scope(room="r", **labels), clock, step)
        working = memory.scope(room="r").working
        exported = working.export()
        assert json.loads(json.dumps(exported)) == exported
        there = other.scope(room="s").working
        there.import_(json.loads(json.dumps(exported)))
        assert there.export() == exported
        # And back over whatever has been done here since.
        for labels, step in after:
            do(memory.scope(room="r", **labels), clock, step)
        since = working.export()
        receipt = working.import_(exported)
        assert working.export() == exported
        memory.undo(receipt)
        assert working.export() == since
        assert memory.verify().ok
