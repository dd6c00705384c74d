"""Key-value: short-term state with an end. Values are JSON text here; the typed face is `rememo.working.kv`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypedDict, Unpack, runtime_checkable

from rememo.model.audit import NewAuditEntry
from rememo.model.health import Health

FIELD = "kv"
"""The field that values are encrypted as."""
EMBED_CACHE = "embed.cache"
"""The namespace of vectors that were paid for: only a copy, so it is not counted, exported or spared by an erasure."""
LEDGER = "spending"
"""The namespace of what models cost, a page a day. It is exported, but it is nobody's key."""
UNCOUNTED = (EMBED_CACHE, LEDGER)
"""What is not counted as a tenant's keys. No view's own namespace has such a name."""


def value_identity(space: str, key: str) -> str:
    """Return what a value is encrypted for."""
    return f"{space}\0{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A value and what is known of it."""

    key: str
    value: str
    """JSON text."""
    version: int
    """Grows by one with every set; 0 stands for nothing there."""
    expires_at: datetime | None = None
    sliding: float | None = None
    """Seconds that each read adds to its life, for a sliding expiry."""


class SetOptions(TypedDict, total=False):
    """How `KeyValue.set` stores a value; what is left out is None or False."""

    ttl: float | None
    """Seconds that it lives from now; None: without end."""
    sliding: bool
    """Whether each read prolongs its life by `ttl` again."""
    keep_ttl: bool
    """Whether it lives until the end of the value that it replaces, which slides on if it did."""
    expected: int | None
    """The version that must be there (0: nothing), or nothing is stored."""
    note: NewAuditEntry | None


class KeyValue(Protocol):
    """Values by tenant, namespace and key. What has expired is not there, swept or not.

    A `note` goes to the audit trail with the change it belongs to, where one was made.
    """

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry as it then is: prolonged, when its expiry slides."""
        ...

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value and return its version; None when `expected` is not the version that is there."""
        ...

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry; False when there was none."""
        ...

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove every key that a glob pattern (`*`, `?`, `[…]`) matches; returns how many."""
        ...

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        ...

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries (namespace and key), 0 for nothing there; prolongs none, and is cheap."""
        ...

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace, sorted by key; looking at them so prolongs none."""
        ...

    def spaces(self, tenant: str) -> list[str]:
        """Return the namespaces that hold an entry, sorted; one whose entries have all expired may still be among them."""
        ...

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant with its namespace."""
        ...

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there; says whether it was stored."""
        ...


@runtime_checkable
class KeyValueErasure(Protocol):
    """Removing entries for good: what a store of keys may be able to do."""

    def erase(self, tenant: str, doomed: Callable[[str, str], bool]) -> int:
        """Remove every entry, expired or not, whose namespace and key are doomed; returns how many."""
        ...


@runtime_checkable
class KeyValueServer(Protocol):
    """What a store of keys has beside that is on a server other than the records'."""

    def health(self) -> Health:
        """Return how the server is, without asking it."""
        ...

    def count(self, tenant: str, moment: datetime) -> int:
        """Return how many entries of a tenant are there and not with the records."""
        ...

    def sweep(self, tenant: str, moment: datetime) -> int:
        """Reclaim what has expired of a tenant there; returns how many entries."""
        ...

    def close(self) -> None:
        """Let go of the server; the records' store is closed by its owner."""
        ...
