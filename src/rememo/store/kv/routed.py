"""Two stores of keys as one: what must not be lost stays with the records, short-term state is on a server of its own."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Literal, Protocol, Unpack

from rememo.errors import StorageError, Unavailable
from rememo.model.audit import NewAuditEntry
from rememo.model.health import Health
from rememo.store.kv.protocol import Entry, KeyValue, KeyValueErasure, KeyValueServer, SetOptions

Where = Literal["kept", "shared", "cache"]
"""With the records; on the server; on the server, and only a copy of what is kept elsewhere."""


class SharedKeys(KeyValue, KeyValueErasure, KeyValueServer, Protocol):
    """Keys on a server of their own."""


def separate_stores(kv: KeyValue) -> tuple[KeyValue, ...]:
    """Return the stores that keys may lie in, whichever of them a namespace belongs to now."""
    return (kv.kept, kv.shared) if isinstance(kv, RoutedKeyValue) else (kv,)


class RoutedKeyValue:
    """The `KeyValue` protocol over both; each namespace is wholly in one of them.

    When the server is lost, what is kept goes on; what is shared raises `Unavailable`, for nobody can tell whether it is
    there; and of caches nothing is found and nothing is held, so that their owners read what they are copies of. That a
    copy is out of date is told to the server or raises: an old copy must not come back with it.
    """

    def __init__(self, kept: KeyValue, shared: SharedKeys, where: Callable[[str], Where]) -> None:
        self.kept = kept
        self.shared = shared
        self._where = where

    def _of(self, space: str) -> KeyValue:
        return self.kept if self._where(space) == "kept" else self.shared

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry as it then is."""
        try:
            return self._of(space).get(tenant, space, key, moment)
        except Unavailable:
            if self._where(space) == "cache":
                return None
            raise

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value and return its version; None when it is not the expected one, or a cache cannot hold it now."""
        try:
            return self._of(space).set(tenant, space, key, value, moment, **options)
        except Unavailable:
            if self._where(space) == "cache":
                return None
            raise

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry; False when there was none."""
        return self._of(space).delete(tenant, space, key, moment, note=note)

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove every key that a glob pattern matches; returns how many."""
        return self._of(space).invalidate(tenant, space, pattern, moment, note=note)

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        return self._of(space).keys(tenant, space, pattern, moment)

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries, 0 for nothing there."""
        places = [self._where(space) == "kept" for space, _ in entries]
        versions = {
            is_kept: iter(
                store.versions(
                    tenant, [entry for entry, kept in zip(entries, places, strict=True) if kept is is_kept], moment
                )
            )
            for is_kept, store in ((True, self.kept), (False, self.shared))
            if is_kept in places
        }
        return tuple(next(versions[is_kept]) for is_kept in places)

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace, sorted by key."""
        return self._of(space).entries(tenant, space, moment)

    def spaces(self, tenant: str) -> list[str]:
        """Return the namespaces that hold an entry, sorted, from wherever each is now."""
        kept = {space for space in self.kept.spaces(tenant) if self._where(space) == "kept"}
        shared = {space for space in self.shared.spaces(tenant) if self._where(space) != "kept"}
        return sorted(kept | shared)

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant with its namespace, from wherever that is now."""
        for store, kept in ((self.kept, True), (self.shared, False)):
            for space, entry in store.dump(tenant, moment):
                # What lies in the other from before the choice was made is not seen, so it is not given.
                if (self._where(space) == "kept") is kept:
                    yield space, entry

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there."""
        return self._of(space).load(tenant, space, entry)

    def erase(self, tenant: str, doomed: Callable[[str, str], bool]) -> int:
        """Remove every entry that is doomed from both, whichever it belongs to now; returns how many."""
        if not isinstance(self.kept, KeyValueErasure):
            raise StorageError("the store beside the server cannot erase for good; only some can")
        return self.kept.erase(tenant, doomed) + self.shared.erase(tenant, doomed)

    def count(self, tenant: str, moment: datetime) -> int:
        """Return how many entries of a tenant are on the server."""
        return self.shared.count(tenant, moment)

    def sweep(self, tenant: str, moment: datetime) -> int:
        """Reclaim what has expired on the server."""
        return self.shared.sweep(tenant, moment)

    def health(self) -> Health:
        """Return how the server is, without asking it."""
        return self.shared.health()

    def close(self) -> None:
        """Let go of the server."""
        self.shared.close()
