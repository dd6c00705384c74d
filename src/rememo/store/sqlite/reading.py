"""Reads: records by filter, their versions, and what a scope holds."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rememo.errors import Corrupt
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.cipher.codec import FieldCodec
from rememo.store.rows import make_record
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.filter_sql import RECORD_COLUMNS, count_by_index, labels_by_index, selects, union, within
from rememo.store.sqlite.part import SqlitePart
from rememo.store.versions import ChangeMark, RecordChange

_LATEST = 2**63 - 1
_CLOCK = """SELECT max(ifnull((SELECT recorded_at FROM records ORDER BY number DESC LIMIT 1), 0),
  ifnull((SELECT clock FROM tenants WHERE tenant = ?), 0))"""
_GET = f"""SELECT {RECORD_COLUMNS} FROM records
WHERE tenant = ? AND id = ? AND superseded_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"""


_NAMES = RECORD_COLUMNS.split(", ")
_SOURCE, _QUARANTINE, _DATA, _METADATA, _TEXT = (
    _NAMES.index(name) for name in ("source", "quarantine", "data", "metadata", "text")
)


def to_record(row: Any, tenant: str, codec: FieldCodec) -> Record:
    """Return the record of a row of `RECORD_COLUMNS`; one that cannot be a record raises `Corrupt`."""
    try:
        if codec.encrypted or bytes in (
            type(row[_TEXT]),
            type(row[_DATA]),
            type(row[_METADATA]),
            type(row[_QUARANTINE]),
        ):
            row = _opened(row, codec)
        return make_record(row, tenant)
    except (ValueError, TypeError, OverflowError) as error:
        raise Corrupt(
            f"a record of tenant {tenant!r} is damaged in the file ({error}); run `rememo repair` to save what can be read"
        ) from error


def _opened(row: Sequence[Any], codec: FieldCodec) -> list[Any]:
    """Return a row with its contents as they were before they were compressed or encrypted."""
    opened, id, version = list(row), row[0], row[1]
    for place in (_SOURCE, _QUARANTINE, _DATA, _METADATA, _TEXT):
        opened[place] = codec.decode_optional(row[place], _NAMES[place], id, version)
    return opened


class SqliteReading(SqlitePart):
    """The `Reading` half of the store."""

    def get(self, filter: Filter, moment: datetime) -> Record | None:
        """Return the one record that `filter.ids` names, or None."""
        scope = filter.scope
        if filter.ids is not None and filter.names_one:
            # The commonest question of all: the newest version by its key, without building a query for it.
            codec = self._codecs.get(scope.tenant)
            row = self._database.row(_GET, (scope.tenant, filter.ids[0], to_micros(moment)))
            if row is None:
                return None
            record = to_record(row, scope.tenant, codec)
            return record if scope.contains(record.scope) and filter.reaches(record) else None
        codec = self._codecs.get(scope.tenant)
        sql, values = union(selects(filter, moment, RECORD_COLUMNS))
        row = self._database.row(sql, values)
        return None if row is None else to_record(row, scope.tenant, codec)

    def read(
        self, filter: Filter, moment: datetime, *, limit: int | None = None, offset: int = 0, oldest: bool = False
    ) -> list[Record]:
        """Return the latest `limit` records, oldest first; `offset` passes over the newest."""
        codec = self._codecs.get(filter.scope.tenant)
        order = "at, arrival" if oldest else "at DESC, arrival DESC"
        most = -1 if limit is None else limit
        reach = -1 if limit is None else limit + offset
        queries = selects(filter, moment, f"{RECORD_COLUMNS}, at, arrival", f" ORDER BY {order} LIMIT ?", [reach])
        if len(queries) > 1:
            # Find which ones first: long texts of rows that are not wanted stay on their pages.
            inner, values = union(selects(filter, moment, "at, arrival, number", f" ORDER BY {order} LIMIT ?", [reach]))
            chosen = f"SELECT number FROM ({inner}) ORDER BY {order} LIMIT ? OFFSET ?"
            sql = f"SELECT {RECORD_COLUMNS}, at, arrival FROM records WHERE number IN ({chosen}) ORDER BY at, arrival"
            rows = self._database.rows(sql, [*values, most, offset])
        else:
            sql, values = queries[0]
            rows = self._database.rows(sql, values)[offset:]
            if not oldest:
                rows.reverse()
        return [to_record(row[:-2], filter.scope.tenant, codec) for row in rows]

    def count(self, filter: Filter, moment: datetime) -> int:
        """Return how many records a filter means."""
        self._codecs.get(filter.scope.tenant)
        sql, values = count_by_index(filter, moment) or union(selects(filter, moment, "count(*) AS found"))
        return sum(row[0] for row in self._database.rows(sql, values))

    def history(self, scope: Scope, id: str) -> list[Record]:
        """Return all versions of a record within a scope, oldest first."""
        codec = self._codecs.get(scope.tenant)
        sql, values = within(scope)
        rows = self._database.rows(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE {sql} AND id = ? ORDER BY version", [*values, id]
        )
        return [to_record(row, scope.tenant, codec) for row in rows]

    def touched(self, scope: Scope, since: datetime, until: datetime | None, moment: datetime) -> list[str]:
        """Return the ids of records within a scope that changed or expired after `since`, up to `until` or until now."""
        sql, values = within(scope)
        span = [to_micros(since), _LATEST if until is None else to_micros(until)]
        ends = [to_micros(since), to_micros(moment if until is None else until)]
        with self._database.snapshot() as connection:
            loaded: int = connection.execute("SELECT ifnull(max(loaded), 0) FROM tenants").get
            first = _first_after(connection, span[0], loaded)
            rows = connection.execute(
                f"SELECT id FROM records WHERE {sql} AND (number >= ? OR number <= ?) AND recorded_at > ? AND recorded_at <= ?"
                f" UNION SELECT id FROM records WHERE {sql} AND superseded_at > ? AND superseded_at <= ?"
                f" UNION SELECT id FROM records WHERE {sql} AND expires_at > ? AND expires_at <= ?",
                [*values, first, loaded, *span, *values, *span, *values, *ends],
            ).fetchall()
        return [row[0] for row in rows]

    def changes(self, scope: Scope, after: ChangeMark, limit: int) -> list[RecordChange]:
        """Return the first versions within a scope that began or were ended by a delete after a mark, in their order."""
        codec = self._codecs.get(scope.tenant)
        inside, values = within(scope)
        began = f"SELECT {RECORD_COLUMNS}, recorded_at, 1, number FROM records WHERE {inside} AND (recorded_at, 1, number) > (?, ?, ?)"
        with self._database.snapshot() as connection:
            loaded: int = connection.execute("SELECT ifnull(max(loaded), 0) FROM tenants").get
            first = _first_after(connection, after[0] - 1, loaded)
            rows = [
                # Past what was loaded, numbers rise with system times.
                *connection.execute(
                    f"{began} AND number >= ? ORDER BY number LIMIT ?", [*values, *after, first, limit]
                ),
                *connection.execute(
                    f"{began} AND number <= ? ORDER BY recorded_at, number LIMIT ?", [*values, *after, loaded, limit]
                ),
                *connection.execute(
                    f"SELECT {RECORD_COLUMNS}, superseded_at, 0, number FROM records"
                    f" WHERE {inside} AND deleted AND superseded_at >= ? AND (superseded_at, 0, number) > (?, ?, ?)"
                    " ORDER BY superseded_at, number LIMIT ?",
                    [*values, after[0], *after, limit],
                ),
            ]
        changes = [RecordChange(row[-3:], to_record(row[:-3], scope.tenant, codec)) for row in rows]
        return sorted(changes, key=lambda change: change.mark)[:limit]

    def clock(self, tenant: str, /) -> int:
        """Return the system time of a tenant's last write in microseconds, or a later one; 0 where there was none."""
        return self._database.value(_CLOCK, (tenant,))

    def labels(self, filter: Filter, name: str, moment: datetime) -> list[str]:
        """Return the agents, users or rooms of the records that a filter means, sorted."""
        self._codecs.get(filter.scope.tenant)
        column = {"agent": "agent", "user": "user", "room": "room"}[name]
        by_index = labels_by_index(filter, column, moment)
        if by_index is None:
            sql, values = union(selects(filter, moment, f"DISTINCT {column} AS label"))
            by_index = f"SELECT DISTINCT label FROM ({sql}) WHERE label IS NOT NULL ORDER BY label", values
        return [row[0] for row in self._database.rows(*by_index)]


def _first_after(connection: Connection, since: int, loaded: int) -> int:
    """Return the first number past `loaded` whose system time is later: from there on they only rise."""
    low, high = loaded, (connection.execute("SELECT max(number) FROM records").get or 0) + 1
    while high - low > 1:
        middle = (low + high) // 2
        row = connection.execute(
            "SELECT number, recorded_at FROM records WHERE number >= ? ORDER BY number LIMIT 1", (middle,)
        ).get
        if row is None or row[1] > since:
            high = middle
        else:
            low = max(middle, row[0])
    return high
