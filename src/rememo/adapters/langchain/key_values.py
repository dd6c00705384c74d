"""LangChain's key-value stores and its cache of models' answers, in the short-term state of a scope."""

import json
from abc import abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, TypeVar

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, AIMessageChunk, ChatMessage, ChatMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from langchain_core.stores import BaseStore

from rememo.adapters.memory_holder import MemoryHolder, MemorySource
from rememo.collections.records import Duration
from rememo.errors import InvalidInput

_CACHED_TYPES: Final = (
    Generation, GenerationChunk, ChatGeneration, ChatGenerationChunk, AIMessage, AIMessageChunk, ChatMessage,
    ChatMessageChunk, HumanMessage,
)  # fmt: skip
"""The only classes that a cached answer is deserialized into."""
V = TypeVar("V")


class _KeyValueStore(MemoryHolder, BaseStore[str, V]):
    """Values by key in the `kv` of a memory, a view of one, or a memory at a path, which is closed with the store.

    Stores of other names, and of other scopes, are other stores. With `ttl`, values live that long.
    """

    def __init__(
        self, memory: MemorySource = "rememo.db", *, name: str = "values", ttl: Duration | None = None
    ) -> None:
        MemoryHolder.__init__(self, memory)
        self._kv = self._memory.kv
        self._home = f"langchain/{name}/"
        self._ttl = ttl

    @abstractmethod
    def _written(self, value: V) -> Any:
        """Return a value as JSON."""

    @abstractmethod
    def _read(self, written: Any) -> V:
        """Return what was written."""

    def mget(self, keys: Sequence[str]) -> list[V | None]:
        """Return the values of keys, in their order; None where there is none."""
        values = (self._kv.get(self._home + key) for key in keys)
        return [None if value is None else self._read(value["value"]) for value in values]

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Store values; one that cannot be stored is refused before any is."""
        for key, value in [(key, self._written(value)) for key, value in key_value_pairs]:
            self._kv.set(self._home + key, {"value": value}, ttl=self._ttl)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Remove keys; those that are not there are no error."""
        for key in keys:
            self._kv.delete(self._home + key)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys that begin with `prefix`, sorted."""
        pattern = "".join(
            f"[{character}]" if character in "*?[" else character for character in self._home + (prefix or "")
        )
        for key in self._kv.keys(f"{pattern}*"):
            yield key.removeprefix(self._home)


class RememoByteStore(_KeyValueStore[bytes]):
    """Bytes by key: what `CacheBackedEmbeddings` and `create_kv_docstore` stand on."""

    def _written(self, value: bytes) -> Any:
        if not isinstance(value, bytes | bytearray):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"a byte store holds bytes, not {type(value).__name__}; use RememoValueStore for JSON")
        return b64encode(value).decode()

    def _read(self, written: Any) -> bytes:
        return b64decode(written)


class RememoValueStore(_KeyValueStore[Any]):
    """JSON values by key."""

    def _written(self, value: Any) -> Any:
        try:
            return json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"this value is not JSON ({error}); convert it first") from None

    def _read(self, written: Any) -> Any:
        return written


class RememoCache(MemoryHolder, BaseCache):
    """Models' answers by prompt, for `set_llm_cache`, in the `kv` of a memory; with `ttl`, for that long."""

    def __init__(self, memory: MemorySource = "rememo.db", *, ttl: Duration | None = None) -> None:
        MemoryHolder.__init__(self, memory)
        self._ttl = ttl

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return this model's cached answer to this prompt, or None."""
        answers = self._memory.kv.get(_cache_key(prompt, llm_string))
        return None if answers is None else [loads(answer, allowed_objects=_CACHED_TYPES) for answer in answers]

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Cache this model's answer to this prompt."""
        written = [dumps(answer) for answer in return_val]
        self._memory.kv.set(_cache_key(prompt, llm_string), written, ttl=self._ttl)

    def clear(self, **kwargs: Any) -> None:  # noqa: ARG002 - as it is called
        """Delete all cached answers of this scope."""
        self._memory.kv.invalidate("langchain/answers/*")


def _cache_key(prompt: str, llm_string: str) -> str:
    return "langchain/answers/" + sha256(json.dumps([prompt, llm_string]).encode()).hexdigest()
