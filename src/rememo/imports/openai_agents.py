"""The OpenAI Agents SDK: a file of `SQLiteSession`, whose items are what the Responses API takes as input.

They become what `RememoSession` makes of them, so that a session goes on here with every item as it was: what was said is a
message; calls, their results, reasoning and the rest are state. The tables are `agent_sessions` and `agent_messages` unless the
application called them otherwise, so they are known by their columns.
"""

from collections.abc import Iterator
from typing import Final

from rememo.adapters.json_values import pack_json
from rememo.adapters.json_values import storable_text as writable
from rememo.errors import InvalidInput
from rememo.imports.chat_content import read_content
from rememo.imports.item import ImportItem, ReadResult, Skipped
from rememo.imports.json_values import as_text, parse_object
from rememo.imports.message_times import parse_time
from rememo.imports.source_path import SourcePath
from rememo.store.sqlite.foreign import open_foreign

_COLUMNS: Final = ("id", "session_id", "message_data", "created_at")
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_BROKEN: Final = "an item that is no JSON object"


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield the items of every session in their order."""
    with open_foreign(source.file()) as file:
        tables = [name for name, columns in file.tables().items() if {*_COLUMNS} <= {*columns}]
        if not tables:
            raise InvalidInput(f"{source.path} has no table of sessions' messages; name the file of an SQLiteSession")
        for table in tables:
            for id, session, raw, at in file.rows(table, _COLUMNS, order=("session_id", "id")):
                text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
                source.count_read(len(text))
                yield _item(str(session), f"{id}", text, at)


def _item(session: str, id: str, raw: str, at: object) -> ReadResult:
    item = parse_object(raw)
    if not item:
        return Skipped(_BROKEN)
    role = _ROLES.get(as_text(item.get("role"))) if item.get("type", "message") == "message" else None
    text, images, _ = read_content(item.get("content")) if role else ("", (), 0)
    is_message = role is not None and bool(text.strip())
    return ImportItem(
        kind="message" if is_message else "state", origin=(f"openai-agents:{session}", id), room=session,
        role=role or "user", text=writable(text) if is_message else "", at=parse_time(at), images=images if is_message else (),
        data=pack_json(item), metadata={"openai_agents": "item"},
    )  # fmt: skip
