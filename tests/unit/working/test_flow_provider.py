"""The flows provider: a user's step is part of a composed state, and never out of date in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory, Settings
from rememo.context.state import State
from rememo.testing.clock import ManualClock

STEPS = ["name", "voice", "check"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(tmp_path: Path, clock: ManualClock) -> Iterator[Memory]:
    settings = Settings(worker=False, durability="fast")
    with Memory(tmp_path / "m.db", embedder=None, clock=clock, settings=settings) as memory:
        yield memory


def flow_text(state: State) -> str:
    assert state.failures == ()
    return state.text


@pytest.mark.requirement("state.compose")
def test_a_state_tells_where_the_user_stands(memory: Memory):
    chat = memory.scope(user="alice", agent="helper", room="r")
    flow = memory.flow("agent_creation", steps=STEPS)
    assert "under way" not in flow_text(chat.compose("hello"))
    flow.start("bob")
    flow.start("alice", data={"name": {"first": "Rex\n- bob: step check"}})
    flow.advance("alice")
    state = chat.compose("hello")
    line = '- agent_creation: step voice, 2 of 3; so far: {"name":{"first":"Rex\\n- bob: step check"}}'
    assert line in flow_text(state)
    assert state.values["flows"].startswith("Recalled from memory")
    (data,) = state.data["flows"]
    assert (data["name"], data["step"], data["place"], data["of"], data["paused"]) == (
        "agent_creation", "voice", 2, 3, False
    )  # fmt: skip
    flow.pause("alice")
    assert "step voice, 2 of 3, paused;" in flow_text(chat.compose("hello"))
    group = memory.scope(agent="helper", room="group")
    assert "under way" not in flow_text(group.compose("hello"))
    assert "agent_creation" in flow_text(group.compose("hello", user="alice"))


def test_flows_of_the_agent_and_the_room_are_told_and_those_of_others_are_not(memory: Memory):
    places: dict[str, dict[str, Any]] = {
        "all": {}, "agents": {"agent": "helper"}, "rooms": {"room": "r"}, "both": {"agent": "helper", "room": "r"},
        "other agent": {"agent": "other"}, "other room": {"room": "s"},
    }  # fmt: skip
    for name, labels in places.items():
        memory.scope(**labels).flow(name, steps=STEPS).start("alice")
    memory.scope(tenant="other").flow("other tenant", steps=STEPS).start("alice")
    state = memory.scope(user="alice", agent="helper", room="r").compose("hello")
    assert [flow["name"] for flow in state.data["flows"]] == ["all", "agents", "rooms", "both"]


@pytest.mark.requirement("state.cache")
def test_whatever_becomes_of_a_flow_makes_a_state_old(memory: Memory, tmp_path: Path, clock: ManualClock):
    chat = memory.scope(user="alice", agent="helper", room="r")
    chat.compose("hello")
    flow = memory.flow("agent_creation", steps=STEPS, ttl=100, sliding=False)
    with Memory(tmp_path / "m.db", embedder=None, clock=clock) as other:
        theirs = other.flow("agent_creation", steps=STEPS, ttl=100, sliding=False)
        changes: list[Any] = [
            lambda: theirs.start("alice"),
            lambda: flow.advance("alice"),
            lambda: theirs.set("alice", data={"a": 1}),
            lambda: flow.pause("alice"),
            lambda: clock.advance(100),
            lambda: memory.flow("second", steps=STEPS),
            lambda: flow.start("alice"),
            lambda: theirs.clear("alice"),
        ]
        for number, change in enumerate(changes):
            chat.compose("hello")
            assert chat.compose("hello").cached, number
            change()
            assert not chat.compose("hello").cached, number
        flow.start("bob")
        assert chat.compose("hello").cached


def test_a_step_that_is_not_declared_any_more_and_a_view_of_the_past(memory: Memory, clock: ManualClock):
    chat = memory.scope(user="alice")
    memory.flow("f", steps=STEPS).start("alice")
    memory.flow("f", steps=["something", "else"])
    assert "- f: step name\n" in flow_text(chat.compose("hello")) + "\n"
    assert chat.compose("hello").data["flows"][0]["place"] is None
    past = chat.as_of(clock()).compose("hello")
    assert {"flows", "profile"} == {provider.name for provider in past.left_out if provider.reason == "no past"}
