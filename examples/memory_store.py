"""A drop-in for agent frameworks with an async memory store: `add_message`, `get_history`, `clear`, `get_context_window`.

Give `RememoMemoryStore` to an agent where it takes a `BaseMemoryStore`: history, windows and limits are as before, and all of
it is durable, shared by processes and searched by meaning. `python memory_store.py [FILE]` talks to one.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from rememo import AsyncMemory


@dataclass
class Message:
    """A message as such frameworks have it; use theirs."""

    role: str
    content: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))


class RememoMemoryStore:
    """The messages of one session; several agents may share it."""

    def __init__(self, memory: AsyncMemory, session: str, *, agent: str | None = None) -> None:
        """Take a memory and the name of a session."""
        self._room = memory.scope(room=session, agent=agent)

    async def limit(
        self,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        eviction_strategy: Literal["fifo", "summarise"] = "fifo",
    ) -> None:
        """Keep no more than this; what is too much leaves, or becomes a summary."""
        await self._room.messages.limit(max_messages=max_messages, max_tokens=max_tokens, evict=eviction_strategy)

    async def add_message(self, message: Message) -> None:
        """Add a message; it is durable when this returns."""
        await self._room.messages.add(message.role, message.content, metadata=message.metadata, at=message.timestamp)

    async def get_history(
        self, limit: int | None = None, offset: int = 0, roles: Sequence[str] | None = None
    ) -> list[Message]:
        """Return the latest messages in their order; `offset` passes over the newest."""
        messages = await self._room.messages.history(limit or 10_000, offset, roles=roles)
        return [Message(message.role, message.content, message.metadata, message.at) for message in messages]

    async def get_context_window(self, max_tokens: int = 4_000) -> list[Message]:
        """Return the newest messages that fit."""
        messages = await self._room.messages.window(max_tokens)
        return [Message(message.role, message.content, message.metadata, message.at) for message in messages]

    async def search(self, query: str, top_k: int = 5) -> list[Message]:
        """Return the messages that answer a question, best first."""
        hits = await self._room.search(query, limit=top_k, kind="message")
        return [Message(str(hit.record.data["role"]), hit.text, hit.record.metadata, hit.record.at) for hit in hits]

    async def clear(self) -> None:
        """End all messages of the session."""
        await self._room.messages.clear()


async def main() -> None:
    """Talk until the input ends: `/history N`, `/window TOKENS`, `/search TEXT`, `/limit N`, `/clear`."""
    async with AsyncMemory(sys.argv[1] if len(sys.argv) > 1 else "memory_store.db") as memory:
        store = RememoMemoryStore(memory, "session-1", agent="Assistant")
        for line in map(str.strip, sys.stdin):
            command, _, rest = line.partition(" ")
            messages: list[Message] = []
            match command:
                case "/history":
                    messages = await store.get_history(int(rest))
                case "/window":
                    messages = await store.get_context_window(int(rest))
                case "/search":
                    messages = await store.search(rest, 1)
                case "/limit":
                    await store.limit(max_messages=int(rest))
                case "/clear":
                    await store.clear()
                case _:
                    await store.add_message(Message("user", line, {"length": len(line)}))
            print(f"{command if command.startswith('/') else 'added'}: {[message.content for message in messages]}")


if __name__ == "__main__":
    asyncio.run(main())
