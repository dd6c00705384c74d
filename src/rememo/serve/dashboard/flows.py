"""The flows page: the active states of flows by user, and clearing one."""

import hashlib
from typing import Any, Final

from rememo.engine.view import view_of
from rememo.errors import NotFound
from rememo.model.check import dump_json
from rememo.model.receipt import Receipt
from rememo.serve.dashboard.display_text import summarise
from rememo.serve.dashboard.visit import Visit
from rememo.working.flow_runs import FlowRun, end_flow, list_flow_runs

_FLOWS: Final = 30


def flows_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the active flows."""
    offset = visit.number("offset")
    # Flows have no history: the present is shown, whatever the time of the query.
    flows = list_flow_runs(view_of(visit.present), limit=_FLOWS + 1, offset=offset)
    return "flows.html", {
        "flows": [(flow, summarise(flow.state.data), _flow_token(flow)) for flow in flows[:_FLOWS]],
        "after": offset + _FLOWS if len(flows) > _FLOWS else None,
        "before": max(0, offset - _FLOWS) if offset else None,
        "changes": visit.may("write"),
    }


def clear_flow(visit: Visit) -> tuple[str, Receipt | None]:
    """Delete a user's state in a flow."""
    memory, mark = visit.memory, visit.form.get("flow", "")
    for flow in list_flow_runs(view_of(memory)):
        if _flow_token(flow) == mark:
            view = view_of(memory.scope(agent=flow.scope.agent, room=flow.scope.room))
            end_flow(view, flow.name, flow.state.user)
            return "Flow cleared.", None
    raise NotFound("this flow is no longer active: it was cleared or has expired")


def _flow_token(flow: FlowRun) -> str:
    """Return a short token of a state: whole names in every row would make a page too large."""
    labels = dump_json([flow.scope.agent, flow.scope.room, flow.name, flow.state.user])
    return hashlib.blake2b(labels.encode(errors="surrogatepass"), digest_size=16).hexdigest()
