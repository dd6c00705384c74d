"""Conversations: the rooms, and what was said in one of them."""

from collections.abc import Mapping
from typing import Any, Final

from rememo.collections.message import Message
from rememo.errors import InvalidInput
from rememo.serve.dashboard.text import day, label, told
from rememo.serve.dashboard.visit import POOL, Visit

PAGE: Final = 25
_ROOMS: Final = 100
_MOST_CALLS: Final = 5


def rooms_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the list of rooms."""
    begin = visit.number("from")
    # A key that is bound to labels reaches no pools: it is not shown what it cannot open.
    found = [room for room in visit.memory.rooms() if not (visit.key.labelled and room.startswith(POOL))]
    shown = [{"name": room, "pool": room.startswith(POOL)} for room in found[begin : begin + _ROOMS]]
    after = begin + _ROOMS if begin + _ROOMS < len(found) else None
    before = max(0, begin - _ROOMS) if begin else None
    return "rooms.html", {"rooms": shown, "count": len(found), "after": after, "before": before}


def room_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return a page of a conversation: the latest, an older one, or the one around a message."""
    memory = visit.memory
    if memory.bound.room is None:
        raise InvalidInput("which room? Choose one under Conversations")
    offset, total = visit.number("offset"), memory.count(kind="message")
    around = visit.query.get("around")
    if around is not None:
        offset = max(0, memory.count(kind="message", after=memory.get(around).at) - PAGE // 2)
    messages = memory.messages.history(PAGE, offset=offset)
    wanted = {one.reply_to for one in messages if one.reply_to is not None}
    replied = {one.id: one for one in memory.list(ids=wanted, limit=PAGE)} if wanted else {}
    return "room.html", {
        "room": memory.bound.room,
        "total": total,
        "days": _days(messages),
        "replied": replied,
        "here": {one.id for one in messages},
        "around": around,
        "older": offset + PAGE if offset + PAGE < total else None,
        "newer": max(0, offset - PAGE) if offset else None,
        "changes": visit.may("write"),
    }


def _days(messages: list[Message]) -> list[tuple[str, list[dict[str, Any]]]]:
    days: dict[str, list[dict[str, Any]]] = {}
    for one in messages:
        days.setdefault(day(one.at), []).append(
            {
                "message": one,
                "who": label(one.name or one.username or (one.user if one.role == "user" else None) or one.role),
                "calls": [_call(call) for call in one.tool_calls[:_MOST_CALLS]],
                "more_calls": max(0, len(one.tool_calls) - _MOST_CALLS),
            }
        )
    return list(days.items())


def _call(call: Mapping[str, Any]) -> dict[str, str]:
    function: Any = call.get("function")
    said: Mapping[str, Any] = function if isinstance(function, Mapping) else call  # pyright: ignore[reportUnknownVariableType] - JSON
    return {"name": told(said.get("name", "?")), "arguments": told(said.get("arguments", ""))}
