"""Working state: flows that live in key-value state, and typed values that are records."""

from datetime import timedelta

import pytest

from rememo.engine.view import view_of
from rememo.errors import AlreadyExists, NotFound, ReadOnly, VersionConflict
from rememo.memory import Memory
from rememo.testing.base import OpenMemory, Suite
from rememo.testing.clock import START, ManualClock
from rememo.working.flow_runs import end_flow, list_flow_runs

HOUR = 3_600


def _underway_flows(memory: Memory, **more: int) -> list[tuple[str | None, str | None, str, str]]:
    """Return who is in which flow."""
    flows = list_flow_runs(view_of(memory), **more)
    return [(flow.scope.agent, flow.scope.room, flow.name, flow.state.user) for flow in flows]


class FlowSuite(Suite):
    """`flow`."""

    @pytest.mark.requirement("flow.start-get-set-clear", "flow.fields", "flow.progress")
    def test_a_state_is_started_merged_moved_and_cleared(self, memory: Memory) -> None:
        flow = memory.flow("f", steps=["a", "b", "c"])
        begun = flow.start("ana", data={"x": {"y": 1}})
        assert (begun.user, begun.step, begun.active) == ("ana", "a", True)
        with pytest.raises(AlreadyExists):
            flow.start("ana")
        moved = flow.set("ana", step="b", data={"x": {"z": 2}}, expected_version=begun.version)
        assert moved == flow.get("ana")
        assert moved.data == {"x": {"y": 1, "z": 2}}
        with pytest.raises(VersionConflict):
            flow.set("ana", data={}, expected_version=begun.version)
        assert flow.progress("ana") == (2, 3)
        assert flow.pause("ana").paused
        assert [state.user for state in flow.active()] == []
        assert flow.resume("ana").step == "b"
        assert flow.clear("ana")
        assert not flow.clear("ana")
        assert flow.get("ana") is None
        assert flow.start("ana").version > moved.version

    @pytest.mark.requirement("flow.start-get-set-clear")
    def test_flows_are_found_within_a_view_and_nothing_else(self, memory: Memory, clock: ManualClock) -> None:
        helper = memory.scope(agent="helper", room="chat")
        memory.kv.set("flows", 1)
        memory.scope(user="ana").kv.set("flows", 1)
        memory.flow("a", steps=["x"], ttl=HOUR).start("ana")
        memory.flow("a", steps=["x"], ttl=2 * HOUR).start("bo")
        helper.flow("b", steps=["x"], ttl=2 * HOUR).start("ana")
        memory.scope(tenant="other").flow("a", steps=["x"]).start("eve")
        everything = [("helper", "chat", "b", "ana"), (None, None, "a", "ana"), (None, None, "a", "bo")]
        assert sorted(_underway_flows(memory), key=str) == sorted(everything, key=str)
        assert _underway_flows(memory, limit=2) + _underway_flows(memory, limit=2, offset=2) == _underway_flows(memory)
        assert _underway_flows(helper) == everything[:1]
        assert _underway_flows(memory.scope(user="bo")) == everything[2:]
        assert _underway_flows(memory.scope(room="elsewhere")) == []
        clock.advance(HOUR + 1)
        assert everything[1] not in _underway_flows(memory), "it has expired"
        assert end_flow(view_of(memory), "a", "bo")
        assert not end_flow(view_of(memory), "a", "bo")
        assert _underway_flows(memory) == everything[:1]
        with pytest.raises(ReadOnly):
            _underway_flows(memory.as_of(clock()))

    @pytest.mark.requirement("flow.start-get-set-clear")
    def test_two_who_opened_the_store_see_one_state(self, memory: Memory, open_memory: OpenMemory) -> None:
        self.need_reopening()
        first = memory.flow("f", steps=["a", "b"])
        second = open_memory().flow("f", steps=["a", "b"])
        first.start("ana")
        second.set("ana", data={"there": 1})
        first.set("ana", data={"here": 1})
        assert second.advance("ana") == first.get("ana")
        state = first.get("ana")
        assert state is not None
        assert state.data == {"there": 1, "here": 1}

    @pytest.mark.requirement("flow.ttl")
    def test_a_fixed_end_stays_and_a_sliding_one_moves_but_not_by_listing(
        self, memory: Memory, clock: ManualClock
    ) -> None:
        fixed = memory.flow("fixed", steps=["a", "b"], sliding=False)
        sliding = memory.flow("sliding", steps=["a", "b"])
        for flow in (fixed, sliding):
            flow.start("ana")
        sliding.start("bo")
        clock.advance(20 * HOUR)
        assert fixed.advance("ana").expires_at == START + timedelta(hours=24)
        assert [state.user for state in sliding.active()] == ["ana", "bo"]
        state = sliding.get("ana")
        assert state is not None
        assert state.expires_at == START + timedelta(hours=44)
        clock.advance(4 * HOUR)
        assert fixed.active() == []
        assert [state.user for state in sliding.active()] == ["ana"]
        for gone in (lambda: fixed.resume("ana"), lambda: sliding.set("bo", data={"x": 1})):
            with pytest.raises(NotFound):
                gone()
        assert memory.maintain().reclaimed == 2
        assert [state.user for state in sliding.active()] == ["ana"]

    def test_states_are_kept_apart(self, memory: Memory) -> None:
        flow = memory.flow("f", steps=["a"])
        flow.start("ana")
        flow.start("*")
        for other in (memory.scope(room="r"), memory.scope(agent="g"), memory.scope(tenant="t")):
            assert other.flow("f", steps=["a"]).active() == []
        assert memory.flow("other", steps=["a"]).active() == []
        assert [state.user for state in flow.active()] == ["*", "ana"]
        assert memory.scope(user="ana").flow("f", steps=["a"]).get() == flow.get("ana")
        assert flow.clear("*")
        assert [state.user for state in flow.active()] == ["ana"]


