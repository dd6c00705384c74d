"""The key-value store that FastMCP and others keep their state in, by the protocol of py-key-value."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Final, cast
from urllib.parse import quote, unquote

from rememo.adapters.missing_framework import missing_framework
from rememo.adapters.threads import run_in_thread
from rememo.errors import InvalidInput
from rememo.memory import Memory

try:
    from key_value.aio._utils.managed_entry import ManagedEntry
    from key_value.aio.errors import SerializationError
    from key_value.aio.stores.base import (
        SEED_DATA_TYPE,
        BaseContextManagerStore,
        BaseDestroyCollectionStore,
        BaseDestroyStore,
        BaseEnumerateCollectionsStore,
        BaseEnumerateKeysStore,
    )
except ImportError as error:
    raise missing_framework("FastMCP", "fastmcp", error) from error

_PREFIX: Final = "key_value/"
_MAX_NAME: Final = 200
_HASHED: Final = "="
"""No quoted name begins with it: it marks the hash of a name that is too long for a key."""
_ERRORS: Final = "surrogatepass"


class RememoKeyValueStore(
    BaseContextManagerStore,
    BaseDestroyStore,
    BaseDestroyCollectionStore,
    BaseEnumerateKeysStore,
    BaseEnumerateCollectionsStore,
):
    """Collections of values in the `kv` of one scope: what has expired is gone, and other scopes are others' stores.

    Names may be of any length and have any characters. A value that JSON cannot hold, or that is larger than the memory
    allows, raises `SerializationError`.
    """

    def __init__(
        self,
        memory: Memory | str | Path = "rememo.db",
        *,
        default_collection: str | None = None,
        seed: SEED_DATA_TYPE | None = None,
    ) -> None:
        """Keep values in a memory, a view of one, or a memory at a path or address, which is closed with the store."""
        is_given = isinstance(memory, Memory)
        self._opened = None if is_given else Memory(memory)
        self._kv = (memory if is_given else cast("Memory", self._opened)).kv
        super().__init__(
            client_provided_by_user=is_given, default_collection=default_collection, seed=seed, stable_api=True
        )

    async def close(self) -> None:
        """Close the memory, if it was opened here; closing twice is harmless."""
        await super().close()
        if self._opened is not None:
            await run_in_thread(self._opened.close)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Close it."""
        await self.close()
        return None

    # ---- values

    async def _get_managed_entry(self, *, collection: str, key: str) -> ManagedEntry | None:
        return (await self._get_managed_entries(collection=collection, keys=[key]))[0]

    async def _get_managed_entries(self, *, collection: str, keys: Sequence[str]) -> list[ManagedEntry | None]:
        names = [_storage_key(collection, key) for key in keys]
        values = await run_in_thread(lambda: [self._kv.get(name) for name in names])
        return [None if value is None else self._serialization_adapter.load_dict(data=value) for value in values]

    async def _put_managed_entry(self, *, collection: str, key: str, managed_entry: ManagedEntry) -> None:
        await run_in_thread(self._put, collection, [key], [managed_entry])

    async def _put_managed_entries(
        self,
        *,
        collection: str,
        keys: Sequence[str],
        managed_entries: Sequence[ManagedEntry],
        ttl: float | None,  # noqa: ARG002 - each entry tells it too
        created_at: datetime,  # noqa: ARG002
        expires_at: datetime | None,  # noqa: ARG002
    ) -> None:
        await run_in_thread(self._put, collection, keys, managed_entries)

    async def _delete_managed_entry(self, *, key: str, collection: str) -> bool:
        return bool(await self._delete_managed_entries(keys=[key], collection=collection))

    async def _delete_managed_entries(self, *, keys: Sequence[str], collection: str) -> int:
        names = [_storage_key(collection, key) for key in keys]
        return await run_in_thread(lambda: sum(self._kv.delete(name) for name in names))

    def _put(self, collection: str, keys: Sequence[str], entries: Sequence[ManagedEntry]) -> None:
        # All are serialized before the first is stored: one that is not JSON keeps the others out too.
        written = [entry.value_as_json for entry in entries]
        for key, entry, text in zip(keys, entries, written, strict=True):
            name, ttl = _storage_key(collection, key), entry.ttl
            if ttl is not None and ttl <= 0:
                self._kv.delete(name)
                continue
            data = self._serialization_adapter.dump_dict(entry) | {"name": _quoted_name(collection, key)}
            try:
                self._kv.set(name, data, ttl=ttl)
            except InvalidInput:
                # NUL characters, deep nesting and the like: text can hold them where a value cannot.
                self._set(name, data | {"value": text}, ttl)

    def _set(self, name: str, data: dict[str, Any], ttl: float | None) -> None:
        try:
            self._kv.set(name, data, ttl=ttl)
        except InvalidInput as error:
            raise SerializationError(f"this value cannot be stored: {error}") from error

    # ---- names

    async def _get_collection_keys(self, *, collection: str, limit: int | None = None) -> list[str]:
        names = await run_in_thread(self._names, f"{_PREFIX}{_key_part(_quote(collection))}/*")
        return [key for _, key in names][: limit or None]

    async def _get_collection_names(self, *, limit: int | None = None) -> list[str]:
        names = await run_in_thread(self._names, f"{_PREFIX}*")
        return list(dict.fromkeys(collection for collection, _ in names))[: limit or None]

    def _names(self, pattern: str) -> list[tuple[str, str]]:
        """Return collections and keys, in order; names that are too long for a key are read from their values."""
        quoted_names: list[str] = []
        for name in self._kv.keys(pattern):
            quoted = name.removeprefix(_PREFIX)
            if _HASHED in quoted:
                value = self._kv.get(name)
                if value is None:  # it has gone meanwhile
                    continue
                quoted = str(value["name"])
            quoted_names.append(quoted)
        parts = (quoted.partition("/") for quoted in quoted_names)
        return sorted((unquote(left, errors=_ERRORS), unquote(right, errors=_ERRORS)) for left, _, right in parts)

    # ---- ends

    async def _delete_collection(self, *, collection: str) -> bool:
        return bool(await run_in_thread(self._kv.invalidate, f"{_PREFIX}{_key_part(_quote(collection))}/*"))

    async def _delete_store(self) -> bool:
        await run_in_thread(self._kv.invalidate, f"{_PREFIX}*")
        return True


def _quote(name: str) -> str:
    """Return a name quoted so that no character means anything to a pattern."""
    return quote(name, safe="", errors=_ERRORS)


def _quoted_name(collection: str, key: str) -> str:
    return f"{_quote(collection)}/{_quote(key)}"


def _storage_key(collection: str, key: str) -> str:
    """Return the key under which a value is stored."""
    left, _, right = _quoted_name(collection, key).partition("/")
    return f"{_PREFIX}{_key_part(left)}/{_key_part(right)}"


def _key_part(quoted: str) -> str:
    return quoted if len(quoted) <= _MAX_NAME else _HASHED + sha256(quoted.encode()).hexdigest()
