"""Protocol of a store: reading records."""

from datetime import datetime
from typing import Protocol

from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.versions import ChangeMark, RecordChange


class RecordReading(Protocol):
    """Finding records."""

    def get(self, filter: Filter, moment: datetime) -> Record | None:
        """Return the one record that `filter.ids` names, or None."""
        ...

    def read(
        self, filter: Filter, moment: datetime, *, limit: int | None = None, offset: int = 0, oldest: bool = False
    ) -> list[Record]:
        """Return the latest `limit` records, oldest first; `offset` passes over the newest.

        Order is by `Record.at`, ties by arrival. With `oldest` the first ones are taken instead of the latest.
        """
        ...

    def count(self, filter: Filter, moment: datetime) -> int:
        """Return how many records a filter means."""
        ...

    def history(self, scope: Scope, id: str) -> list[Record]:
        """Return all versions of a record within a scope, oldest first."""
        ...

    def touched(self, scope: Scope, since: datetime, until: datetime | None, moment: datetime) -> list[str]:
        """Return the ids of records within a scope that changed or expired after `since`, up to `until` or until now."""
        ...

    def changes(self, scope: Scope, after: ChangeMark, limit: int) -> list[RecordChange]:
        """Return the first versions within a scope that began or were ended by a delete after a mark, in their order.

        The system times of a tenant's writes rise in the order they are committed: what comes later is never before a mark.
        """
        ...

    def clock(self, tenant: str, /) -> int:
        """Return the system time of a tenant's last write in microseconds, or a later one; 0 where there was none."""
        ...

    def labels(self, filter: Filter, name: str, moment: datetime) -> list[str]:
        """Return the agents, users or rooms of the records that a filter means, sorted."""
        ...
