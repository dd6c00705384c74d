"""Giving records other ids: what a store must do when the ids that it derives are derived in another way."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rememo.model.check import dump_json
from rememo.model.scope import Scope

STEP = 100
"""How many records one transaction renames: it holds the writer's place for some ten milliseconds."""


class VersionIdentity(NamedTuple):
    """One version of a record: what tells whether its id is a derived one."""

    id: str
    version: int
    kind: str
    scope: Scope
    source: str | None
    data: str
    """JSON text."""
    metadata: str
    """JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdChanges:
    """Which records get which ids, and how what refers to them is rewritten."""

    ids: Mapping[str, str]
    rewrite: Callable[[str], str]
    """Returns a JSON text with the other ids in it; doing it again changes nothing."""

    def changes(self, version: VersionIdentity) -> bool:
        """Whether anything of a version is another afterwards."""
        return (
            version.id in self.ids
            or self.rewrite(version.data) != version.data
            or self.rewrite(version.metadata) != version.metadata
        )

    def payload(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload of a job with the other ids in it."""
        return json.loads(self.rewrite(dump_json(dict(payload))))

    def reference(self, id: str) -> str:
        """Return the id that one record is meant by afterwards."""
        return json.loads(self.rewrite(dump_json(id)))


@runtime_checkable
class IdRenaming(Protocol):
    """Giving the records of a tenant other ids, in short steps, while others read and write."""

    def older_tenants(self) -> list[str]:
        """Return the tenants whose derived ids are still those of an earlier release, sorted."""
        ...

    def end_renaming(self, tenant: str) -> None:
        """Note that a tenant's derived ids are those of this release."""
        ...

    def identities(self, tenant: str) -> Iterator[VersionIdentity]:
        """Give every version of a tenant, past ones too, record by record."""
        ...

    def rename(self, tenant: str, ids: Sequence[str], renames: IdChanges) -> int:
        """Give records their other ids and rewrite what they refer to, all versions of them in one transaction.

        One that is gone, or whose other id is taken, is passed over. Returns how many versions were changed.
        """
        ...

    def rename_references(self, tenant: str, renames: IdChanges) -> None:
        """Rewrite what else refers to records: key-value state, jobs, idempotency keys, and erasures under way."""
        ...

    def rename_unreadable(self, tenant: str, rename: Callable[[str], str]) -> None:
        """Give the records of a tenant whose keys were dropped other ids, without reading what they hold."""
        ...
