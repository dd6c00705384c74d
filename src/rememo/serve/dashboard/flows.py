"""Flows: who is where in which process of several steps, until when, and an end for one that hangs."""

import hashlib
from typing import Any, Final

from rememo.errors import NotFound
from rememo.model.check import dump_json
from rememo.model.receipt import Receipt
from rememo.serve.dashboard.display_text import summarise
from rememo.serve.dashboard.visit import Visit
from rememo.working.underway import Underway, end_flow, underway

_FLOWS: Final = 30


def flows_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the flows that somebody is in."""
    offset = visit.number("offset")
    # Flows have no past: what is shown is so now, whatever moment is looked at.
    found = underway(visit.present._view, limit=_FLOWS + 1, offset=offset)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
    return "flows.html", {
        "flows": [(one, summarise(one.state.data), _flow_token(one)) for one in found[:_FLOWS]],
        "after": offset + _FLOWS if len(found) > _FLOWS else None,
        "before": max(0, offset - _FLOWS) if offset else None,
        "changes": visit.may("write"),
    }


def clear_flow(visit: Visit) -> tuple[str, Receipt | None]:
    """End a flow for one user; its data is forgotten."""
    memory, mark = visit.memory, visit.form.get("flow", "")
    for one in underway(memory._view):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
        if _flow_token(one) == mark:
            view = memory.scope(agent=one.scope.agent, room=one.scope.room)._view  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
            end_flow(view, one.name, one.state.user)
            return "The flow is over.", None
    raise NotFound("this flow is not under way any more: it was cleared or has expired")


def _flow_token(one: Underway) -> str:
    """Return a short name of a state: whole names in every row would make a page too large."""
    told = dump_json([one.scope.agent, one.scope.room, one.name, one.state.user])
    return hashlib.blake2b(told.encode(errors="surrogatepass"), digest_size=16).hexdigest()
