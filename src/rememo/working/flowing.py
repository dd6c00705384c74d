"""Flowing: where a user stands in the flows that this process has declared, for those who compose a state."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from rememo.context.builtin import built_in, cut
from rememo.context.lines import set_in
from rememo.context.providers import Asked, Provided, Provider
from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.runtime.locks import ForkLock
from rememo.text.fence import fenced
from rememo.working.flows import Flow, FlowState, flow_space, flow_state

_POSITION: Final = 60
_MOST_PLACES: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    space: str
    name: str
    steps: tuple[str, ...]


class _KnownFlows:
    """Declared flows by the tenant, agent and room that they are kept for; places not used for long leave first."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._places: OrderedDict[tuple[str, str | None, str | None], dict[str, _Known]] = OrderedDict()

    def note(self, scope: Scope, flow: Flow) -> None:
        place = (scope.tenant, scope.agent, scope.room)
        known = _Known(flow_space(scope, flow.name), flow.name, flow.steps)
        with self._lock:
            # A new mapping each time: those who go through the old one are not disturbed.
            self._places[place] = {**self._places.get(place, {}), flow.name: known}
            self._places.move_to_end(place)
            if len(self._places) > _MOST_PLACES:
                self._places.popitem(last=False)

    def of(self, scope: Scope, *, inside: bool = False) -> Iterable[_Known]:
        """Give the flows that a view's user may be in: those of its agent and room, and unless only `inside`, of all."""
        tenant, agent, room = scope.tenant, scope.agent, scope.room
        outside = () if inside else ((tenant, None, None), (tenant, agent, None))
        for place in dict.fromkeys((*outside, (tenant, None, room), (tenant, agent, room))):
            yield from self._places.get(place, {}).values()


_engines: WeakKeyDictionary[Engine, _KnownFlows] = WeakKeyDictionary()


def declare(view: View, flow: Flow) -> Flow:
    """Let a flow be told when a state is composed for one of its users; returns it."""
    _engines.setdefault(view.engine, _KnownFlows()).note(view.scope, flow)
    return flow


def flows_provider(engine: Engine) -> Provider:
    """Return the provider that tells where the user stands."""
    known = _engines.setdefault(engine, _KnownFlows())

    def reads(scope: Scope) -> list[tuple[str, str]]:
        return [] if scope.user is None else [(one.space, scope.user) for one in known.of(scope)]

    def flows(asked: Asked[View]) -> Provided | None:
        """Tell the flows that the user is in; reading them so prolongs those whose end slides."""
        found: list[tuple[_Known, FlowState]] = []
        kv, user = asked.memory.engine.kv, asked.user
        if user is None:
            return None
        for one in known.of(asked.scope, inside=asked.memory.author is not None):
            entry = kv.get(asked.scope.tenant, one.space, user, asked.at)
            if entry is not None:
                found.append((one, flow_state(entry)))
        if not found:
            return None
        text = "\n".join(["What is under way:", *(f"- {set_in(_line(one, state))}" for one, state in found)])
        data = [_data(one, state) for one, state in found]
        return Provided(text=text, values={"flows": fenced(text)}, data=data, recalled=True)

    return built_in("flows", flows, _POSITION, past=False, reads=reads)


def _line(one: _Known, state: FlowState) -> str:
    place = _place(one, state)
    said = f"{one.name}: step {state.step}" + ("" if place is None else f", {place} of {len(one.steps)}")
    gathered = f"; so far: {dump_json(state.data)}" if state.data else ""
    return cut(said + (", paused" if state.paused else "") + gathered)


def _data(one: _Known, state: FlowState) -> dict[str, Any]:
    return {
        "name": one.name,
        "step": state.step,
        "place": _place(one, state),
        "of": len(one.steps),
        "paused": state.paused,
        "data": state.data,
        "expires_at": state.expires_at.isoformat(),
    }


def _place(one: _Known, state: FlowState) -> int | None:
    """Return the number of the step, from 1; None for one that is not declared any more."""
    return one.steps.index(state.step) + 1 if state.step in one.steps else None
