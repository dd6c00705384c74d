"""Flows over HTTP: the client declares the flow with every request; the server keeps the states."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from rememo.client.transport import Transport
from rememo.client.typed import remote_view
from rememo.errors import VersionConflict
from rememo.model.times import to_seconds
from rememo.working.flow_state import FlowState
from rememo.working.flows import Flow

_MOST_TRIES: Final = 1_000


class ClientFlow(Flow):
    """One process of several steps and the states of its users within a view.

    Data of steps that have a model is checked here, since a type cannot be sent; each such change is made to the state
    that was checked, and tried again when it has moved on.
    """

    def __init__(
        self,
        transport: Transport,
        name: str,
        *,
        steps: Sequence[str],
        ttl: float | str | timedelta = "24h",
        sliding: bool = True,
        transitions: Mapping[str, Iterable[str]] | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> None:
        """Declare the flow."""
        view = remote_view(transport)
        view.need_present()
        super().__init__(view, name, steps=steps, ttl=ttl, sliding=sliding, transitions=transitions, models=models)
        self._transport = transport
        self._lasting = {"ttl": to_seconds(ttl, "ttl"), "sliding": sliding}
        self._whole = {
            "steps": list(self.steps),
            "transitions": {step: sorted(after) for step, after in self._allowed.items()} or None,
            **self._lasting,
        }

    def start(
        self,
        user: str | None = None,
        *,
        step: str | None = None,
        data: Mapping[str, Any] | None = None,
        restart: bool = False,
    ) -> FlowState:
        """Start at the first step, or at the one given.

        Raises `AlreadyExists` when one is running or paused, unless `restart` replaces it.
        """
        changes = self._merge({}, self._changes(data))
        given = {
            "steps": list(self.steps),
            "step": None if step is None else self._check_step(step),
            "data": changes,
            "restart": restart,
            **self._lasting,
        }
        return self._ask("start", user, given)

    def get(self, user: str | None = None) -> FlowState | None:
        """Return a user's state; None when it was not started, cleared or expired."""
        return self._ask("get", user)

    def pause(self, user: str | None = None) -> FlowState:
        """Pause it and keep its data; a paused one stays as it is."""
        return self._ask("pause", user, self._lasting)

    def resume(self, user: str | None = None) -> FlowState:
        """Resume it; a running one stays as it is; raises `NotFound` when it has expired."""
        return self._ask("resume", user, self._lasting)

    def clear(self, user: str | None = None) -> bool:
        """Delete the state and its data; False when there was none."""
        return self._ask("clear", user)

    def progress(self, user: str | None = None) -> tuple[int, int]:
        """Return a user's progress: the number of the step, from 1, and the number of steps."""
        position = self._ask("progress", user, {"steps": list(self.steps)})
        return position.step, position.of

    def active(self, *, paused: bool = False) -> list[FlowState]:
        """Return the active states, by user; with `paused` the paused ones too. Renews no TTL."""
        return self._transport.call("flow.active", {"name": self.name, "paused": paused})

    def advance(
        self, user: str | None = None, *, data: Mapping[str, Any] | None = None, expected_version: int | None = None
    ) -> FlowState:
        """Merge data in, then move to the next step as declared; past the last one raises `InvalidStep`."""
        if self._models:
            return super().advance(user, data=data, expected_version=expected_version)
        given = {"data": self._changes(data), "expected_version": expected_version, **self._whole}
        return self._ask("advance", user, given)

    def _move(
        self,
        user: str | None,
        target: Callable[[FlowState], str | None],
        data: Mapping[str, Any] | None,
        expected: int | None,
    ) -> FlowState:
        changes = self._changes(data)
        for _ in range(_MOST_TRIES):
            held = self._need(self._user(user))
            moved = replace(held, data=self._merge(held.data, changes))
            step = target(moved)
            if step is not None and step != held.step and not held.paused:
                self._check_move(moved, step)
            given = {"step": step, "data": changes, "expected_version": expected or held.version, **self._whole}
            try:
                return self._ask("set", user, given)
            except VersionConflict:
                if expected is not None:
                    raise
        raise VersionConflict(f"{self._what} changed {_MOST_TRIES} times meanwhile; try again later")

    def _ask(self, verb: str, user: str | None, given: Mapping[str, Any] | None = None) -> Any:
        """Call an operation on one user's state: the user of the scope."""
        transport = replace(self._transport, scope=self._transport.scope.narrow(user=self._user(user)))
        return transport.call(f"flow.{verb}", {"name": self.name, **(given or {})})
