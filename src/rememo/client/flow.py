"""Flows over HTTP: the client declares the flow with every request; the server keeps the states."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from rememo.client.transport import Transport
from rememo.client.typed import remote_view
from rememo.runtime.retry import retry_on_conflict
from rememo.working.flow_state import FlowState
from rememo.working.flows import Flow, FlowDeclaration


class ClientFlow(Flow):
    """One process of several steps and the states of its users within a view.

    Data of steps that have a model is checked here, since a type cannot be sent; each such change is made to the state
    that was checked, and tried again when it has moved on.
    """

    def __init__(
        self,
        transport: Transport,
        name: str,
        **declaration: Unpack[FlowDeclaration],
    ) -> None:
        """Declare the flow."""
        view = remote_view(transport)
        view.need_present()
        super().__init__(view, name, **declaration)
        self._transport = transport
        self._expiry = {"ttl": self._ttl.total_seconds(), "sliding": self._sliding}
        self._declaration = {
            "steps": list(self.steps),
            "transitions": {step: sorted(after) for step, after in self._allowed.items()} or None,
            **self._expiry,
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
        arguments = {
            "steps": list(self.steps),
            "step": None if step is None else self._check_step(step),
            "data": changes,
            "restart": restart,
            **self._expiry,
        }
        return self._request("start", user, arguments)

    def get(self, user: str | None = None) -> FlowState | None:
        """Return a user's state; None when it was not started, cleared or expired."""
        return self._request("get", user)

    def pause(self, user: str | None = None) -> FlowState:
        """Pause it and keep its data; a paused one stays as it is."""
        return self._request("pause", user, self._expiry)

    def resume(self, user: str | None = None) -> FlowState:
        """Resume it; a running one stays as it is; raises `NotFound` when it has expired."""
        return self._request("resume", user, self._expiry)

    def clear(self, user: str | None = None) -> bool:
        """Delete the state and its data; False when there was none."""
        return self._request("clear", user)

    def progress(self, user: str | None = None) -> tuple[int, int]:
        """Return a user's progress: the number of the step, from 1, and the number of steps."""
        position = self._request("progress", user, {"steps": list(self.steps)})
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
        arguments = {"data": self._changes(data), "expected_version": expected_version, **self._declaration}
        return self._request("advance", user, arguments)

    def _move(
        self,
        user: str | None,
        target: Callable[[FlowState], str | None],
        data: Mapping[str, Any] | None,
        expected: int | None,
    ) -> FlowState:
        changes = self._changes(data)

        def prepare() -> tuple[FlowState, str | None]:
            state = self._need(self._user(user))
            moved = replace(state, data=self._merge(state.data, changes))
            step = target(moved)
            if step is not None and step != state.step and not state.paused:
                self._check_move(moved, step)
            return state, step

        def write(prepared: tuple[FlowState, str | None]) -> FlowState:
            state, step = prepared
            version = {"expected_version": expected or state.version}
            return self._request("set", user, {"step": step, "data": changes, **version, **self._declaration})

        if expected is not None:
            return write(prepare())
        return retry_on_conflict(prepare, write, self._what)

    def _request(self, verb: str, user: str | None, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call an operation on one user's state: the user of the scope."""
        transport = replace(self._transport, scope=self._transport.scope.narrow(user=self._user(user)))
        return transport.call(f"flow.{verb}", {"name": self.name, **(arguments or {})})
