"""The pages of rooms, and of the conversation in one, with what was learned from each message."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rememo.collections.message import Message
from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.learn.facts import is_fact
from rememo.learn.relationships import CONNECTING, LearnedRelationship
from rememo.memory import Memory
from rememo.model.filters import Condition
from rememo.model.record import Record
from rememo.serve.dashboard.display_text import format_day, label, to_text
from rememo.serve.dashboard.images import is_embedded
from rememo.serve.dashboard.visit import POOL, Visit

PAGE: Final = 25
_ROOMS: Final = 100
_MOST_CALLS: Final = 5
_MOST_IMAGES: Final = 6
_FACTS: Final = 500
_LEARNED: Final = 6
_LONGEST_PRETTY: Final = 4_000


def rooms_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the list of rooms."""
    begin = visit.number("from")
    # A key that is bound to labels has no access to pools, so they are not listed.
    rooms = [room for room in visit.memory.rooms() if not (visit.key.is_bound and room.startswith(POOL))]
    page = [{"name": room, "pool": room.startswith(POOL)} for room in rooms[begin : begin + _ROOMS]]
    after = begin + _ROOMS if begin + _ROOMS < len(rooms) else None
    before = max(0, begin - _ROOMS) if begin else None
    return "rooms.html", {"rooms": page, "count": len(rooms), "after": after, "before": before}


def room_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return a page of a conversation: the latest, an older one, or the one around a message."""
    memory = visit.memory
    if memory.bound.room is None:
        raise InvalidInput("no room given; choose one under Conversations")
    offset, total = visit.number("offset"), memory.count(kind="message")
    around = visit.query.get("around")
    if around is not None:
        offset = max(0, memory.count(kind="message", after=memory.get(around).at) - PAGE // 2)
    messages = memory.messages.history(PAGE, offset=offset)
    reply_ids = {message.reply_to for message in messages if message.reply_to is not None}
    replied = {record.id: record for record in memory.list(ids=reply_ids, limit=PAGE)} if reply_ids else {}
    learned = _learned_by_message(memory, {message.id for message in messages})
    return "room.html", {
        "room": memory.bound.room,
        "total": total,
        "days": _group_by_day(messages, learned),
        "calls": {
            str(call.get("id")): {"message": message.id, "name": _tool_call(call)["name"]}
            for message in messages
            for call in message.tool_calls
        },
        "replied": replied,
        "on_page": {message.id for message in messages},
        "around": around,
        "older": offset + PAGE if offset + PAGE < total else None,
        "newer": max(0, offset - PAGE) if offset else None,
        "changes": visit.may("write"),
    }


def _group_by_day(
    messages: Sequence[Message], learned: Mapping[str, Sequence[Record]]
) -> list[tuple[str, list[dict[str, Any]]]]:
    days: dict[str, list[dict[str, Any]]] = {}
    for message in messages:
        records = learned.get(message.id, ())
        days.setdefault(format_day(message.at), []).append(
            {
                "message": message,
                "who": label(
                    message.name
                    or message.username
                    or (message.user if message.role == "user" else None)
                    or message.role
                ),
                "content": pretty_json(message.content) if message.role == "tool" else message.content,
                "calls": [_tool_call(call) for call in message.tool_calls[:_MOST_CALLS]],
                "more_calls": max(0, len(message.tool_calls) - _MOST_CALLS),
                "images": [number for number, image in enumerate(message.images, 1) if is_embedded(image)][
                    :_MOST_IMAGES
                ],
                "elsewhere": [label(image) for image in message.images if not is_embedded(image)][:_MOST_IMAGES],
                "more_images": max(0, len(message.images) - _MOST_IMAGES),
                "learned": [_learned_item(record) for record in records[:_LEARNED]],
                "more_learned": max(0, len(records) - _LEARNED),
            }
        )
    return list(days.items())


def _learned_by_message(memory: Memory, ids: set[str]) -> dict[str, list[Record]]:
    """Return the facts learned in this room and their relationships, by the messages they come from."""
    view = view_of(memory)
    engine = view.engine
    facts = engine.store.read(view.filter(kind="fact"), engine.now(), limit=_FACTS) if ids else []
    if len(facts) == _FACTS:
        # There are more: then facts are read message by message.
        facts = [
            fact
            for id in sorted(ids)
            for fact in engine.store.read(
                view.filter(kind="fact", conditions=(Condition("data", ("sources",), "$contains", id),)), engine.now(), limit=20
            )
        ]  # fmt: skip
    learned: dict[str, dict[str, Record]] = {}
    links: dict[str, set[str]] = {}
    for fact in filter(is_fact, facts):
        message_ids = ids.intersection(source for source in fact.data.get("sources", ()) if isinstance(source, str))
        for id in message_ids:
            learned.setdefault(id, {})[fact.id] = fact
        if message_ids and fact.data.get("predicate") in CONNECTING:
            link = LearnedRelationship.make_id(
                engine, fact.scope, str(fact.data["subject"]), str(fact.data["object"]), fact.data["predicate"]
            )
            links.setdefault(link, set()).update(message_ids)
    for record in memory.list(ids=links, kind="relationship", limit=len(links)) if links else ():
        for id in links[record.id]:
            learned[id][record.id] = record
    return {id: list(records.values()) for id, records in learned.items()}


def _learned_item(record: Record) -> dict[str, Any]:
    """Return a learned record, with the entity of its graph."""
    ended = record.kind == "fact" and record.data.get("status") != "current"
    around = record.data.get("entity") if record.kind == "relationship" else None
    return {"record": record, "status": record.data.get("status") if ended else None, "around": around}


def _tool_call(call: Mapping[str, Any]) -> dict[str, str]:
    function: Any = call.get("function")
    details: Mapping[str, Any] = function if isinstance(function, Mapping) else call  # pyright: ignore[reportUnknownVariableType] - JSON
    return {
        "id": to_text(call.get("id", "")),
        "name": to_text(details.get("name", "?")),
        "arguments": pretty_json(to_text(details.get("arguments", ""))),
    }


def pretty_json(text: str) -> str:
    """Indent JSON text; return any other text unchanged."""
    if len(text) > _LONGEST_PRETTY or text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text
