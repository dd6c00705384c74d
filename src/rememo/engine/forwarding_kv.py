"""A key-value store that forwards every call to another one: a base class for those that add something to a few calls."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Unpack

from rememo.model.audit import NewAuditEntry
from rememo.store.kv.protocol import Entry, KeyValue, SetOptions


class ForwardingKeyValue:
    """Forwards every call."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry."""
        return self._kv.get(tenant, space, key, moment)

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value."""
        return self._kv.set(tenant, space, key, value, moment, **options)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry."""
        return self._kv.delete(tenant, space, key, moment, note=note)

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove what a pattern matches."""
        return self._kv.invalidate(tenant, space, pattern, moment, note=note)

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a pattern matches."""
        return self._kv.keys(tenant, space, pattern, moment)

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries."""
        return self._kv.versions(tenant, entries, moment)

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace."""
        return self._kv.entries(tenant, space, moment)

    def spaces(self, tenant: str) -> list[str]:
        """Return the namespaces that hold an entry, sorted."""
        return self._kv.spaces(tenant)

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant."""
        return self._kv.dump(tenant, moment)

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is."""
        return self._kv.load(tenant, space, entry)
