"""Removing for good: versions with their words and vectors, keys, jobs, and the dead rows that deletion leaves behind.

A deleted row stays in its page until it is vacuumed, which must wait for those who may still see it. What the server has
copied elsewhere (its log, backups, replicas) no memory can reach: the receipt says so.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from rememo.errors import Busy
from rememo.model.erasure import ErasureTarget
from rememo.model.record import Record
from rememo.store.byte_patterns import BytePatterns
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import RECORD_COLUMNS
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.reading import to_record
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.table_names import table_name
from rememo.store.postgres.words import label_count, lost_count
from rememo.store.sql.erasure import SqlErasure

_CHUNK = 500
_PAUSE = 0.05
# The tenant's row first, as every write: two that take turns cannot wait for each other.
_LOCK = "INSERT INTO tenants AS held (tenant) VALUES (%s) ON CONFLICT (tenant) DO UPDATE SET epoch = held.epoch"
_BEGIN = """INSERT INTO erasures (tenant, number, target, counts, begun_at)
SELECT %(tenant)s, coalesce(max(number), 0) + 1, %(target)s, '{}', %(at)s FROM erasures WHERE tenant = %(tenant)s RETURNING number"""
_MARK = """INSERT INTO erased (tenant, erasure, id, note) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant, erasure, id) DO UPDATE SET note = excluded.note"""
_REMOVE = {
    table: f"DELETE FROM {table} WHERE tenant = %s AND number = ANY(%s::bigint[])"
    for table in ("words", "vectors", "records")
}
# Dead rows can go when nobody can see them any more: no transaction that began before, here or on a replica that says so.
_NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_SEEN_SINCE = """SELECT count(*) FROM (
  SELECT unnest(ARRAY[backend_xmin, backend_xid]) AS oldest FROM pg_stat_activity WHERE pid <> pg_backend_pid()
    AND coalesce(datname, current_database()) = current_database() AND backend_type <> 'autovacuum worker'
  UNION ALL SELECT xmin FROM pg_replication_slots
  UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()) AS others
WHERE oldest IS NOT NULL AND age(oldest) > age((%s::bigint & 4294967295)::text::xid)"""
_OWNED = """SELECT bool_and(CASE WHEN pg_has_role(relowner, 'USAGE') THEN true
  WHEN current_setting('server_version_num')::int >= 170000 THEN has_table_privilege(oid, 'MAINTAIN') ELSE false END) FROM pg_class
WHERE relnamespace = %s::regnamespace AND relname = ANY(%s::text[])"""
_SHARED = ("keys", "jobs", "snapshots", "kv", "audit", "erasures", "erased", "tenants")
_READABLE = """SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
WHERE table_schema = %(schema)s AND table_name IN (SELECT table_name FROM information_schema.columns
  WHERE table_schema = %(schema)s AND column_name = 'tenant')
