"""LangGraph: files of its `SqliteStore` and `SqliteSaver`.

An item of the store becomes what `RememoStore` makes of it. Of a thread, the messages of its newest checkpoint are taken:
that is what the thread holds. They are packed with the names of Python's classes, of which nothing is made here but their
fields. When each was said, the checkpoint tells in which it first stood.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from rememo.adapters.store_items import (
    item_data,
    item_metadata,
    item_name,
    item_room,
    item_user,
    iter_texts,
    join_texts,
)
from rememo.errors import InvalidInput
from rememo.imports.chat_content import read_content, tool_call
from rememo.imports.item import ImportItem, ReadResult, Skipped
from rememo.imports.json_values import Json, as_label, as_list, as_object, as_text, digest, drop_empty, parse_object
from rememo.imports.message_times import parse_time
from rememo.imports.skip_reasons import EMPTY
from rememo.imports.source_path import SourcePath, import_reader
from rememo.model.scope import Scope
from rememo.store.sqlite.foreign import ForeignFile, open_foreign

_ROLES: Final = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "AIMessageChunk": "assistant",
    "system": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
_MESSAGES: Final = "langchain_core.messages"
_BROKEN: Final = "an item that is not JSON"
_CHECKPOINT: Final = "a checkpoint that cannot be read"
_SUBGRAPH_CHECKPOINT: Final = "a checkpoint of a graph within a graph"
_NO_IMAGE: Final = "an image that is kept elsewhere"
_OTHER: Final = "a message of the kind {}"


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield the items of a store and the messages of threads."""
    with open_foreign(source.file()) as file:
        tables = file.tables()
        if "store" not in tables and "checkpoints" not in tables:
            raise InvalidInput(f"{source.path} has neither a store nor checkpoints of LangGraph")
        if "store" in tables:
            yield from _store(file, source)
        if "checkpoints" in tables:
            yield from _threads(file, source)


def _store(file: ForeignFile, source: SourcePath) -> Iterator[ReadResult]:
    columns = ["prefix", "key", "value", "updated_at", "expires_at", "ttl_minutes"]
    for row in file.rows("store", columns, order=["prefix", "key"]):
        values: Json = dict(zip(columns, row, strict=True))
        source.count_read(len(values["value"]))
        try:
            yield _item(values, source.bound)
        except (ValueError, RecursionError):
            yield Skipped(_BROKEN)


def _item(values: Json, bound: Scope) -> ImportItem:
    """Return an item as `RememoStore` keeps it, so that it goes on with it."""
    namespace, key = str(values["prefix"]).split("."), str(values["key"])
    value = as_object(json.loads(values["value"], parse_constant=_refuse_constant))
    minutes = values.get("ttl_minutes")
    return ImportItem(
        kind="note", origin=(str(values["prefix"]), key), id=item_name(bound, namespace, key), derived=True,
        user=None if bound.user is not None else item_user(namespace), room=item_room(namespace),
        text=join_texts(iter_texts(value)), at=parse_time(values["updated_at"]), expires_at=parse_time(values.get("expires_at")),
        data=item_data(key, value, None if minutes is None else minutes * 60), metadata=item_metadata(namespace, value),
    )  # fmt: skip


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


# ---- threads


def _threads(file: ForeignFile, source: SourcePath) -> Iterator[ReadResult]:
    columns = ["thread_id", "checkpoint_ns", "type", "checkpoint", "metadata"]
    rows = file.rows("checkpoints", columns, order=["thread_id", "checkpoint_ns", "checkpoint_id"])
    for (thread, namespace), checkpoints in groupby(rows, key=itemgetter(0, 1)):
        if namespace:
            yield Skipped(_SUBGRAPH_CHECKPOINT, sum(1 for _ in checkpoints))
            continue
        yield from _thread(str(thread), checkpoints, source)


