"""A version that a store has already, for loading versions from elsewhere beside it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from rememo.errors import AlreadyExists
from rememo.model.check import dump_json
from rememo.model.times import to_micros
from rememo.store.versions import StoredVersion

Content: TypeAlias = tuple[int, str, str, str, str]
"""When a version was recorded, its kind, text, data and metadata: what two versions of the same id and number must share."""


@dataclass(frozen=True, slots=True)
class ExistingVersion:
    """A version as the store has it."""

    number: int
    arrival: int
    created_at: int
    open: bool
    content: Content

    def need_same_content(self, stored: StoredVersion) -> None:
        """Raise `AlreadyExists` if a version from elsewhere says something else."""
        if self.content != content_of(stored):
            record = stored.record
            raise AlreadyExists(f"record {record.id!r} has another version {record.version} here; nothing was loaded")


def content_of(stored: StoredVersion) -> Content:
    """Return the content of a version from elsewhere."""
    record = stored.record
    return to_micros(record.recorded_at), record.kind, record.text, dump_json(record.data), dump_json(record.metadata)


def by_tenant(versions: Iterable[StoredVersion]) -> dict[str, list[StoredVersion]]:
    """Group versions by their tenant, in the order of tenants: two who load in it cannot wait for each other."""
    groups: dict[str, list[StoredVersion]] = {}
    for stored in versions:
        groups.setdefault(stored.record.scope.tenant, []).append(stored)
    return dict(sorted(groups.items()))
