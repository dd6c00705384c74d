"""JSON Lines: one object a line, for everything that has no reader of its own.

A line with a `role` (or `sender`, `from`) is a message, any other a note. Its words stand under `content`, `text`, `message`
or `memory`; when it happened under `at`, `timestamp`, or what Zep, Graphiti and Hindsight call that, else when it was written
under `created_at` or `time`; `user`, `agent` and `room` (or `user_id`, `agent_id`, `session_id`, `thread_id` …) are labels,
`id` (or `uuid`), `name`, `tool_calls`, `tool_call_id`, `images` and `metadata` are what they say. What else stands there is
kept as metadata.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from rememo.imports.chat_content import read_content, web_images
from rememo.imports.item import ImportItem, ReadResult, Skipped
from rememo.imports.json_values import Json, as_label, as_list, as_object, digest, drop_empty
from rememo.imports.message_times import parse_time
from rememo.imports.source_path import SourcePath, iter_json_lines

_WORDS: Final = ("content", "text", "message", "memory")
_TIMES: Final = (
    "at", "timestamp", "reference_time", "valid_at", "occurred_start", "date", "mentioned_at", "created_at", "time",
)  # fmt: skip
_IDS: Final = ("id", "uuid")
_ROLE: Final = ("role", "sender", "from")
_LABELS: Final = {
    "user": ("user", "user_id", "user_uuid"),
    "agent": ("agent", "agent_id"),
    "room": (
        "room", "room_id", "session_id", "thread_id", "thread_uuid", "conversation_id", "run_id", "group_id",
    ),
}  # fmt: skip
_ROLES: Final = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant", "model": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
_KNOWN_FIELDS: Final = {
    *_WORDS, *_IDS, *_ROLE, *(name for names in _LABELS.values() for name in names), "tool_calls", "tool_call_id",
    "images", "metadata", "pinned",
}  # fmt: skip
_BROKEN: Final = "a line that is no JSON object"
_EMPTY: Final = "a line without words"
_ROLE_UNKNOWN: Final = "a message with the unknown role {}"


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield every line as a message or a note."""
    with source.open() as file:
        for number, value in iter_json_lines(file):
            line = as_object({"text": value} if isinstance(value, str) else value)
            yield _item(number, line) if line else Skipped(_BROKEN)


def _item(number: int, line: Json) -> ReadResult:
    content = _first_value(line, _WORDS)
    text, images, _ = read_content(content)
    if isinstance(content, dict):
        text = json.dumps(content, ensure_ascii=False)
    images += web_images(as_list(line.get("images")))
    calls = tuple(call for call in map(as_object, as_list(line.get("tool_calls"))) if as_label(call.get("id")))
    role = as_label(_first_value(line, _ROLE))
    if role is not None and role.lower() not in _ROLES:
        return Skipped(_ROLE_UNKNOWN.format(role[:40]))
    if not text.strip() and not (role and (calls or images)):
        return Skipped(_EMPTY)
    labels = {name: as_label(_first_value(line, names)) for name, names in _LABELS.items()}
    # A line that names itself keeps its id; any other is known by its line number and its content.
    id = as_label(_first_value(line, _IDS)) or digest([number, line])[:32]
    time = next((name for name in _TIMES if parse_time(line.get(name)) is not None), None)
    own = {*_KNOWN_FIELDS, time} if role is None else {*_KNOWN_FIELDS, time, "name"}
    more = {name: value for name, value in line.items() if name not in own}
    common: dict[str, Any] = {
        "origin": (f"jsonl:{labels['room'] or ''}", id), "text": text, "at": parse_time(line.get(time)) if time else None,
        "metadata": drop_empty(as_object(line.get("metadata")) | more), **labels,
    }  # fmt: skip
    if role is None:
        return ImportItem(kind="note", pinned=line.get("pinned") is True, **common)
    return ImportItem(
        kind="message", role=_ROLES[role.lower()], name=as_label(line.get("name")), tool_calls=calls,
        tool_call_id=as_label(line.get("tool_call_id")), images=images, **common,
    )  # fmt: skip


def _first_value(line: Json, names: tuple[str, ...]) -> Any:
    return next((line[name] for name in names if line.get(name) not in (None, "")), None)