def _thread(thread: str, checkpoints: Iterator[tuple[Any, ...]], source: SourcePath) -> Iterator[ReadResult]:
    times: dict[str, datetime | None] = {}
    newest: list[Json] = []
    labels: Json = {}
    for _, _, kind, raw, metadata in checkpoints:
        source.count_read(len(raw))
        try:
            checkpoint = as_object(_unpack_checkpoint(as_text(kind), raw))
        except (ValueError, RecursionError):
            yield Skipped(_CHECKPOINT)
            continue
        messages = list(_messages(as_object(checkpoint.get("channel_values"))))
        for message in messages:
            times.setdefault(_id(message), parse_time(checkpoint.get("ts")))
        newest = messages or newest
        labels |= drop_empty(_metadata(metadata))
    for position, message in enumerate(newest):
        yield from _message(thread, message, position, times.get(_id(message)), labels)


def _messages(channels: Json) -> Iterator[Json]:
    for value in channels.values():
        for item in as_list(value):
            fields = as_object(item)
            if fields.get("__module__") is not None:
                yield fields


def _message(thread: str, values: Json, position: int, at: datetime | None, labels: Json) -> Iterator[ReadResult]:
    kind = as_text(values.get("type"))
    role = _ROLES.get(kind) or _ROLES.get(as_text(values.get("role")))
    if role is None:
        yield Skipped(_OTHER.format(kind or "unknown"))
        return
    text, images, missing = read_content(values.get("content"))
    calls = tuple(
        tool_call(as_label(call.get("id")) or digest(call)[:16], call.get("name"), json.dumps(call.get("args") or {}))
        for call in map(as_object, as_list(values.get("tool_calls")))
    )
    if missing:
        yield Skipped(_NO_IMAGE, missing)
    if not text.strip() and not calls and not images:
        yield Skipped(EMPTY)
        return
    yield ImportItem(
        kind="message", origin=(f"langgraph:{thread}", as_label(values.get("id")) or f"{position}-{digest(text)[:16]}"),
        room=thread, user=as_label(labels.get("user_id")), role=role, text=text, at=at, tool_calls=calls,
        tool_call_id=as_label(values.get("tool_call_id")) if role == "tool" else None, images=images,
        name=as_label(values.get("name")) if role == "user" else None,
    )  # fmt: skip


def _id(message: Json) -> str:
    return as_label(message.get("id")) or digest([message.get("type"), message.get("content")])


def _metadata(raw: object) -> Json:
    """Return what a checkpoint's metadata says: JSON as text or bytes."""
    return parse_object(raw.decode(errors="replace") if isinstance(raw, bytes) else as_text(raw))


def _unpack_checkpoint(kind: str, raw: bytes) -> Any:
    """Return a checkpoint as plain data."""
    if kind == "json":
        return _revive(json.loads(raw))
    if kind != "msgpack":
        raise ValueError(f"checkpoints of the kind {kind!r} are not known")
    ormsgpack = import_reader("ormsgpack", "reading LangGraph's checkpoints")

    def object_of(code: int, content: bytes) -> Any:
        """Return the fields of an object whose class is only named: code 7 wraps, the others are (module, name, fields …)."""
        value = ormsgpack.unpackb(content, ext_hook=object_of)
        parts = as_list(value)
        if code == _WRAPPED_CODE or len(parts) < _MIN_NAMED_PARTS:
            return value
        fields = as_object(parts[2])
        return fields | {"__module__": parts[0]} if str(parts[0]).startswith(_MESSAGES) else (fields or parts[2])

    return ormsgpack.unpackb(raw, ext_hook=object_of)


_WRAPPED_CODE: Final = 7
_MIN_NAMED_PARTS: Final = 3


def _revive(value: Any) -> Any:
    """Return objects of the older form, which were JSON with the path of a class, as their fields."""
    fields = as_object(value)
    if not fields:
        return [_revive(item) for item in as_list(value)] or value
    if fields.get("type") == "constructor" and as_list(fields.get("id")) and "kwargs" in fields:
        kwargs = as_object(_revive(fields["kwargs"]))
        path = ".".join(map(str, as_list(fields["id"])))
        is_message = "messages" in path and path.endswith(("Message", "MessageChunk"))
        kind = path.rpartition(".")[2].removesuffix("Message").lower()
        return {"type": kind} | kwargs | {"__module__": path} if is_message else kwargs
    return {name: _revive(item) for name, item in fields.items()}
