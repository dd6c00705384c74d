"""LangChain's chat history: the messages of a room."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.messages.utils import convert_to_messages

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import MemoryHolder, MemorySource
from rememo.adapters.messages import add_message_or_state
from rememo.adapters.paging import iter_newest
from rememo.model.check import check_limit
from rememo.model.record import Record

_MARK: Final[Mapping[str, Any]] = {"langchain": "message"}
_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_KINDS: Final = ("message", "state")
_NOT_FROM_LANGGRAPH: Final[Mapping[str, Any]] = {"langgraph": {"$exists": False}}  # whose checkpoints may fill the room


class RememoChatMessageHistory(MemoryHolder, BaseChatMessageHistory):
    """The messages of a session, which is a room: they come back as they were, search finds them, facts are learned.

    Messages that were written to the room otherwise stand among them. One that says nothing is kept as state, which no
    search finds. `limit` is how many of the latest are given; all are kept.
    """

    def __init__(
        self,
        session_id: str,
        memory: MemorySource = "rememo.db",
        *,
        user: str | None = None,
        agent: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Open a session in a memory, a view of one, or a memory at a path, which is closed with the history.

        `user` is whom the agent talks to; messages carry that label, and `agent`, where the view has none of its own.
        """
        MemoryHolder.__init__(self, memory)
        self._room = self._memory.scope(user=user, agent=agent, room=session_id)
        self._limit = None if limit is None else check_limit(limit)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - so are all others
        """The messages, oldest first."""
        return [_read_message(record) for record in self._records(self._limit)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, all of them or none."""
        if not messages:
            return
        with self._room.batch() as batch:
            for message in messages:
                answered = message.tool_call_id if isinstance(message, ToolMessage) else None
                add_message_or_state(
                    batch,
                    _message_role(message),
                    storable_text(str(message.text)),
                    data=pack_json(message_to_dict(message)),
                    metadata=_MARK,
                    tool_calls=_tool_calls(message),
                    tool_call_id=answered or None,
                )

    def clear(self) -> None:
        """End all messages of the session."""
        if records := self._records(None):
            self._room.delete_where(ids=[record.id for record in records])

    def _records(self, limit: int | None) -> list[Record]:
        records = iter_newest(self._room, metadata=_NOT_FROM_LANGGRAPH, kind=_KINDS)
        messages = islice(
            (record for record in records if record.kind == "message" or _is_langchain_message(record)), limit
        )
        return list(messages)[::-1]


def _is_langchain_message(record: Record) -> bool:
    return record.metadata.get("langchain") == _MARK["langchain"]


def _read_message(record: Record) -> BaseMessage:
    if _is_langchain_message(record):
        return messages_from_dict([unpack_json(record.data)])[0]
    names = ("tool_calls", "tool_call_id", "name")
    turn: dict[str, Any] = {name: record.data[name] for name in names if name in record.data}
    role = str(record.data.get("role", "user"))
    if role == "tool" and "tool_call_id" not in turn:
        role = "assistant"
    try:
        return convert_to_messages([{"role": role, "content": record.text, **turn}])[0]
    except (ValueError, NotImplementedError):  # a role of one's own
        return ChatMessage(role=role, content=record.text)


def _message_role(message: BaseMessage) -> str:
    kind = message.type.removesuffix("MessageChunk").lower()
    role = _ROLES.get(kind) or (message.role if isinstance(message, ChatMessage) else "user")
    return role if role in _ROLES.values() else "user"


def _tool_calls(message: BaseMessage) -> list[dict[str, Any]] | None:
    """Return the calls of tools that a message makes, in the OpenAI shape."""
    if not isinstance(message, AIMessage):
        return None
    calls: list[dict[str, Any]] = []
    for call in message.tool_calls:
        if not call.get("id"):
            continue
        function = {"name": call["name"], "arguments": storable_text(json.dumps(call["args"], default=str))}
        calls.append({"id": call["id"], "type": "function", "function": function})
    return calls or None
