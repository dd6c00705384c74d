"""Flows and typed values against simple models of themselves, by any sequence of calls."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rememo import Memory
from rememo.errors import AlreadyExists, InvalidStep, NotFound, Paused
from rememo.testing.clock import ManualClock

STEPS = ["a", "b", "c"]
DAY = timedelta(hours=24)
users = st.sampled_from(["ana", "bo"])
datas = st.dictionaries(
    st.sampled_from("xy"), st.none() | st.integers(0, 3) | st.dictionaries(st.sampled_from("pq"), st.integers(0, 3))
)


@dataclass
class Model:
    """What a flow's state should be."""

    ends: datetime
    place: int = 0
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    paused: bool = False

    def merge(self, data: dict[str, Any]) -> None:
        for name, value in data.items():
            if value is None:
                self.data.pop(name, None)
            elif isinstance(value, dict):
                below = self.data.get(name)
                self.data[name] = (below if isinstance(below, dict) else {}) | value
            else:
                self.data[name] = value


class FlowMachine(RuleBasedStateMachine):
    @initialize(sliding=st.booleans())
    def begin(self, sliding: bool) -> None:
        self.clock = ManualClock()
        self.memory = Memory(":memory:", embedder=None, clock=self.clock)
        self.flow = self.memory.flow("f", steps=STEPS, sliding=sliding)
        self.sliding = sliding
        self.models: dict[str, Model] = {}

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()

    def alive(self, user: str) -> Model | None:
        """Return the model of a state that is read, and prolonged by it."""
        model = self.models.get(user)
        if model is None or model.ends <= self.clock():
            return None
        if self.sliding:
            model.ends = self.clock() + DAY
        return model

    @rule(user=users, data=datas, restart=st.booleans())
    def start(self, user: str, data: dict[str, Any], restart: bool) -> None:
        there = user in self.models and self.models[user].ends > self.clock()
        if there and not restart:
            with pytest.raises(AlreadyExists):
                self.flow.start(user, data=data)
            return
        self.flow.start(user, data=data, restart=restart)
        self.models[user] = Model(self.clock() + DAY)
        self.models[user].merge(data)

    @rule(user=users, data=datas, step=st.none() | st.sampled_from(STEPS))
    def set(self, user: str, data: dict[str, Any], step: str | None) -> None:
        model = self.alive(user)
        if model is None or model.paused:
            with pytest.raises(NotFound if model is None else Paused):
                self.flow.set(user, data=data, step=step)
            return
        self.flow.set(user, data=data, step=step)
        model.merge(data)
        model.place = model.place if step is None else STEPS.index(step)

    @rule(user=users)
    def advance(self, user: str) -> None:
        model = self.alive(user)
        if model is None or model.paused or model.place == len(STEPS) - 1:
            with pytest.raises(NotFound if model is None else Paused if model.paused else InvalidStep):
                self.flow.advance(user)
            return
        self.flow.advance(user)
        model.place += 1

    @rule(user=users, rest=st.booleans())
    def pause_or_resume(self, user: str, rest: bool) -> None:
        model, change = self.alive(user), self.flow.pause if rest else self.flow.resume
        if model is None:
            with pytest.raises(NotFound):
                change(user)
            return
        assert change(user).paused == rest
        model.paused = rest

    @rule(user=users)
    def clear(self, user: str) -> None:
        there = user in self.models and self.models.pop(user).ends > self.clock()
        assert self.flow.clear(user) == there

    @rule(user=users, fails=st.booleans(), on_error=st.sampled_from(["clear", "pause"]))
    def run(self, user: str, fails: bool, on_error: Any) -> None:
        if self.alive(user) is None:
            self.models[user] = Model(self.clock() + DAY)
        self.models[user].paused = fails
        with suppress(ZeroDivisionError), self.flow.run(user, on_error=on_error):
            _ = 1 // (not fails)
        if fails and on_error == "clear":
            del self.models[user]

    # Longer than what a read must differ by to move a sliding end.
    @rule(hours=st.integers(2, 30), sweep=st.booleans())
    def wait(self, hours: int, sweep: bool) -> None:
        self.clock.advance(hours * 3_600)
        if sweep:
            self.memory.maintain()

    @rule(user=users)
    def look(self, user: str) -> None:
        model, state = self.alive(user), self.flow.get(user)
        assert (model is None) == (state is None)
        if model is not None:
            assert self.flow.progress(user) == (model.place + 1, len(STEPS))

    @invariant()
    def every_state_is_as_the_models_say(self) -> None:
        if not hasattr(self, "memory"):
            return
        states = {
            state.user: (state.step, state.data, state.paused, state.expires_at)
            for state in self.flow.active(paused=True)
        }
        assert states == {
            user: (STEPS[model.place], model.data, model.paused, model.ends)
            for user, model in self.models.items()
            if model.ends > self.clock()
        }


class TypedMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.memory = Memory(":memory:", embedder=None, clock=self.clock)
        self.box = self.memory.typed("box", [0], type=list[int])
        self.stack: list[list[int]] = []
        self.past: list[tuple[datetime, list[int]]] = []
        self.versions: list[list[int]] = []

    def teardown(self) -> None:
        self.memory.close()

    @property
    def now(self) -> list[int]:
        return self.stack[-1] if self.stack else [0]

    def noted(self) -> None:
        """Keep what holds now, for later questions about the past."""
        self.clock.advance(1)
        self.past.append((self.clock(), self.now))
        self.clock.advance(1)

    @rule(value=st.lists(st.integers(0, 2), max_size=2))
    def set(self, value: list[int]) -> None:
        self.box.set(value)
        self.stack.append(value)
        self.versions.append(value)
        self.noted()

    @rule(more=st.lists(st.integers(0, 2), max_size=2))
    def update(self, more: list[int]) -> None:
        made = self.box.update(lambda held: held + more)
        assert made == self.now + more
        if more or not self.stack:
            self.stack.append(made)
            self.versions.append(made)
        self.noted()

    @rule()
    def undo(self) -> None:
        if not self.stack:
            with pytest.raises(NotFound):
                self.box.undo()
            return
        self.stack.pop()
        assert self.box.undo() == self.now
        if self.stack:
            self.versions.append(self.now)
        self.noted()

    @rule()
    def clear(self) -> None:
        assert self.box.clear() == bool(self.stack)
        self.stack.clear()
        self.noted()

    @invariant()
    def it_holds_what_the_model_holds(self) -> None:
        box = self.memory.typed("box", [0], type=list[int])
        assert self.box.get() == box.get() == self.now
        assert self.box.version == (len(self.versions) if self.stack else 0)
        assert [version.value for version in box.history()] == self.versions
        for moment, value in self.past:
            assert box.get(known_at=moment) == value


# What they show of requirements is marked at the plain tests beside them.
FlowMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TypedMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=20, deadline=None)
TestFlowMachine = FlowMachine.TestCase
TestTypedMachine = TypedMachine.TestCase