class TypedSuite(Suite):
    """`typed`."""

    @pytest.mark.requirement("typed.generic", "typed.thread-safe")
    def test_a_value_is_one_for_all_who_opened_the_store(self, memory: Memory, open_memory: OpenMemory) -> None:
        box = memory.typed("numbers", [], type=list[int])
        other = (open_memory() if self.reopens else memory).typed("numbers", [], type=list[int])
        assert (box.get(), box.version) == ([], 0)
        assert other.update(lambda value: [*value, 1]) == [1]
        assert box.update(lambda value: [*value, 2]) == [1, 2]
        assert (other.get(), other.version) == ([1, 2], 2)
        with pytest.raises(VersionConflict):
            box.set([], expected_version=1)
        assert other.undo() == [1]
        assert [version.value for version in box.history()] == [[1], [1, 2], [1]]
        assert box.undo() == []
        assert (other.get(), other.version) == ([], 0)

    @pytest.mark.requirement("typed.thread-safe")
    def test_a_value_that_came_in_between_is_seen(self, memory: Memory) -> None:
        box, tries = memory.typed("n", 0), 0

        def slow(value: int) -> int:
            nonlocal tries
            tries += 1
            if tries <= 2:  # once while there is nothing, once while there is something
                memory.typed("n", 0).set(tries * 10)
            return value + 1

        assert box.update(slow) == 21
        assert tries == 3

    def test_its_past_is_that_of_a_record(self, memory: Memory, clock: ManualClock) -> None:
        box = memory.scope(user="ana").typed("n", 0)
        first = box.set(1).recorded_at
        memory.snapshot("first")
        clock.advance(60)
        box.set(2)
        assert box.get(known_at=first) == 1
        assert memory.as_of("first").scope(user="ana").typed("n", 0).get() == 1
        memory.rollback("first")
        assert box.get() == 1
        assert memory.typed("n", 0).get() == 0
        assert memory.scope(user="ana").clear() == 1
        assert box.get() == 0
