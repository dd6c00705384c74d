"""Flow runs: where users are in flows, over all flows of a scope."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from rememo.engine.view import View
from rememo.errors import ReadOnly
from rememo.model.scope import Scope
from rememo.store.kv.namespaces import parse_namespace
from rememo.working.flow_state import FlowState, flow_state
from rememo.working.flows import Flow

_FLOWS = "flows"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRun:
    """Where one user is in one flow."""

    name: str
    """The flow's."""
    scope: Scope
    """The tenant, agent and room that the flow is kept for."""
    state: FlowState


def list_flow_runs(view: View, *, limit: int | None = None, offset: int = 0) -> list[FlowRun]:
    """Return states of flows within a view, paused ones too, by agent, room, flow and user; looking prolongs none."""
    if view.known_at is not None:
        raise ReadOnly("flows have no past and cannot be reached through a view of the past")
    return list(islice(_states(view), offset, None if limit is None else offset + limit))


def end_flow(view: View, name: str, user: str) -> bool:
    """End a flow for a user, whatever its steps are; False when there was none."""
    return Flow(view, name, steps=("any",)).clear(user)


def _states(view: View) -> Iterator[FlowRun]:
    kv, bound, now = view.engine.kv, view.scope, view.engine.now()
    for space in kv.spaces(bound.tenant):
        scope, what = parse_namespace(bound.tenant, space)
        # A flow's namespace names no user: users are the keys in it.
        if what != _FLOWS or not replace(bound, user=None).contains(scope):
            continue
        name = str(json.loads(space)[-1])
        for entry in kv.entries(bound.tenant, space, now):
            if bound.user in (None, entry.key):
                yield FlowRun(name=name, scope=scope, state=flow_state(entry))
