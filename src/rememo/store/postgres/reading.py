"""Reads: records by filter, their versions, and what a scope holds."""

from datetime import datetime
from typing import Any

from rememo.errors import Corrupt
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.postgres.part import Part
from rememo.store.postgres.queries import COLUMNS, CURRENT_BY_ID, select, select_ordered, within
from rememo.store.rows import make_record

_LATEST = 2**63 - 1
_GET = f"""SELECT {COLUMNS} FROM records_{{part}}
WHERE tenant = %s AND id = %s AND {CURRENT_BY_ID} AND (expires_at IS NULL OR expires_at > %s)"""
# The walk back from the newest ends at the first one known before: what it has passed is what was asked for.
_FIRST_AFTER = """SELECT coalesce((SELECT number FROM records WHERE tenant = %(tenant)s AND recorded_at <= %(since)s
  AND number > (SELECT loaded FROM tenants WHERE tenant = %(tenant)s) ORDER BY number DESC LIMIT 1),
  (SELECT loaded FROM tenants WHERE tenant = %(tenant)s), 0), coalesce((SELECT loaded FROM tenants WHERE tenant = %(tenant)s), 0)"""


def to_record(row: Any, tenant: str) -> Record:
    """Return the record of a row of `COLUMNS`; one that cannot be a record raises `Corrupt`."""
    try:
        return make_record(row, tenant)
    except (ValueError, TypeError, OverflowError) as error:
        raise Corrupt(
            f"a record of tenant {tenant!r} is damaged in the database ({error}); restore it from a backup"
        ) from error


class Reader(Part):
    """The `Reading` half of the store."""

    def get(self, filter: Filter, moment: datetime) -> Record | None:
        """Return the one record that `filter.ids` names, or None."""
        scope = filter.scope
        if filter.ids is not None and filter.names_one:
            # The commonest question of all: in the tenant's own partition it is planned once and not for each id.
            sql = _GET.format(part=self._database.partition(scope.tenant))
            row = self._database.row(sql, (scope.tenant, filter.ids[0], to_micros(moment)))
            if row is None:
                return None
            record = to_record(row, scope.tenant)
            return record if scope.contains(record.scope) and filter.reaches(record) else None
        row = self._database.row(*select(filter, moment, COLUMNS))
        return None if row is None else to_record(row, scope.tenant)

    def read(
        self, filter: Filter, moment: datetime, *, limit: int | None = None, offset: int = 0, oldest: bool = False
    ) -> list[Record]:
        """Return the latest `limit` records, oldest first; `offset` passes over the newest."""
        most = None if limit is None else limit + offset
        rows = self._database.rows(*select_ordered(filter, moment, COLUMNS, oldest=oldest, most=most))[offset:]
        if not oldest:
            rows.reverse()
        return [to_record(row[:-2], filter.scope.tenant) for row in rows]

    def count(self, filter: Filter, moment: datetime) -> int:
        """Return how many records a filter means."""
        return sum(row[0] for row in self._database.rows(*select(filter, moment, "count(*)")))

    def history(self, scope: Scope, id: str) -> list[Record]:
        """Return all versions of a record within a scope, oldest first."""
        inside, values = within(scope)
        rows = self._database.rows(
            f"SELECT {COLUMNS} FROM records WHERE {inside} AND id = %s ORDER BY version", [*values, id]
        )
        return [to_record(row, scope.tenant) for row in rows]

    def touched(self, scope: Scope, since: datetime, until: datetime | None, moment: datetime) -> list[str]:
        """Return the ids of records within a scope that changed or expired after `since`, up to `until` or until now."""
        inside, values = within(scope)
        span = [to_micros(since), _LATEST if until is None else to_micros(until)]
        ends = [to_micros(since), to_micros(moment if until is None else until)]
        with self._database.snapshot() as session:
            first, loaded = session.row(_FIRST_AFTER, {"tenant": scope.tenant, "since": span[0]})
            rows = session.rows(
                f"SELECT id FROM records WHERE {inside} AND number > %s AND recorded_at > %s AND recorded_at <= %s"
                f" UNION SELECT id FROM records WHERE {inside} AND number <= %s AND recorded_at > %s AND recorded_at <= %s"
                f" UNION SELECT id FROM records WHERE {inside} AND superseded_at > %s AND superseded_at <= %s"
                f" UNION SELECT id FROM records WHERE {inside} AND expires_at > %s AND expires_at <= %s",
                [*values, first, *span, *values, loaded, *span, *values, *span, *values, *ends],
            )
        return [row[0] for row in rows]

    def labels(self, filter: Filter, name: str, moment: datetime) -> list[str]:
        """Return the agents, users or rooms of the records that a filter means, sorted."""
        column = {"agent": "agent", "user": '"user"', "room": "room"}[name]
        sql, values = select(filter, moment, f"{column} AS label")
        rows = self._database.rows(
            f"SELECT DISTINCT label FROM ({sql}) AS found WHERE label IS NOT NULL ORDER BY label", values
        )
        return [row[0] for row in rows]
