"""Protocols of a store: backup, verification, figures, and the optional abilities around them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from rememo.store.reports import Check, Stats, StoreHealth


class StoreMaintenance(Protocol):
    """Backup, verification and figures of the whole store."""

    def backup(self, path: str) -> None:
        """Write a consistent copy of the whole store to a new file while others go on writing."""
        ...

    def verify(self) -> Check:
        """Check that records, words, vectors and jobs agree."""
        ...

    def tenants(self) -> list[str]:
        """Return all tenants of which something is stored, sorted."""
        ...

    def health(self) -> StoreHealth:
        """Return how the whole store is."""
        ...

    def stats(self, tenant: str, moment: datetime, *, vectors: bool = True) -> Stats:
        """Count what is stored; what has expired does not count as a record or a key.

        Vectors take longest to count: without `vectors` there are none.
        """
        ...


@runtime_checkable
class ReadOnlyAware(Protocol):
    """Lying where nothing can be written: what a store may have to live with."""

    def is_read_only(self) -> bool:
        """Return whether nothing can be written: writes raise `ReadOnlyStore`, and reads go on."""
        ...


@runtime_checkable
class IndexBuilding(Protocol):
    """Building indexes for what is too large to be compared whole: what a store may be able to do."""

    def build_index(self) -> Sequence[str]:
        """Build the indexes that are missing, while others go on; returns the names of all that are needed."""
        ...


@runtime_checkable
class BackupLog(Protocol):
    """Knowing the copies of the whole store that were made: what a store may be able to do."""

    def note_backup(self, path: str, moment: datetime) -> None:
        """Remember that a copy was made."""
        ...

    def backups(self) -> list[str]:
        """Return the copies that were made and are still where they were."""
        ...
