"""Flows: steps, data and an end, user by user."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from rememo import AsyncMemory, Memory
from rememo.errors import AlreadyExists, InvalidInput, InvalidStep, NotFound, Paused, ReadOnly, VersionConflict
from rememo.testing.clock import START, ManualClock
from rememo.working.flow_state import FlowState
from rememo.working.flows import Flow

STEPS = ["name", "tone", "limits", "review", "done"]
HOUR = 3_600


@pytest.fixture
def flow(memory: Memory) -> Flow:
    return memory.flow("agent_creation", steps=STEPS)


def held(flow: Flow, user: str = "ana") -> FlowState:
    state = flow.get(user)
    assert state is not None
    return state


# ---- start, get, set, clear


@pytest.mark.requirement("flow.start-get-set-clear", "flow.fields")
def test_a_flow_is_started_read_changed_and_cleared(flow: Flow, clock: ManualClock):
    assert flow.get("ana") is None
    begun = flow.start("ana", data={"profile": {"language": "pt"}})
    assert begun == held(flow)
    assert (begun.user, begun.step, begun.active, begun.paused) == ("ana", "name", True, False)
    assert begun.data == {"profile": {"language": "pt"}}
    assert (begun.started_at, begun.updated_at, begun.expires_at) == (START, START, START + timedelta(hours=24))
    clock.advance(60)
    moved = flow.set("ana", step="tone", data={"profile": {"name": "Bo"}, "tags": ["a"]})
    assert moved == held(flow)
    assert moved.step == "tone"
    assert moved.data == {"profile": {"language": "pt", "name": "Bo"}, "tags": ["a"]}
    assert (moved.started_at, moved.updated_at) == (START, START + timedelta(seconds=60))
    assert moved.version == begun.version + 1
    assert flow.set("ana", data={"profile": {"language": None}, "tags": ["b"]}).data == {
        "profile": {"name": "Bo"},
        "tags": ["b"],
    }
    assert flow.get("bo") is None
    assert flow.clear("ana")
    assert not flow.clear("ana")
    assert flow.get("ana") is None
    assert flow.start("ana").version > moved.version


def test_what_is_read_is_a_copy(flow: Flow):
    given: dict[str, Any] = {"tags": ["a"]}
    state = flow.start("ana", data=given)
    for data in (given, state.data, held(flow).data):
        data["tags"].append("b")
        assert held(flow).data == {"tags": ["a"]}


@pytest.mark.requirement("flow.start-get-set-clear")
def test_a_second_start_is_refused_unless_it_is_meant(flow: Flow):
    flow.start("ana", data={"a": 1})
    flow.advance("ana")
    flow.pause("ana")
    with pytest.raises(AlreadyExists, match=r"running for 'ana' already.*restart=True"):
        flow.start("ana")
    again = flow.start("ana", step="tone", restart=True)
    assert (again.step, again.data, again.paused) == ("tone", {}, False)


def test_an_expected_version(flow: Flow):
    state = flow.start("ana")
    flow.set("ana", data={"a": 1}, expected_version=state.version)
    for change in (
        lambda: flow.set("ana", data={"a": 2}, expected_version=state.version),
        lambda: flow.advance("ana", expected_version=state.version),
    ):
        with pytest.raises(VersionConflict, match=f"at version {state.version + 1}, not {state.version}"):
            change()
    assert held(flow).data == {"a": 1}


def test_states_are_kept_apart_by_flow_and_scope(memory: Memory, flow: Flow):
    flow.start("ana")
    assert memory.flow("another", steps=STEPS).get("ana") is None
    assert memory.scope(room="r").flow("agent_creation", steps=STEPS).get("ana") is None
    assert memory.scope(tenant="t").flow("agent_creation", steps=STEPS).get("ana") is None
    assert memory.kv.keys() == []
    assert memory.count() == 0

    own = memory.scope(user="ana").flow("agent_creation", steps=STEPS)
    assert own.get() == flow.get("ana")
    assert own.advance().step == "tone"
    flow.start("bo")
    assert [state.user for state in own.active()] == ["ana"]
    with pytest.raises(InvalidInput, match="bound to user 'ana'"):
        own.get("bo")
    with pytest.raises(InvalidInput, match="needs a user"):
        flow.get()


# ---- steps


@pytest.mark.requirement("flow.progress")
def test_steps_in_order(flow: Flow):
    flow.start("ana")
    assert flow.steps == tuple(STEPS)
    assert flow.progress("ana") == (1, 5)
    assert flow.advance("ana", data={"name": "Bo"}).step == "tone"
    assert flow.advance("ana").step == "limits"
    assert flow.progress("ana") == (3, 5)
    assert flow.set("ana", step="name").step == "name"
    flow.set("ana", step="done")
    with pytest.raises(InvalidStep, match=r"at its last step 'done'; clear\(\)"):
        flow.advance("ana", data={"lost": True})
    assert held(flow).data == {"name": "Bo"}
    for change in (lambda: flow.set("ana", step="nmae", data={"a": 1}), lambda: flow.start("bo", step="nmae")):
        with pytest.raises(InvalidStep, match="no step 'nmae'; its steps are name, tone, limits, review, done"):
            change()
    assert held(flow).data == {"name": "Bo"}
    assert flow.get("bo") is None


@pytest.mark.requirement("flow.progress")
def test_allowed_transitions(memory: Memory):
    flow = memory.flow("f", steps=STEPS, transitions={"name": ["tone"], "tone": ["name", "review"], "done": []})
    flow.start("ana")
    with pytest.raises(InvalidStep, match="from step 'name' to 'limits'; from there it goes to tone"):
        flow.set("ana", step="limits", data={"a": 1})
    assert held(flow).data == {}
    assert flow.set("ana", step="name", data={"a": 1}).step == "name"  # staying is no move
    flow.advance("ana")
    with pytest.raises(InvalidStep, match="from there it goes to name, review"):
        flow.advance("ana")
    flow.set("ana", step="review")
    assert flow.set("ana", step="limits").step == "limits"  # not named: anywhere
    flow.set("ana", step="done")
    with pytest.raises(InvalidStep, match="goes to nowhere"):
        flow.set("ana", step="name")


def test_a_step_that_is_declared_no_more(memory: Memory, flow: Flow):
    flow.start("ana", step="review")
    later = memory.flow("agent_creation", steps=["name", "done"])
    assert held(later).step == "review"
    for ask in (later.progress, later.advance):
        with pytest.raises(InvalidStep, match="stands at step 'review', which is not declared any more"):
            ask("ana")
    assert later.set("ana", data={"a": 1}).data == {"a": 1}
    assert later.set("ana", step="done").step == "done"


# ---- models


class Limits(BaseModel):
    model_config = ConfigDict(extra="forbid")
    daily: int
    monthly: int = 100
    words: list[str] = []


@dataclass
class Tone:
    warmth: float
    humour: float


@pytest.fixture
def checked(memory: Memory) -> Flow:
    return memory.flow("checked", steps=STEPS, models={"name": str, "tone": Tone, "limits": Limits})


@pytest.mark.requirement("flow.start-get-set-clear")
def test_data_of_a_step_fits_its_model(checked: Flow):
    checked.start("ana", data={"other": {"free": True}})
    with pytest.raises(
        InvalidInput, match="data of step 'name' of flow 'checked' does not fit: Input should be a valid s"
    ):
        checked.set("ana", data={"name": 7})
    with pytest.raises(InvalidInput, match="data of step 'name'"):
        checked.advance("ana")
    checked.advance("ana", data={"name": "Bo"})

    checked.set("ana", data={"tone": {"warmth": 0.5}})  # gathered bit by bit
    with pytest.raises(InvalidInput, match="'tone' of flow 'checked' does not fit: humour: Field required"):
        checked.advance("ana")
    with pytest.raises(InvalidInput, match="warmth: Input should be a valid number"):
        checked.set("ana", data={"tone": {"warmth": "0.9"}})
    assert checked.set("ana", step="name").step == "name"  # going back asks for nothing
    checked.advance("ana")
    checked.advance("ana", data={"tone": {"humour": 1}})

    with pytest.raises(InvalidInput, match=r"'limits' .* words\.1: Input should be a valid string"):
        checked.set("ana", data={"limits": {"daily": 1, "words": ["a", 2]}})
    with pytest.raises(InvalidInput, match="weekly: Extra inputs"):
        checked.set("ana", data={"limits": {"weekly": 1}})
    state = checked.advance("ana", data={"limits": Limits(daily=5)})
    assert state.data == {
        "other": {"free": True},
        "name": "Bo",
        "tone": {"warmth": 0.5, "humour": 1},
        "limits": {"daily": 5, "monthly": 100, "words": []},
    }


def test_a_refused_change_changes_nothing(checked: Flow):
    begun = checked.start("ana", data={"name": "Bo"})
    for change in (
        lambda: checked.set("ana", data={"name": 1, "other": 1}),
        lambda: checked.set("ana", step="nowhere", data={"other": 1}),
        lambda: checked.set("ana", data={"other": object()}),
        lambda: checked.set("ana", data={"limits": object()}),
        lambda: checked.set("ana", data={"other": "x" * 2_000_000}),
        lambda: checked.set("ana", data=[1]),  # pyright: ignore[reportArgumentType] - that is the test
        lambda: checked.set("ana", data={1: 2}),  # pyright: ignore[reportArgumentType] - that is the test
        lambda: checked.set("ana"),
        lambda: checked.set("ana", data={"a": 1}, expected_version=0),
    ):
        with pytest.raises(InvalidInput):
            change()
    assert held(checked) == begun


def test_flows_that_cannot_be_meant(memory: Memory):
    cases: list[tuple[dict[str, Any], str]] = [
        ({"steps": []}, "has no steps"),
        ({"steps": ["a", "b", "a"]}, "step 'a' twice"),
        ({"steps": "abc"}, "steps must be a list"),
        ({"steps": ["a", 1]}, "a step must be text"),
        ({"steps": ["a"], "ttl": "soon"}, "ttl is not a duration"),
        ({"steps": ["a"], "transitions": {"b": ["a"]}}, "no step 'b'"),
        ({"steps": ["a"], "transitions": {"a": ["b"]}}, "no step 'b'"),
        ({"steps": ["a", "b"], "transitions": {"a": "b"}}, "transitions of 'a' must be a list"),
        ({"steps": ["a"], "transitions": ["a"]}, "transitions must be a mapping"),
        ({"steps": ["a"], "models": [int]}, "models must be a mapping"),
        ({"steps": ["a"], "sliding": "no"}, "sliding must be True or False"),
        ({"steps": ["a"], "models": {"b": int}}, "no step 'b'"),
        ({"steps": ["a"], "models": {"a": object()}}, "pydantic cannot check"),
    ]
    for parts, says in cases:
        with pytest.raises(InvalidInput, match=says):
            memory.flow("f", **parts)
    with pytest.raises(ReadOnly):
        memory.as_of(START).flow("f", steps=["a"])
    with memory.batch() as batch, pytest.raises(InvalidInput, match="cannot be part of a batch"):
        batch.flow("f", steps=["a"])


# ---- an end


@pytest.mark.requirement("flow.ttl")
def test_a_sliding_end_moves_with_every_read_and_change(memory: Memory, clock: ManualClock):
    flow = memory.flow("f", steps=STEPS)
    flow.start("ana")
    for _ in range(5):
        clock.advance(20 * HOUR)
        assert held(flow).expires_at == clock() + timedelta(hours=24)
    clock.advance(20 * HOUR)
    assert flow.advance("ana").expires_at == clock() + timedelta(hours=24)
    clock.advance(24 * HOUR)
    assert_gone(flow)


@pytest.mark.requirement("flow.ttl")
def test_a_fixed_end_stays_where_it_is(memory: Memory, clock: ManualClock):
    flow = memory.flow("f", steps=STEPS, ttl="90m", sliding=False)
    flow.start("ana")
    for number in range(17):
        clock.advance(300.123457)
        state = flow.set("ana", data={"n": number})
        assert state.expires_at == START + timedelta(minutes=90)
        assert held(flow).expires_at == START + timedelta(minutes=90)
    clock.advance(300)
    assert_gone(flow)
    assert memory.stats().keys == 0
    assert memory.maintain().reclaimed == 1
    assert memory.maintain().reclaimed == 0


def assert_gone(flow: Flow) -> None:
    assert flow.get("ana") is None
    assert flow.active(paused=True) == []
    uses: list[Callable[[str], object]] = [
        flow.resume, flow.pause, flow.advance, flow.progress, lambda user: flow.set(user, data={"a": 1}),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(NotFound, match="not running for 'ana': it was not started, was cleared or has expired"):
            use("ana")


@pytest.mark.requirement("flow.ttl", "flow.pause-resume")
def test_a_flow_that_expired_is_not_resumed_but_started_anew(flow: Flow, clock: ManualClock):
    old = flow.start("ana", data={"a": 1})
    flow.pause("ana")
    clock.advance(25 * HOUR)
    with pytest.raises(NotFound, match=r"has expired; start\(\) it"):
        flow.resume("ana")
    again = flow.start("ana")
    assert again.data == {}
    assert again.version > old.version


@pytest.mark.requirement("flow.ttl")
def test_looking_at_all_prolongs_none(flow: Flow, clock: ManualClock):
    for user in ("cy", "ana", "bo"):
        flow.start(user)
    flow.pause("bo")
    clock.advance(20 * HOUR)
    assert [state.user for state in flow.active()] == ["ana", "cy"]
    assert [state.user for state in flow.active(paused=True)] == ["ana", "bo", "cy"]
    assert held(flow, "cy").active
    clock.advance(5 * HOUR)
    assert [state.user for state in flow.active(paused=True)] == ["cy"]


# ---- pausing and recovering


@pytest.mark.requirement("flow.pause-resume")
def test_a_paused_flow_rests_until_it_is_resumed(flow: Flow):
    flow.start("ana", data={"a": 1})
    flow.advance("ana")
    paused = flow.pause("ana")
    assert (paused.paused, paused.active, paused.step, paused.data) == (True, False, "tone", {"a": 1})
    assert flow.pause("ana") == paused == held(flow)
    for change in (lambda: flow.set("ana", data={"a": 2}), lambda: flow.advance("ana")):
        with pytest.raises(Paused, match=r"paused at step 'tone'; resume\(\) it first"):
            change()
    assert flow.progress("ana") == (2, 5)
    resumed = flow.resume("ana")
    assert (resumed.active, resumed.step, resumed.data) == (True, "tone", {"a": 1})
    assert flow.resume("ana") == resumed


@pytest.mark.requirement("flow.recover")
def test_an_exception_in_a_block_pauses_or_clears_and_is_raised_on(flow: Flow):
    with flow.run("ana") as state:
        assert state.step == "name"
        flow.advance("ana", data={"name": "Bo"})
    assert (held(flow).step, held(flow).active) == ("tone", True)

    failure = RuntimeError("the model is down")
    with pytest.raises(RuntimeError) as caught, flow.run("ana"):  # noqa: PT012 - the block is what is tested
        flow.set("ana", data={"kept": True})
        raise failure
    assert caught.value is failure
    assert held(flow).paused
    assert held(flow).data == {"name": "Bo", "kept": True}

    with flow.run("ana") as state:
        assert (state.step, state.active) == ("tone", True)
    with pytest.raises(KeyboardInterrupt), flow.run("ana", on_error="clear"):
        raise KeyboardInterrupt
    assert flow.get("ana") is None

    for on_error in ("clear", "pause"):
        with pytest.raises(RuntimeError), flow.run("ana", on_error=on_error):  # noqa: PT012 - the block is what is tested
            flow.clear("ana")
            raise failure
        assert flow.get("ana") is None
    with pytest.raises(InvalidInput, match="on_error"), flow.run("ana", on_error="ignore"):  # pyright: ignore[reportArgumentType] - that is the test
        pass


@pytest.mark.requirement("flow.recover")
def test_what_went_wrong_inside_matters_more_than_what_goes_wrong_after_it(tmp_path: Path):
    memory = Memory(tmp_path / "m.db", embedder=None)
    flow = memory.flow("f", steps=["a"])
    with pytest.raises(ZeroDivisionError) as caught, flow.run("ana"):  # noqa: PT012 - the block is what is tested
        memory.close()
        raise ZeroDivisionError
    assert "could not pause: this memory was closed" in caught.value.__notes__[0]


def test_export_and_import_carry_states(memory: Memory, flow: Flow, clock: ManualClock, tmp_path: Path):
    flow.start("ana", data={"a": 1})
    state = flow.advance("ana")
    memory.export(tmp_path / "export.jsonl")
    with Memory(":memory:", embedder=None, clock=clock) as other:
        other.import_(tmp_path / "export.jsonl")
        assert held(other.flow("agent_creation", steps=STEPS)) == state


def test_the_async_twin(tmp_path: Path):
    async def run() -> None:
        async with AsyncMemory(tmp_path / "m.db", embedder=None) as memory:
            flow = await memory.flow("f", steps=STEPS)
            await flow.start("ana")
            await asyncio.gather(*(flow.set("ana", data={str(n): n}) for n in range(20)))
            state = await flow.get("ana")
            assert state is not None
            assert state.data == {str(n): n for n in range(20)}
            assert flow.steps == tuple(STEPS)
            async with flow.run("ana") as state:
                assert state.step == "name"
                await flow.advance("ana")
            assert await flow.progress("ana") == (2, 5)
            with pytest.raises(RuntimeError, match="no"):
                async with flow.run("ana"):
                    raise RuntimeError("no")
            assert [state.paused for state in await flow.active(paused=True)] == [True]

            async def hang() -> None:
                async with flow.run("bo", on_error="clear"):
                    begun.set()
                    await asyncio.Event().wait()

            begun = asyncio.Event()
            hanging = asyncio.create_task(hang())
            await begun.wait()
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            assert await flow.get("bo") is None

    asyncio.run(run())
