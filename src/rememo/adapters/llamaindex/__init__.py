"""Chats of LlamaIndex as rooms, and a block of its memory that recalls from everything that was said."""

from rememo.adapters.missing_framework import missing_framework

try:
    from rememo.adapters.llamaindex.chat_stores import RememoChatStore as RememoChatStore
    from rememo.adapters.llamaindex.chat_stores import RememoMemoryStore as RememoMemoryStore
    from rememo.adapters.llamaindex.memory_block import RememoMemoryBlock as RememoMemoryBlock
except ImportError as error:
    raise missing_framework("LlamaIndex", "llamaindex", error) from error

__all__ = ["RememoChatStore", "RememoMemoryBlock", "RememoMemoryStore"]
