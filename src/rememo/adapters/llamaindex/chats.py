"""Chats by their keys, as messages of rooms."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.storage.chat_store.base_db import MessageStatus

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import MemoryHolder
from rememo.adapters.messages import add_message_or_state
from rememo.adapters.paging import list_latest
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.record import Record

_MARK: Final = "llama_index"
"""The metadata of what is written here: whether it is active or archived."""
_ROLES: Final = {"developer": "system", "function": "tool", "chatbot": "assistant", "model": "assistant"}
_KINDS: Final = ("message", "state")
_POOL: Final = "pool:"


class Chats(MemoryHolder):
    """Chats by their keys: the room of that name, its messages as records that search finds and facts are learned from.

    Messages that were written otherwise stand among them. A message that says nothing is kept as state, which no search
    finds.
    """

    def read(self, key: str, status: MessageStatus | None = None, limit: int | None = None) -> list[Record]:
        """Return the latest messages of a chat, oldest first; what was not archived is active."""
        conditions: dict[str, Any] = {}
        if status is not None:
            archived = MessageStatus.ARCHIVED.value
            conditions = {_MARK: archived if status is MessageStatus.ARCHIVED else {"$ne": archived}}
        records = list_latest(self.room(key), limit, metadata=conditions, kind=_KINDS)
        return [record for record in records if record.kind == "message" or _MARK in record.metadata]

    def write(
        self,
        key: str,
        messages: Sequence[ChatMessage],
        status: MessageStatus = MessageStatus.ACTIVE,
        ended: Sequence[Record] = (),
    ) -> None:
        """Append messages and end others, all or nothing."""
        written = [_message_to_json(message) for message in messages]
        with self.room(key).batch() as batch:
            for record in ended:
                batch.delete(record.id)
            for message, data in zip(messages, written, strict=True):
                tool_call_id = message.additional_kwargs.get("tool_call_id")
                add_message_or_state(
                    batch,
                    _ROLES.get(message.role.value, message.role.value),
                    storable_text(message.content or ""),
                    data=data,
                    metadata={_MARK: status.value},
                    tool_calls=_tool_calls(message),
                    tool_call_id=tool_call_id if isinstance(tool_call_id, str) and tool_call_id else None,
                )

    def replace(self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Make these the messages of a chat; those that stand there already, from the first on, stay as they are."""
        existing, same = self.read(key), 0
        for record, message in zip(existing, messages, strict=False):
            if record.metadata.get(_MARK) != status.value or read_message(record) != message:
                break
            same += 1
        self.write(key, messages[same:], status, existing[same:])

    def end(self, key: str, records: Sequence[Record]) -> list[ChatMessage]:
        """End messages and return them."""
        self.write(key, (), ended=records)
        return [read_message(record) for record in records]

    def archive(self, key: str, records: Sequence[Record]) -> list[ChatMessage]:
        """Mark messages as archived and return them."""
        with self.room(key).batch() as batch:
            for record in records:
                batch.update(record.id, metadata={**record.metadata, _MARK: MessageStatus.ARCHIVED.value})
        return [read_message(record) for record in records]

    def keys(self) -> list[str]:
        """Return the keys of chats that have a message, sorted."""
        rooms = ((name, self.room(name)) for name in self._memory.rooms() if not name.startswith(_POOL))
        conditions = {_MARK: {"$exists": True}}
        return [
            name for name, room in rooms if room.count(kind="message") or room.count(kind="state", metadata=conditions)
        ]

    def room(self, key: str | None) -> Memory:
        """Return the view of a chat; of all that this may see, for None."""
        return self._memory.scope(room=key)


def read_message(record: Record) -> ChatMessage:
    """Return the message that a record holds, as it was."""
    if _MARK in record.metadata:
        return ChatMessage.model_validate(unpack_json(record.data))
    more = {name: record.data[name] for name in ("tool_calls", "tool_call_id") if name in record.data}
    role = str(record.data.get("role", "user"))
    known_role = role if role in {member.value for member in MessageRole} else "user"
    return ChatMessage(role=known_role, content=record.text, additional_kwargs=more)


def _message_to_json(message: object) -> dict[str, Any]:
    if not isinstance(message, ChatMessage):
        raise InvalidInput(f"a chat holds messages (ChatMessage), not {type(message).__name__}")
    try:
        return pack_json(message.model_dump(mode="json"))
    except ValueError as error:
        raise InvalidInput(
            f"this message cannot be kept as JSON: {error}; convert its additional_kwargs first"
        ) from None


def _tool_calls(message: ChatMessage) -> list[Mapping[str, Any]] | None:
    """Return the calls of tools that a message makes, in the OpenAI shape."""
    calls: list[Mapping[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, ToolCallBlock) and block.tool_call_id:
            arguments = (
                block.tool_kwargs if isinstance(block.tool_kwargs, str) else json.dumps(block.tool_kwargs, default=str)
            )
            call = {"name": block.tool_name, "arguments": storable_text(arguments)}
            calls.append({"id": block.tool_call_id, "type": "function", "function": call})
    if not calls:
        additional: list[Any] = message.additional_kwargs.get("tool_calls") or []
        calls.extend(json.loads(storable_text(json.dumps(call, default=str))) for call in additional if _has_id(call))
    return calls or None


def _has_id(call: object) -> bool:
    return isinstance(call, dict) and isinstance(cast("dict[str, Any]", call).get("id"), str)
