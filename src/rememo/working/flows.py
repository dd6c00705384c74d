"""Flows: processes of several steps, each user's state kept until it expires."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Literal, Required, TypedDict, cast

from rememo.engine.view import View, ViewHolder
from rememo.errors import (
    AlreadyExists,
    InvalidInput,
    InvalidStep,
    NotFound,
    Paused,
    ReadOnly,
    RememoError,
    VersionConflict,
)
from rememo.model.check import check_flag, check_label, check_object, check_version, dump_json
from rememo.model.times import to_seconds
from rememo.runtime.retry import retry_on_conflict
from rememo.working.flow_state import FlowState, flow_space, flow_state
from rememo.working.merge_patch import merge_patch
from rememo.working.type_schema import PartialSchema

_SECOND = timedelta(seconds=1)


class FlowDeclaration(TypedDict, total=False):
    """What declares a flow: the named arguments of `Memory.flow`."""

    steps: Required[Sequence[str]]
    ttl: float | str | timedelta
    sliding: bool
    transitions: Mapping[str, Iterable[str]] | None
    models: Mapping[str, Any] | None


class Flow(ViewHolder):
    """One process of several steps and the states of its users within a view; safe for threads and processes.

    A view that is bound to a user reaches that user's state only, and needs not name the user.
    """

    def __init__(
        self,
        view: View,
        name: str,
        *,
        steps: Sequence[str],
        ttl: float | str | timedelta = "24h",
        sliding: bool = True,
        transitions: Mapping[str, Iterable[str]] | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = check_label(name, "name")
        self._what = f"flow {name!r}"
        if view.known_at is not None:
            raise ReadOnly("flows have no past and cannot be reached through a view of the past")
        view.need_no_batch(self._what)
        self._steps = _checked_steps(steps, self._what)
        self._ttl = timedelta(seconds=to_seconds(ttl, "ttl"))
        self._sliding = check_flag(sliding, "sliding")
        self._allowed = {
            self._check_step(step): frozenset(
                self._check_step(target) for target in _check_texts(after, f"transitions of {step!r}")
            )
            for step, after in _check_mapping(transitions, "transitions").items()
        }
        super().__init__(view)
        self._scope = scope = view.scope
        self._models: dict[str, PartialSchema] = {
            self._check_step(step): PartialSchema(kind, f"data of step {step!r} of {self._what}", view.engine.settings)
            for step, kind in _check_mapping(models, "models").items()
        }
        self._space = flow_space(scope, name)

    @property
    def name(self) -> str:
        """What it is called in its scope."""
        return self._name

    @property
    def steps(self) -> tuple[str, ...]:
        """The declared steps, in order."""
        return self._steps

    # ---- states

    def start(
        self,
        user: str | None = None,
        *,
        step: str | None = None,
        data: Mapping[str, Any] | None = None,
        restart: bool = False,
    ) -> FlowState:
        """Start at the first step, or at the one given.

        One that is running or paused already raises `AlreadyExists`; with `restart` it is replaced.
        """
        user, now = self._user(user), self._view.engine.now()
        replaces = check_flag(restart, "restart")
        changes = self._changes(data)
        state = FlowState(
            user=user,
            step=self._steps[0] if step is None else self._check_step(step),
            data=self._merge({}, changes),
            paused=False,
            started_at=now,
            updated_at=now,
            expires_at=now + self._ttl,
            version=0,
        )
        stored = self._store(state, now, expected=None if replaces else 0)
        if stored is None:
            raise AlreadyExists(
                f"{self._what} is running for {user!r} already; go on with it, clear() it, or start(restart=True)"
            )
        return stored

    def get(self, user: str | None = None) -> FlowState | None:
        """Return a user's state; None when it was not started, cleared or expired."""
        user = self._user(user)
        entry = self._view.engine.kv.get(self._scope.tenant, self._space, user, self._view.engine.now())
        return None if entry is None else flow_state(entry)

    def set(
        self,
        user: str | None = None,
        *,
        step: str | None = None,
        data: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> FlowState:
        """Merge data in, then move to a step; what is not given stays. Changes of others in between are kept.

        Mappings are merged field by field, and None takes a field away. Data of a step that has a model must fit it as
        far as it is given, and wholly when the flow moves on from that step. A step that is not declared or not allowed
        from here raises `InvalidStep`, a paused flow `Paused`, and one that is not there `NotFound`; with
        `expected_version` one with another version raises `VersionConflict`.
        """
        if step is None and data is None:
            raise InvalidInput("set() was given neither a step nor data to change")
        target = None if step is None else self._check_step(step)
        return self._move(user, lambda _: target, data, expected_version)

    def advance(
        self, user: str | None = None, *, data: Mapping[str, Any] | None = None, expected_version: int | None = None
    ) -> FlowState:
        """Merge data in, then move to the next step as declared; past the last one raises `InvalidStep`."""

        def following(state: FlowState) -> str:
            index = self._step_index(state) + 1
            if index == len(self._steps):
                raise InvalidStep(f"{self._what} of {state.user!r} is at its last step {state.step!r}; clear() ends it")
            return self._steps[index]

        return self._move(user, following, data, expected_version)

    def pause(self, user: str | None = None) -> FlowState:
        """Pause it and keep its data; a paused one stays as it is."""
        return self._change(user, lambda state: state if state.paused else replace(state, paused=True))

    def resume(self, user: str | None = None) -> FlowState:
        """Resume it; a running one stays as it is, one that has expired raises `NotFound`."""
        return self._change(user, lambda state: replace(state, paused=False) if state.paused else state)

    def clear(self, user: str | None = None) -> bool:
        """Delete the state and its data; False when there was none."""
        return self._view.engine.kv.delete(self._scope.tenant, self._space, self._user(user), self._view.engine.now())

    def progress(self, user: str | None = None) -> tuple[int, int]:
        """Return a user's progress: the number of the step, from 1, and the number of steps."""
        return self._step_index(self._need(self._user(user))) + 1, len(self._steps)

    def active(self, *, paused: bool = False) -> list[FlowState]:
        """Return the active states, by user; with `paused` the paused ones too. Renews no TTL."""
        entries = self._view.engine.kv.entries(self._scope.tenant, self._space, self._view.engine.now())
        states = [flow_state(entry) for entry in entries if self._scope.user in (None, entry.key)]
        return [state for state in states if paused or state.active]

    @contextmanager
    def run(self, user: str | None = None, *, on_error: Literal["clear", "pause"] = "pause") -> Generator[FlowState]:
        """Run a block with the state: it is started where there is none, resumed where it is paused.

        An exception inside pauses or clears the flow, as `on_error` says, and is raised on. Otherwise the flow stays as the block
        leaves it.
        """
        if on_error not in ("clear", "pause"):
            raise InvalidInput(f'on_error must be "clear" or "pause", not {on_error!r}')
        user = self._user(user)
        state = self.get(user)
        if state is None:
            try:
                state = self.start(user)
            except AlreadyExists:  # somebody was faster
                state = self._need(user)
        if state.paused:
            state = self.resume(user)
        try:
            yield state
        except BaseException as error:
            self._recover(user, on_error, error)
            raise

    def _recover(self, user: str, on_error: str, error: BaseException) -> None:
        try:
            if on_error == "clear":
                self.clear(user)
            else:
                self.pause(user)
        except NotFound:  # it was cleared inside the block, or has expired
            return
        except RememoError as failure:
            # What went wrong in the block matters more than what went wrong after it.
            error.add_note(f"{self._what} of {user!r} could not {on_error}: {failure}")

    # ---- changing

    def _move(
        self,
        user: str | None,
        target: Callable[[FlowState], str | None],
        data: Mapping[str, Any] | None,
        expected: int | None,
    ) -> FlowState:
        changes = self._changes(data)

        def change(state: FlowState) -> FlowState:
            if state.paused:
                raise Paused(f"{self._what} of {state.user!r} is paused at step {state.step!r}; resume() it first")
            moved = replace(state, data=self._merge(state.data, changes))
            step = target(moved)
            if step is None or step == state.step:
                return moved
            self._check_move(moved, step)
            return replace(moved, step=step)

        return self._change(user, change, expected)

    def _change(
        self, user: str | None, change: Callable[[FlowState], FlowState], expected: int | None = None
    ) -> FlowState:
        """Replace a state by what a function makes of it, atomically."""
        user = self._user(user)
        if expected is not None:
            check_version(expected)

        def prepare() -> tuple[FlowState, FlowState]:
            state = self._need(user)
            if expected is not None and state.version != expected:
                raise VersionConflict(
                    f"{self._what} of {user!r} is at version {state.version}, not {expected};"
                    " read it again and repeat the change"
                )
            return state, change(state)

        def write(states: tuple[FlowState, FlowState]) -> FlowState:
            state, changed = states
            if changed is state:
                return state
            now = self._view.engine.now()
            ends = now + self._ttl if self._sliding else state.expires_at
            if ends > now:
                stored = self._store(replace(changed, updated_at=now, expires_at=ends), now, expected=state.version)
                if stored is not None:
                    return stored
            raise VersionConflict(f"{self._what} of {user!r} changed or ended meanwhile")

        return retry_on_conflict(prepare, write, f"{self._what} of {user!r}")

    def _store(self, state: FlowState, now: datetime, *, expected: int | None) -> FlowState | None:
        value = {
            "step": state.step,
            "data": state.data,
            "paused": state.paused,
            "started_at": state.started_at.isoformat(),
            "updated_at": state.updated_at.isoformat(),
        }
        version = self._view.engine.kv.set(
            self._scope.tenant,
            self._space,
            state.user,
            dump_json(value),
            now,
            ttl=(state.expires_at - now) / _SECOND,
            sliding=self._sliding,
            expected=expected,
        )
        return None if version is None else replace(state, version=version)

    def _changes(self, data: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return checked data; values of a step's own model become JSON."""
        if data is None or not isinstance(data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            return self._check_object(data, "data")
        models = self._models
        return self._check_object(
            {step: models[step].plain(value) if step in models else value for step, value in data.items()}, "data"
        )

    def _merge(self, current: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        data = self._check_object(merge_patch(current, changes), f"data of {self._what}")
        for step in changes.keys() & self._models.keys() & data.keys():
            self._models[step].check(data[step], whole=False)
        return data

    def _check_object(self, value: object, field: str) -> dict[str, Any]:
        settings = self._view.engine.settings
        # One level less than allowed: the state around it is one.
        return check_object(value, field, max_bytes=settings.max_data_bytes, max_depth=settings.max_depth - 1)

    def _check_move(self, state: FlowState, step: str) -> None:
        allowed = self._allowed.get(state.step)
        if allowed is not None and step not in allowed:
            targets = ", ".join(step for step in self._steps if step in allowed) or "nowhere"
            raise InvalidStep(
                f"{self._what} of {state.user!r} cannot go from step {state.step!r} to {step!r}; from there it goes to {targets}"
            )
        model = self._models.get(state.step)
        if model is not None and self._steps.index(step) > self._step_index(state):
            model.check(state.data.get(state.step, {}), whole=True)

    # ---- looking up

    def _need(self, user: str) -> FlowState:
        state = self.get(user)
        if state is None:
            raise NotFound(
                f"{self._what} is not running for {user!r}: it was not started, was cleared or has expired; start() it"
            )
        return state

    def _user(self, user: str | None) -> str:
        if user is None and self._scope.user is None:
            raise InvalidInput(f"{self._what} needs a user: give user=, or bind the view to one")
        narrowed = self._scope.narrow(user=user).user
        return check_label(narrowed, "user")

    def _check_step(self, step: str) -> str:
        step = _step_name(step)
        if step not in self._steps:
            raise InvalidStep(f"{self._what} has no step {step!r}; its steps are {', '.join(self._steps)}")
        return step

    def _step_index(self, state: FlowState) -> int:
        if state.step not in self._steps:
            raise InvalidStep(
                f"{self._what} of {state.user!r} stands at step {state.step!r}, which is not declared any more;"
                " set(step=) moves it, clear() ends it"
            )
        return self._steps.index(state.step)


def _check_mapping(value: object, field: str) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidInput(f"{field} must be a mapping from steps, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value or {})


def _check_texts(value: object, field: str) -> list[Any]:
    """Return several texts; one alone is a collection of letters, and never meant."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{field} must be a list of steps, not {value!r}")
    return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - each is checked by its user


def _step_name(step: Any) -> Any:
    """Return a member of an `Enum` as text: its value, or its name where the value is none."""
    if isinstance(step, Enum):
        return step.value if isinstance(step.value, str) else step.name
    return step


def _checked_steps(value: object, what: str) -> tuple[str, ...]:
    steps = tuple(check_label(_step_name(step), "a step") for step in _check_texts(value, "steps"))
    if not steps:
        raise InvalidInput(f"{what} has no steps; name at least one")
    if len(set(steps)) < len(steps):
        twice = next(step for step, count in Counter(steps).items() if count > 1)
        raise InvalidInput(f"{what} has the step {twice!r} twice; steps need names of their own")
    return steps
