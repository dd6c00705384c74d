"""Protocol of a store: removing records for good, an optional ability."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from rememo.model.audit import NewAuditEntry
from rememo.model.erasure import ErasureTarget
from rememo.model.record import Record
from rememo.store.audit_chain import AuditRow, Half
from rememo.store.byte_patterns import BytePatterns


@runtime_checkable
class RecordErasure(Protocol):
    """Removing for good, in short steps that are taken up again when somebody was interrupted: what a store may be able to do."""

    def begin_erasure(self, target: ErasureTarget, moment: datetime) -> int:
        """Note that an erasure has begun and return its number; the same one that was interrupted goes on."""
        ...

    def erasures(self, tenant: str) -> list[tuple[int, ErasureTarget | None]]:
        """Return what is being erased, or was when somebody was interrupted; None where only bytes are left to clean."""
        ...

    def erasure(self, number: int, tenant: str) -> tuple[datetime | None, dict[str, int]]:
        """Return when an erasure began, and what it has removed so far."""
        ...

    def marks(self, number: int, tenant: str) -> dict[str, Any]:
        """Return the ids of records that an erasure has removed, with what was noted of them."""
        ...

    def mark(self, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        """Note more of what an erasure must come back to."""
        ...

    def add_counts(self, number: int, tenant: str, counts: Mapping[str, int]) -> None:
        """Add to what an erasure has removed."""
        ...

    def forget_target(self, number: int, target: ErasureTarget) -> None:
        """Forget whom an erasure was about and what it removed; by a digest it is known again, with its counts."""
        ...

    def end_erasure(self, number: int, tenant: str) -> None:
        """Forget an erasure, when its bytes are cleaned and its receipt was returned."""
        ...

    def weigh(self, target: ErasureTarget) -> dict[str, int]:
        """Count the records that have a version within a target, and all versions of these."""
        ...

    def doomed(self, target: ErasureTarget, limit: int) -> list[Record]:
        """Return all versions of the first so many records that have one within a target."""
        ...

    def obliterate(self, number: int, tenant: str, marks: Mapping[str, Any], jobs: Sequence[str] = ()) -> None:
        """Remove every version of records for good, and note them as removed by an erasure, in one transaction.

        Jobs go with them, by their ids; one that is just being done is left to `forget`.
        """
        ...

    def drop_versions(self, number: int, tenant: str, id: str, below: int) -> None:
        """Remove the versions of a record before one, for good."""
        ...

    def versions(self, tenant: str, kinds: Sequence[str]) -> Iterator[Record]:
        """Give every version of some kinds, past ones too, record by record."""
        ...

    def forget(self, number: int, target: ErasureTarget, moment: datetime) -> int:
        """Remove the idempotency keys, jobs and snapshots of what an erasure removed.

        Returns how many jobs are just being done on it; they are left, and removed when it is called again.
        """
        ...

    def clean_jobs(self, number: int, tenant: str, *, jobs: Sequence[str], errors: Sequence[str]) -> None:
        """Remove jobs, and take the errors of others out, by their ids; what was removed counts for an erasure."""
        ...

    def redact(self, note: NewAuditEntry, choose: Callable[[AuditRow], Sequence[Half]]) -> int:
        """Take halves out of audit lines, those that `choose` names of each; a line of its own says which. Returns how many."""
        ...

    def purge(self, tenant: str, seconds: float) -> str | None:
        """Make the bytes of what was removed go; returns what others kept from going all the time that was given."""
        ...

    def remains(self, target: ErasureTarget, terms: Sequence[str]) -> dict[str, int]:
        """Count what the store still has of a target, and rows of words under some terms that lead nowhere."""
        ...

    def search_bytes(self, tenant: str, patterns: BytePatterns) -> dict[str, int]:
        """Look for texts in all that the store holds of a tenant, whatever it is for; returns how much was searched, by place.

        Where bytes of other tenants are searched with them, what these say is no leftover.
        """
        ...

    @property
    def beyond(self) -> tuple[str, ...]:
        """Where copies of what was removed may be that the store itself cannot reach."""
        ...