AND table_name !~ '_[0-9]{2}$' AND column_name <> 'tenant'
AND data_type IN ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY', 'tsvector')
ORDER BY table_name, ordinal_position"""


class PostgresErasure(SqlErasure[PostgresDatabase, PostgresCodecs], PostgresPart):
    """The `RecordErasure` protocol on the server."""

    @property
    def _record_columns(self) -> str:
        return RECORD_COLUMNS

    def _read_record(self, row: Any, tenant: str, codec: PostgresCodec) -> Record:
        return to_record(row, tenant, codec)

    def _lock_for_erasure(self, session: PostgresSession, tenant: str) -> None:
        session.execute(_LOCK, (tenant,))

    def _insert_erasure(self, session: PostgresSession, tenant: str, target: str, at: int) -> int:
        return session.value(_BEGIN, {"tenant": tenant, "target": target, "at": at})

    def _put_mark(self, session: PostgresSession, tenant: str, number: int, id: str, note: Any, /) -> None:
        session.execute(_MARK, (tenant, number, id, note))

    def _remove_versions(
        self, session: PostgresSession, tenant: str, condition: str, values: Sequence[Any]
    ) -> dict[str, int]:
        session.execute(self.dialect.bump_epoch, (tenant,))
        rows = session.rows(f"SELECT number FROM records WHERE tenant = ? AND {condition}", (tenant, *values))
        if not rows:
            return {}
        numbers = [row[0] for row in rows]
        removed = {table: session.changed(sql, (tenant, numbers)) for table, sql in _REMOVE.items()}
        return {"versions": removed["records"], "words": removed["words"], "vectors": removed["vectors"]}

    def doomed(self, target: ErasureTarget, limit: int) -> list[Record]:
        """Return all versions of the first so many records that have one within a target."""
        tenant, codec = target.scope.tenant, self._codecs.get(target.scope.tenant)
        inside, values = self.dialect.target_condition(target)
        if target.ids is not None:
            ids = f"SELECT DISTINCT id FROM records WHERE {inside}"
        else:
            # Current and past versions have indexes of their own.
            part = f"SELECT id FROM records WHERE {inside} AND superseded_at IS "
            ids, values = f"({part} NULL LIMIT %s) UNION ({part} NOT NULL LIMIT %s)", [*values, limit, *values, limit]
        rows = self._database.rows(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE tenant = %s AND id IN (SELECT id FROM ({ids}) AS meant LIMIT %s)"
            " ORDER BY id, version",
            [tenant, *values, limit],
        )
        return [to_record(row, tenant, codec) for row in rows]

    # ---- bytes

    def purge(self, tenant: str, seconds: float) -> str | None:
        """Make the dead rows of what was removed go; returns what kept them from going all the time that was given."""
        part, schema = self._database.partition(tenant), self._database.schema
        tables = [f"{name}_{part}" for name in ("records", "words", "vectors")] + list(_SHARED)
        if not self._database.value(_OWNED, (schema, tables)):
            return "dead rows, which this role may not vacuum: run VACUUM as the owner of the tables"
        removed: int = self._database.value(_NEXT)
        ends = time.monotonic() + seconds
        while self._database.value(_SEEN_SINCE, (removed,)):
            if time.monotonic() >= ends:
                return "dead rows, which transactions that began before still see: erase again when they are over"
            time.sleep(_PAUSE)
        names = ", ".join(table_name(schema, table) for table in tables)
        try:
            self._database.alone(lambda session: session.execute(f"VACUUM {names}"))
        except Busy:
            return "dead rows, whose tables others are vacuuming: erase again when they are done"
        return None

    def remains(self, target: ErasureTarget, terms: Sequence[str]) -> dict[str, int]:
        """Count what the store still has of a target: records, words, and rows of words that lead nowhere."""
        scope = target.scope
        counts = {"records": len(self.doomed(target, 10))}
        if target.ids is None and [scope.agent, scope.user, scope.room].count(None) >= 2:  # noqa: PLR2004 - all but one
            counts["words"] = label_count(self._database, scope)
        blind_indexes = self._codecs.get(scope.tenant).blind_indexes
        forms = [form for term in terms for form in ((term,) if blind_indexes is None else blind_indexes(term))]
        counts["lost words"] = lost_count(self._database, scope.tenant, forms)
        return {name: count for name, count in counts.items() if count}

    def search_bytes(self, tenant: str, patterns: BytePatterns) -> dict[str, int]:
        """Look for texts in every readable column of the rows that a tenant has; returns how many of both."""
        columns: dict[str, list[str]] = {}
        for table, name, kind in self._database.rows(_READABLE, {"schema": self._database.schema}):
            columns.setdefault(table, []).append(_readable(name, kind))
        rows = size = 0
        for table in sorted(columns):
            for data in self._stream(table, columns[table], tenant):
                rows, size = rows + 1, size + len(data)
                patterns.search(data)
        return {"tables": len(columns), "rows": rows, "row_bytes": size}

    def _stream(self, table: str, columns: Sequence[str], tenant: str) -> Iterator[bytes]:
        name = table_name(self._database.schema, table)
        sql = f"SELECT {' || '.join(columns)} FROM {name} WHERE tenant = %s"
        with self._database.snapshot() as session:
            for (data,) in session.stream(sql, (tenant,), _CHUNK):
                yield data

    @property
    def beyond(self) -> tuple[str, ...]:
        """Where copies may be that the store cannot reach."""
        return (
            "the server's write-ahead log, until it is recycled, and where it is archived",
            "backups and replicas of the server",
            "free space in the server's files, until it is used again or VACUUM FULL writes them anew",
        )


def _readable(name: str, kind: str) -> str:
    """Return a column as bytes, with something between it and the next."""
    if kind == "bytea":
        return f"coalesce(\"{name}\", '') || '\\x0a'"
    text = f"array_to_string(\"{name}\", ' ')" if kind == "ARRAY" else f'"{name}"::text'
    return f"convert_to(coalesce({text}, '') || E'\\n', 'UTF8')"
