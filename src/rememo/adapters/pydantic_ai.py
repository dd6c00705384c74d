"""Conversations of Pydantic AI: its conversation store, and plain message histories for `message_history=`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import MemoryHolder, derived_id
from rememo.adapters.messages import add_message_or_state
from rememo.adapters.missing_framework import missing_framework
from rememo.adapters.paging import list_latest
from rememo.adapters.threads import in_thread, run_in_thread
from rememo.errors import AlreadyExists, InvalidInput, NotFound, VersionConflict
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.record import Record

try:
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import (
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelResponse,
        TextContent,
        TextPart,
        UserPromptPart,
    )
except ImportError as error:
    raise missing_framework("Pydantic AI", "pydantic-ai", error) from error

_NAMESPACE = UUID("2d9b6f0c-71f4-4c3e-b0a5-8f4e0d1c6a92")
_MESSAGE, _ENTRY, _CONVERSATION = ({"pydantic_ai": kind} for kind in ("message", "entry", "conversation"))
_RECORD = TypeAdapter(ConversationRecord)


class RememoHistory(MemoryHolder):
    """The messages of one conversation, for `message_history=`; what was said in it is found and learned from.

    Each method waits for the store; those with an `a` before their names let an event loop go on meanwhile.
    """

    def __init__(
        self,
        conversation_id: str,
        memory: Memory | str | Path = "rememo.db",
        *,
        user: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Open a conversation, the room of that name, in a memory, a view of one, or one at a path or address."""
        super().__init__(memory)
        self._room = self._memory.scope(user=user, agent=agent, room=conversation_id)

    def load(self, limit: int | None = None) -> list[ModelMessage]:
        """Return the messages, oldest first: all, or the latest `limit`."""
        return [_read_message(record) for record in list_latest(self._room, limit, metadata=_MESSAGE)]

    def add(self, messages: Sequence[ModelMessage]) -> None:
        """Append messages, such as `result.new_messages()`: all of them or none."""
        with self._room.batch() as batch:
            for message in messages:
                _store_message(batch, message, _MESSAGE)

    def clear(self) -> int:
        """End all messages of the conversation; returns how many."""
        return self._room.delete_where(metadata=_MESSAGE)

    aload, aadd, aclear = in_thread(load), in_thread(add), in_thread(clear)


