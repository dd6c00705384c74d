"""The OpenAI Agents SDK: a file of `SQLiteSession`, whose items are what the Responses API takes as input.

The tables are `agent_sessions` and `agent_messages` unless the application called them otherwise, so they are known by
their columns.
"""

import json
from collections.abc import Iterator
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.files import Place
from rememo.imports.item import Found, Item, Json, Left, as_text, call_of, content_of, label, moment, parsed
from rememo.store.sqlite.foreign import open_foreign

_COLUMNS: Final = ("id", "session_id", "message_data", "created_at")
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_BROKEN: Final = "an item that is not JSON"
_SEALED: Final = "an item that is encrypted"
_EMPTY: Final = "a message without words"
_REASONING: Final = "a step of reasoning"
_NO_IMAGE: Final = "an image that is kept elsewhere"
_OTHER: Final = "an item of the kind {}"


def read(place: Place) -> Iterator[Found]:
    """Give the messages of every session in their order; calls of functions stay with their results."""
    with open_foreign(place.file()) as file:
        tables = [name for name, columns in file.tables().items() if {*_COLUMNS} <= {*columns}]
        if not tables:
            raise InvalidInput(f"{place.path} has no table of sessions' messages; name the file of an SQLiteSession")
        for table in tables:
            for id, session, raw, at in file.rows(table, _COLUMNS, order=("session_id", "id")):
                text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
                place.read(len(text))
                yield from _item(str(session), f"{id}", text, at)


def _item(session: str, id: str, raw: str, at: object) -> Iterator[Found]:
    item = parsed(raw)
    if not item:
        yield Left(_BROKEN)
        return
    if "__enc__" in item:
        yield Left(_SEALED)
        return
    kind, role = as_text(item.get("type")), _ROLES.get(as_text(item.get("role")))
    text, images, missing = "", (), 0
    calls: tuple[Json, ...] = ()
    answers: str | None = None
    if role is not None and kind in ("", "message"):
        text, images, missing = content_of(item.get("content"))
    elif kind == "function_call":
        role = "assistant"
        calls = (call_of(label(item.get("call_id")) or id, item.get("name"), as_text(item.get("arguments"))),)
    elif kind == "function_call_output":
        role, answers = "tool", label(item.get("call_id"))
        output = item.get("output")
        text = output if isinstance(output, str) else content_of(output)[0] or json.dumps(output)
    else:
        yield Left(_REASONING if kind == "reasoning" else _OTHER.format(kind or "unknown"))
        return
    if missing:
        yield Left(_NO_IMAGE, missing)
    if not text.strip() and not calls and not images:
        yield Left(_EMPTY)
        return
    yield Item(
        kind="message", origin=(f"openai-agents:{session}", id), room=session, role=role, text=text, at=moment(at),
        tool_calls=calls, tool_call_id=answers, images=images,
    )  # fmt: skip
