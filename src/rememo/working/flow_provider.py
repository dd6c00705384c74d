"""The flows provider: at which step a user is, in the flows that this process has declared."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from rememo.context.builtin_providers import builtin_provider, shorten
from rememo.context.providers import Provider, ProviderRequest, ProviderResponse
from rememo.context.rendering import indent_continuations
from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.runtime.locks import ForkLock
from rememo.runtime.lru_cache import LruCache
from rememo.text.fence import fenced
from rememo.working.flow_state import FlowState, flow_space, flow_state
from rememo.working.flows import Flow

_POSITION: Final = 60
_MOST_SCOPES: Final = 10_000


@dataclass(frozen=True, slots=True)
class _DeclaredFlow:
    space: str
    name: str
    steps: tuple[str, ...]


class _DeclaredFlows:
    """Declared flows by the tenant, agent and room that they are kept for; scopes not used for long leave first."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._declarations = LruCache[tuple[str, str | None, str | None], dict[str, _DeclaredFlow]](_MOST_SCOPES)

    def note(self, scope: Scope, flow: Flow) -> None:
        scope_key = (scope.tenant, scope.agent, scope.room)
        declared = _DeclaredFlow(flow_space(scope, flow.name), flow.name, flow.steps)
        with self._lock:
            # A new mapping each time: those who go through the old one are not disturbed.
            self._declarations.put(scope_key, {**(self._declarations.peek(scope_key) or {}), flow.name: declared})

    def of(self, scope: Scope, *, inside: bool = False) -> Iterable[_DeclaredFlow]:
        """Yield the flows that a view's user may be in: those of its agent and room, and unless only `inside`, of all."""
        tenant, agent, room = scope.tenant, scope.agent, scope.room
        outside = () if inside else ((tenant, None, None), (tenant, agent, None))
        for scope_key in dict.fromkeys((*outside, (tenant, None, room), (tenant, agent, room))):
            yield from (self._declarations.peek(scope_key) or {}).values()


_engines: WeakKeyDictionary[Engine, _DeclaredFlows] = WeakKeyDictionary()


def declare_flow(view: View, flow: Flow) -> Flow:
    """Include a flow in the states that are composed for its users; returns it."""
    _engines.setdefault(view.engine, _DeclaredFlows()).note(view.scope, flow)
    return flow


def flows_provider(engine: Engine) -> Provider:
    """Return the provider of the flows that a user is in."""
    declared = _engines.setdefault(engine, _DeclaredFlows())

    def reads(scope: Scope) -> list[tuple[str, str]]:
        return [] if scope.user is None else [(flow.space, scope.user) for flow in declared.of(scope)]

    def flows(request: ProviderRequest[View]) -> ProviderResponse | None:
        """Return the flows that the user is in; reading renews a sliding TTL."""
        states: list[tuple[_DeclaredFlow, FlowState]] = []
        kv, user = request.memory.engine.kv, request.user
        if user is None:
            return None
        for flow in declared.of(request.scope, inside=request.memory.author is not None):
            entry = kv.get(request.scope.tenant, flow.space, user, request.at)
            if entry is not None:
                states.append((flow, flow_state(entry)))
        if not states:
            return None
        text = "\n".join(
            ["What is under way:", *(f"- {indent_continuations(_format_line(flow, state))}" for flow, state in states)]
        )
        data = [_to_json(flow, state) for flow, state in states]
        return ProviderResponse(text=text, values={"flows": fenced(text)}, data=data, recalled=True)

    return builtin_provider("flows", flows, _POSITION, past=False, reads=reads)


def _format_line(flow: _DeclaredFlow, state: FlowState) -> str:
    number = _step_number(flow, state)
    line = f"{flow.name}: step {state.step}" + ("" if number is None else f", {number} of {len(flow.steps)}")
    data_text = f"; so far: {dump_json(state.data)}" if state.data else ""
    return shorten(line + (", paused" if state.paused else "") + data_text)


def _to_json(flow: _DeclaredFlow, state: FlowState) -> dict[str, Any]:
    return {
        "name": flow.name,
        "step": state.step,
        "place": _step_number(flow, state),
        "of": len(flow.steps),
        "paused": state.paused,
        "data": state.data,
        "expires_at": state.expires_at.isoformat(),
    }


def _step_number(flow: _DeclaredFlow, state: FlowState) -> int | None:
    """Return the number of the step, from 1; None for one that is not declared any more."""
    return flow.steps.index(state.step) + 1 if state.step in flow.steps else None
