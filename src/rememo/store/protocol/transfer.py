"""Protocol of a store: export and import of versions."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from rememo.model.audit import NewAuditEntry
from rememo.model.scope import Scope
from rememo.store.versions import StoredVersion


class VersionTransfer(Protocol):
    """Export and import of versions as they are."""

    def dump(
        self, scope: Scope, known_at: datetime | None = None, *, ids: Sequence[str] | None = None
    ) -> Iterator[StoredVersion]:
        """Give every version within a scope, as of the call or as known before, in order of arrival; or of some records.

        Nothing is held up meanwhile.
        """
        ...

    def clashes(self, versions: Sequence[StoredVersion]) -> list[str]:
        """Return the ids of versions that are there already with another content."""
        ...

    def load(
        self, versions: Sequence[StoredVersion], note: NewAuditEntry | None = None, *, model: int | None = None
    ) -> int:
        """Store versions as they are; those already there are passed over. Returns how many were new.

        `model` is the number of the one that made their vectors; None where they have none. When the store has another
        in use, `ModelChanged` is raised and nothing is stored.
        `note` goes to the audit trail with them, with that number as its detail `versions`.
        """
        ...