class RememoConversationStore(MemoryHolder, ConversationStore):
    """Conversations with their branches and forks, usage and pending tool calls; each is the room of its id.

    Deleting a conversation ends the entries that no other one reaches; the past still has them until they are erased.
    """

    def __init__(self, memory: Memory | str | Path = "rememo.db") -> None:
        """Keep conversations in a memory, a view of one, or a memory at a path or address."""
        super().__init__(memory)
        bound = self._memory.bound
        self._labels = [bound.agent, bound.user]

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, or None."""
        return (await run_in_thread(self._stored, conversation_id))[0]

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the records of all conversations or of a scope's, the one saved last first."""
        records = await run_in_thread(self._records)
        matching = [record for record in records if scope is None or record.scope == scope]
        return sorted(matching, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry; one that is not there raises `NotFound`, which is a `LookupError`."""
        return _read_entry(await run_in_thread(self._memory.get, entry_id))

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to one, oldest first, or the last `limit` of them."""
        return await run_in_thread(self._history, head_id, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and its new entries, all or nothing, unless another was faster."""
        await run_in_thread(self._write, record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """End a record and the entries that no other one reaches, unless another was faster."""
        await run_in_thread(self._delete, conversation_id, expected_revision)

    # ---- inside

    def _id(self, conversation_id: str) -> str:
        return derived_id(self._memory, str(uuid5(_NAMESPACE, dump_json([*self._labels, conversation_id]))))

    def _stored(self, conversation_id: str) -> tuple[ConversationRecord | None, int]:
        try:
            stored = self._memory.get(self._id(conversation_id))
        except NotFound:
            return None, 0
        return _RECORD.validate_json(json.dumps(unpack_json(stored.data))), stored.version

    def _records(self) -> list[ConversationRecord]:
        records = list_latest(self._memory, metadata=_CONVERSATION)
        # Narrower views have conversations of their own.
        bound_records = [record for record in records if [record.scope.agent, record.scope.user] == self._labels]
        return [_RECORD.validate_json(json.dumps(unpack_json(record.data))) for record in bound_records]

    def _write(
        self, record: ConversationRecord, new_entries: Sequence[ConversationEntry], expected: str | None
    ) -> None:
        conflict = ConversationConflict(record.conversation_id)
        stored, version = self._stored(record.conversation_id)
        if (None if stored is None else stored.revision) != expected:
            raise conflict
        try:
            if record.head_id is not None and record.head_id not in {entry.id for entry in new_entries}:
                self._memory.get(record.head_id)
            with self._memory.scope(room=record.conversation_id).batch() as batch:
                for new_entry in new_entries:
                    more = {"id": new_entry.id, "parent_id": new_entry.parent_id, "kind": new_entry.kind}
                    _store_message(batch, new_entry.message, _ENTRY, id=new_entry.id, entry=more)
                data = pack_json(_RECORD.dump_python(record, mode="json"))
                if stored is None:
                    id = self._id(record.conversation_id)
                    batch.add("", kind="state", id=id, data=data, metadata=_CONVERSATION)
                else:
                    batch.update(self._id(record.conversation_id), data=data, expected_version=version)
        except (AlreadyExists, NotFound, VersionConflict):
            raise conflict from None

    def _delete(self, conversation_id: str, expected: str) -> None:
        stored, version = self._stored(conversation_id)
        if stored is None or stored.revision != expected:
            raise ConversationConflict(conversation_id)
        remaining = [other for other in self._records() if other.conversation_id != conversation_id]
        shared: set[str] = set()
        for other in remaining:
            if stored.forked_from is not None or other.forked_from is not None:
                shared |= self._reached(other)
        try:
            with self._memory.batch() as batch:
                batch.delete(self._id(conversation_id), expected_version=version)
                for id in self._reached(stored) - shared:
                    batch.delete(id)
        except (NotFound, VersionConflict):
            raise ConversationConflict(conversation_id) from None

    def _reached(self, record: ConversationRecord) -> set[str]:
        tips = [record.head_id, *record.branches]
        return {entry.id for tip in tips for entry in self._history(tip, None)}

    def _history(self, head_id: str | None, limit: int | None) -> list[ConversationEntry]:
        entries: list[ConversationEntry] = []
        records: dict[str, Record] = {}
        while head_id is not None and (limit is None or len(entries) < limit):
            if head_id not in records:
                # A conversation's entries are read at once; a fork goes on in the room it was made from.
                record = self._memory.get(head_id)
                room = self._memory.scope(room=record.scope.room)
                more = None if limit is None else limit - len(entries)
                records |= {head_id: record} | {entry.id: entry for entry in list_latest(room, more, metadata=_ENTRY)}
            entries.append(_read_entry(records[head_id]))
            head_id = entries[-1].parent_id
        return entries[::-1]


def _store_message(
    batch: Memory,
    message: ModelMessage,
    mark: Mapping[str, Any],
    *,
    id: str | None = None,
    entry: Mapping[str, Any] | None = None,
) -> None:
    """Store a message as it is: as a message when somebody says something in it, else as state."""
    if not isinstance(message, ModelRequest | ModelResponse):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"a message must be a ModelRequest or a ModelResponse, not {type(message).__name__}")
    data = pack_json(ModelMessagesTypeAdapter.dump_python([message], mode="json")[0])
    data |= {} if entry is None else {"entry": entry}
    role = "user" if isinstance(message, ModelRequest) else "assistant"
    text = storable_text("\n".join(_message_texts(message)))
    add_message_or_state(batch, role, text, id=id, data=data, metadata=mark)


def _message_texts(message: ModelMessage) -> list[str]:
    """Return the texts of a user or a model in a message."""
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.append(part.content)
        elif isinstance(part, UserPromptPart):
            contents = [part.content] if isinstance(part.content, str) else part.content
            texts += (
                content.content if isinstance(content, TextContent) else content
                for content in contents
                if isinstance(content, str | TextContent)
            )
    return texts


def _read_message(record: Record) -> ModelMessage:
    # Read as JSON, in which bytes are base64.
    return ModelMessagesTypeAdapter.validate_json(json.dumps([unpack_json(record.data)]))[0]


def _read_entry(record: Record) -> ConversationEntry:
    return ConversationEntry(**record.data["entry"], message=_read_message(record))
