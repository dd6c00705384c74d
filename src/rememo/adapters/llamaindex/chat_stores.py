"""Where LlamaIndex keeps its chats."""

from pathlib import Path

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

from rememo.adapters.llamaindex.chats import Chats, read_message
from rememo.adapters.threads import run_in_thread
from rememo.memory import Memory
from rememo.model.record import Record


class RememoChatStore(BaseChatStore):
    """A chat store whose keys are rooms; the asynchronous methods do the same on a thread."""

    _chats: Chats = PrivateAttr()

    def __init__(self, memory: Memory | str | Path = "rememo.db") -> None:
        """Keep chats in a memory, a view of one, or a memory at a path or address, which `close()` closes."""
        super().__init__()
        self._chats = Chats(memory)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "RememoChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the messages of a chat, at once."""
        self._chats.replace(key, messages)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a chat, oldest first; none for a chat that nobody knows."""
        return [read_message(record) for record in self._chats.read(key)]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Append a message."""
        self._chats.write(key, [message])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """End all messages of a chat and return them; None when there are none."""
        return self._chats.end(key, self._chats.read(key)) or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """End the message at a place, counted as lists are, and return it; None when there is none."""
        records = self._chats.read(key)
        return self._chats.end(key, [records[idx]])[0] if -len(records) <= idx < len(records) else None

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """End the newest message and return it; None when there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """Return the keys of chats that have a message."""
        return self._chats.keys()

    def close(self) -> None:
        """Close the memory, if it was opened here."""
        self._chats.close()


class RememoMemoryStore(AsyncDBChatStore):
    """What LlamaIndex's `Memory` keeps its short-term messages in: `Memory.from_defaults(chat_store=…)`."""

    _chats: Chats = PrivateAttr()

    def __init__(self, memory: Memory | str | Path = "rememo.db") -> None:
        """Keep chats in a memory, a view of one, or a memory at a path or address, which `close()` closes."""
        super().__init__()
        self._chats = Chats(memory)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "RememoMemoryStore"

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Return the oldest `limit` messages of a status behind the first `offset`, or all."""
        records = await run_in_thread(self._chats.read, key, status)
        records = records[offset or 0 :]
        return [read_message(record) for record in (records if limit is None else records[:limit])]

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """Return how many messages of a status there are."""
        return len(await run_in_thread(self._chats.read, key, status))

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Append a message."""
        await run_in_thread(self._chats.write, key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Append messages, all or none."""
        await run_in_thread(self._chats.write, key, messages, status)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Make these the messages of a chat, at once."""
        await run_in_thread(self._chats.replace, key, messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """End the message at a place among all of them and return it; None when there is none."""
        records = await run_in_thread(self._chats.read, key)
        return (
            (await run_in_thread(self._chats.end, key, [records[idx]]))[0]
            if -len(records) <= idx < len(records)
            else None
        )

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """End the messages of a status, or all."""
        await run_in_thread(lambda: self._chats.end(key, self._chats.read(key, status)))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """End the oldest `n` active messages and return them."""
        return await run_in_thread(lambda: self._chats.end(key, self._oldest(key, n)))

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Mark the oldest `n` active messages as archived and return them."""
        return await run_in_thread(lambda: self._chats.archive(key, self._oldest(key, n)))

    async def get_keys(self) -> list[str]:
        """Return the keys of chats that have a message."""
        return await run_in_thread(self._chats.keys)

    def close(self) -> None:
        """Close the memory, if it was opened here."""
        self._chats.close()

    def _oldest(self, key: str, n: int) -> list[Record]:
        return self._chats.read(key, MessageStatus.ACTIVE)[: max(n, 0)]
