"""A block of LlamaIndex's memory."""

from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from rememo.adapters.json_values import storable_text
from rememo.adapters.llamaindex.chats import Chats
from rememo.adapters.threads import run_in_thread
from rememo.memory import Memory


class RememoMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's `Memory`: keeps the messages that leave the short-term memory, and recalls what helps.

    What is recalled are facts that hold now, passages, goals and the profile, from all chats of the same user and agent.
    Beside a `RememoMemoryStore` on the same memory say `accept_short_term_memory=False`: that one has the messages.
    """

    name: str = "memory"
    max_tokens: int = Field(default=1_000, description="The most that may be recalled for one question.")
    _chats: Chats = PrivateAttr()

    def __init__(self, memory: Memory | str | Path = "rememo.db", **fields: Any) -> None:
        """Recall from a memory, a view of one (of a user, say), or a memory at a path or address."""
        super().__init__(**fields)
        self._chats = Chats(memory)

    def close(self) -> None:
        """Close the memory, if it was opened here."""
        self._chats.close()

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_block_kwargs: Any
    ) -> str:
        questions = (
            storable_text(message.content or "")
            for message in reversed(messages or [])
            if message.role == MessageRole.USER
        )
        question = next((text for text in questions if text.strip()), "")
        return await run_in_thread(self._recall, question, session_id) if question else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        chats: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            more = dict(message.additional_kwargs)
            chats.setdefault(more.pop("session_id", None), []).append(
                message.model_copy(update={"additional_kwargs": more})
            )
        for key, chat_messages in chats.items():
            await run_in_thread(self._chats.write, key or self.name, chat_messages)

    def _recall(self, question: str, session_id: str | None) -> str:
        view = self._chats.room(session_id)
        context = view.context(question, max_tokens=self.max_tokens)
        if self.accept_short_term_memory:
            return context.text
        # The latest turns of the chat are in the short-term memory already.
        first = context.messages[0] if context.messages else {}
        return str(first["content"]) if first.get("role") == "system" else ""
