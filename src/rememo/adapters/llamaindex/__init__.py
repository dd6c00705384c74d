"""Chats of LlamaIndex as rooms, and a block of its memory that recalls from everything that was said."""

from rememo.adapters.needs import needs

try:
    from rememo.adapters.llamaindex.block import RememoMemoryBlock as RememoMemoryBlock
    from rememo.adapters.llamaindex.stores import RememoChatStore as RememoChatStore
    from rememo.adapters.llamaindex.stores import RememoMemoryStore as RememoMemoryStore
except ImportError as error:
    raise needs("LlamaIndex", "llamaindex", error) from error

__all__ = ["RememoChatStore", "RememoMemoryBlock", "RememoMemoryStore"]
