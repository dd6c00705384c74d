"""Reads: records by filter, their versions, and what a scope holds."""

from datetime import datetime
from typing import Any

from rememo.errors import Corrupt
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.postgres.codecs import PostgresCodec
from rememo.store.postgres.encrypted_filters import read_rows
from rememo.store.postgres.filter_sql import CURRENT_BY_ID, RECORD_COLUMNS, select, select_ordered, within
from rememo.store.postgres.part import PostgresPart
from rememo.store.rows import make_record
from rememo.store.versions import ChangeMark, RecordChange

_LATEST = 2**63 - 1
_GET = f"""SELECT {RECORD_COLUMNS} FROM records_{{part}}
WHERE tenant = %s AND id = %s AND {CURRENT_BY_ID} AND (expires_at IS NULL OR expires_at > %s)"""
# The walk back from the newest ends at the first one known before: what it has passed is what was asked for.
_FIRST_AFTER = """SELECT coalesce((SELECT number FROM records WHERE tenant = %(tenant)s AND recorded_at <= %(since)s
  AND number > (SELECT loaded FROM tenants WHERE tenant = %(tenant)s) ORDER BY number DESC LIMIT 1),
  (SELECT loaded FROM tenants WHERE tenant = %(tenant)s), 0), coalesce((SELECT loaded FROM tenants WHERE tenant = %(tenant)s), 0)"""


_NAMES = [name.strip('"') for name in RECORD_COLUMNS.split(", ")]
_TEXT = _NAMES.index("text")
_SEALED = [(_NAMES.index(name), name) for name in ("source", "quarantine", "data", "metadata")]


def to_record(row: Any, tenant: str, codec: PostgresCodec) -> Record:
    """Return the record of a row of `RECORD_COLUMNS`; one that cannot be a record raises `Corrupt`."""
    try:
        *plain, packed = row
        if codec.encrypted:
            for place, name in _SEALED:
                plain[place] = codec.decode_optional(plain[place], name, row[0], row[1])
        if codec.encrypted or packed is not None:
            plain[_TEXT] = codec.decode_text(plain[_TEXT], packed, row[0], row[1])
        return make_record(plain, tenant)
    except (ValueError, TypeError, OverflowError) as error:
        raise Corrupt(
            f"a record of tenant {tenant!r} is damaged in the database ({error}); restore it from a backup"
        ) from error


class PostgresReading(PostgresPart):
    """The `Reading` half of the store."""

    def get(self, filter: Filter, moment: datetime) -> Record | None:
        """Return the one record that `filter.ids` names, or None."""
        scope = filter.scope
        if filter.ids is not None and filter.names_one:
            # The commonest question of all: in the tenant's own partition it is planned once and not for each id.
            codec = self._codecs.get(scope.tenant)
            sql = _GET.format(part=self._database.partition(scope.tenant))
            row = self._database.row(sql, (scope.tenant, filter.ids[0], to_micros(moment)))
            if row is None:
                return None
            record = to_record(row, scope.tenant, codec)
            return record if scope.contains(record.scope) and filter.reaches(record) else None
        rows = self._select(filter, moment, RECORD_COLUMNS)
        return to_record(rows[0], scope.tenant, self._codecs.cached(scope.tenant)) if rows else None

    def _select(self, filter: Filter, moment: datetime, columns: str) -> list[Any]:
        return read_rows(
            self._database,
            filter,
            moment,
            lambda meant, numbers: select(meant, moment, columns, numbers),
            self._codecs,
        )

    def read(
        self, filter: Filter, moment: datetime, *, limit: int | None = None, offset: int = 0, oldest: bool = False
    ) -> list[Record]:
        """Return the latest `limit` records, oldest first; `offset` passes over the newest."""
        most = None if limit is None else limit + offset
        rows = read_rows(
            self._database,
            filter,
            moment,
            lambda meant, numbers: select_ordered(meant, moment, RECORD_COLUMNS, numbers, oldest=oldest, most=most),
            self._codecs,
        )[offset:]
        if not oldest:
            rows.reverse()
        codec = self._codecs.cached(filter.scope.tenant)
        return [to_record(row[:-2], filter.scope.tenant, codec) for row in rows]

    def count(self, filter: Filter, moment: datetime) -> int:
        """Return how many records a filter means."""
        return sum(row[0] for row in self._select(filter, moment, "count(*)"))

    def history(self, scope: Scope, id: str) -> list[Record]:
        """Return all versions of a record within a scope, oldest first."""
        codec = self._codecs.get(scope.tenant)
        inside, values = within(scope)
        rows = self._database.rows(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE {inside} AND id = %s ORDER BY version", [*values, id]
        )
        return [to_record(row, scope.tenant, codec) for row in rows]

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
                f" UNION SELECT id FROM records WHERE {inside} AND expires_at > %s AND expires_at <= %s ORDER BY id",
                [*values, first, *span, *values, loaded, *span, *values, *span, *values, *ends],
            )
        return [row[0] for row in rows]

    def changes(self, scope: Scope, after: ChangeMark, limit: int) -> list[RecordChange]:
        """Return the first versions within a scope that began or were ended by a delete after a mark, in their order."""
        codec = self._codecs.get(scope.tenant)
        inside, values = within(scope)
        began = f"SELECT {RECORD_COLUMNS}, recorded_at, 1, number FROM records WHERE {inside} AND (recorded_at, 1, number) > (%s, %s, %s)"
        with self._database.snapshot() as session:
            first, loaded = session.row(_FIRST_AFTER, {"tenant": scope.tenant, "since": after[0] - 1})
            rows = [
                # Past what was loaded, numbers rise with system times.
                *session.rows(f"{began} AND number > %s ORDER BY number LIMIT %s", [*values, *after, first, limit]),
                *session.rows(
                    f"{began} AND number <= %s ORDER BY recorded_at, number LIMIT %s", [*values, *after, loaded, limit]
                ),
                *session.rows(
                    f"SELECT {RECORD_COLUMNS}, superseded_at, 0, number FROM records"
                    f" WHERE {inside} AND deleted AND superseded_at >= %s AND (superseded_at, 0, number) > (%s, %s, %s)"
                    " ORDER BY superseded_at, number LIMIT %s",
                    [*values, after[0], *after, limit],
                ),
            ]
        changes = [RecordChange(row[-3:], to_record(row[:-3], scope.tenant, codec)) for row in rows]
        return sorted(changes, key=lambda change: change.mark)[:limit]

    def clock(self, tenant: str, /) -> int:
        """Return the system time of a tenant's last write in microseconds; 0 where there was none."""
        return self._database.value("SELECT clock FROM tenants WHERE tenant = %s", [tenant]) or 0

    def labels(self, filter: Filter, name: str, moment: datetime) -> list[str]:
        """Return the agents, users or rooms of the records that a filter means, sorted."""
        column = {"agent": "agent", "user": '"user"', "room": "room"}[name]
        rows = self._select(filter, moment, f"DISTINCT {column}")
        return sorted({row[0] for row in rows if row[0] is not None})
