"""Removing for good: versions with their words and vectors, keys, jobs, and the dead rows that deletion leaves behind.

A deleted row stays in its page until it is vacuumed, which must wait for those who may still see it. What the server has
copied elsewhere (its log, backups, replicas) no memory can reach: the receipt says so.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rememo.errors import Busy
from rememo.model.check import dump_json
from rememo.model.erasure import ErasureTarget
from rememo.model.record import Record
from rememo.model.times import from_micros, to_micros
from rememo.store.byte_patterns import BytePatterns
from rememo.store.cipher.payloads import decode_payload
from rememo.store.erasure import NOTE, add_up, tells_of
from rememo.store.postgres.filter_sql import RECORD_COLUMNS, within
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.reading import to_record
from rememo.store.postgres.session import Session
from rememo.store.postgres.words import label_count, lost_count

_CHUNK = 500
_PAUSE = 0.05
# The tenant's row first, as every write: two that take turns cannot wait for each other.
_TAKE = "INSERT INTO tenants AS held (tenant) VALUES (%s) ON CONFLICT (tenant) DO UPDATE SET epoch = held.epoch"
_TURN = "UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s"
_KNOWN = "SELECT number FROM erasures WHERE tenant = %s AND target = %s"
_BEGIN = """INSERT INTO erasures (tenant, number, target, counts, begun_at)
SELECT %(tenant)s, coalesce(max(number), 0) + 1, %(target)s, '{}', %(at)s FROM erasures WHERE tenant = %(tenant)s RETURNING number"""
_UNDER_WAY = "SELECT number, target FROM erasures WHERE tenant = %s ORDER BY number"
_ONE = "SELECT begun_at, counts FROM erasures WHERE tenant = %s AND number = %s"
_COUNTS = "SELECT counts FROM erasures WHERE tenant = %s AND number = %s FOR UPDATE"
_SET_COUNTS = "UPDATE erasures SET counts = %s WHERE tenant = %s AND number = %s"
_MARKS = "SELECT id, note FROM erased WHERE tenant = %s AND erasure = %s"
_MARK = """INSERT INTO erased (tenant, erasure, id, note) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant, erasure, id) DO UPDATE SET note = excluded.note"""
_FORGET_MARKS = "DELETE FROM erased WHERE tenant = %s AND erasure = %s"
_END = "DELETE FROM erasures WHERE tenant = %s AND number = %s"
_FORGET_TARGET = "UPDATE erasures SET target = NULL WHERE tenant = %s AND number = %s"
_OF_RECORDS = "SELECT number FROM records WHERE tenant = %s AND id = ANY(%s::text[])"
_BELOW = "SELECT number FROM records WHERE tenant = %s AND id = %s AND version < %s AND superseded_at IS NOT NULL"
_REMOVE = {
    table: f"DELETE FROM {table} WHERE tenant = %s AND number = ANY(%s::bigint[])"
    for table in ("words", "vectors", "records")
}
_VERSIONS = f"""SELECT {RECORD_COLUMNS} FROM records WHERE tenant = %s AND (id, version) > (%s, %s) AND kind = ANY(%s::text[])
ORDER BY id, version LIMIT {_CHUNK}"""
_KEYS = f"""SELECT scope, key, commit FROM keys WHERE tenant = %s AND (scope, key) > (%s, %s)
ORDER BY scope, key LIMIT {_CHUNK}"""
_JOBS = f"""SELECT id, payload, state, leased_until FROM jobs WHERE tenant = %s AND id > %s
ORDER BY id LIMIT {_CHUNK}"""
_DROP_KEYS = """DELETE FROM keys WHERE tenant = %s AND (scope, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"""
_DROP_JOBS = "DELETE FROM jobs WHERE tenant = %s AND id = ANY(%s::text[])"
_DROP_ENDED_JOBS = f"{_DROP_JOBS} AND state <> 'running'"
_DROP_ERRORS = "UPDATE jobs SET error = NULL WHERE tenant = %s AND id = ANY(%s::text[])"
_DROP_SNAPSHOTS = "DELETE FROM snapshots WHERE tenant = %s"
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
WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(%s::text[])"""
_SHARED = ("keys", "jobs", "snapshots", "kv", "audit", "erasures", "erased", "tenants")
_READABLE = """SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name IN (SELECT table_name FROM information_schema.columns
  WHERE table_schema = current_schema() AND column_name = 'tenant')
AND table_name !~ '_[0-9]{2}$' AND column_name <> 'tenant'
AND data_type IN ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY', 'tsvector')
ORDER BY table_name, ordinal_position"""


class PostgresErasure(PostgresPart):
    """The `Erasing` half of the store."""

    # ---- what is under way

    def begin_erasure(self, target: ErasureTarget, moment: datetime) -> int:
        """Note that an erasure has begun and return its number; the same one that was interrupted goes on."""
        tenant, text = target.scope.tenant, target.dumped()

        def begin(session: Session) -> int:
            session.execute(_TAKE, (tenant,))
            known: int | None = session.value(_KNOWN, (tenant, text))
            if known is not None:
                return known
            return session.value(_BEGIN, {"tenant": tenant, "target": text, "at": to_micros(moment)})

        return self._database.write(begin, repeatable=True)

    def erasures(self, tenant: str) -> list[tuple[int, ErasureTarget | None]]:
        """Return what is being erased, or was when somebody was interrupted; None where only bytes are left to clean."""
        rows = self._database.rows(_UNDER_WAY, (tenant,))
        return [(number, None if target is None else ErasureTarget.loaded(target)) for number, target in rows]

    def erasure(self, number: int, tenant: str) -> tuple[datetime | None, dict[str, int]]:
        """Return when an erasure began, and what it has removed so far."""
        row = self._database.row(_ONE, (tenant, number))
        # Gone when somebody else was at the same and has ended it.
        return (None, {}) if row is None else (from_micros(row[0]), json.loads(row[1]))

    def marks(self, number: int, tenant: str) -> dict[str, Any]:
        """Return the ids of records that an erasure has removed, with what was noted of them."""
        codec = self._codecs.get(tenant)
        rows = self._database.rows(_MARKS, (tenant, number))
        return {id: json.loads(codec.decode(note, NOTE, id, number)) for id, note in rows}

    def mark(self, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        """Note more of what an erasure must come back to."""
        if marks:
            self._codecs.write(self._database, lambda session: self._mark(session, number, tenant, marks), tenant)

    def _mark(self, session: Session, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        codec = self._codecs.locked(session, tenant)
        for id, note in marks.items():
            session.execute(_MARK, (tenant, number, id, codec.encode(dump_json(note), NOTE, id, number)))

    def add_counts(self, number: int, tenant: str, counts: Mapping[str, int]) -> None:
        """Add to what an erasure has removed."""
        self._database.write(lambda session: _count(session, number, tenant, counts))

    def end_erasure(self, number: int, tenant: str, *, cleaned: bool) -> None:
        """Forget what was erased: first whom it was about, then, with the bytes `cleaned`, that there was anything."""

        def end(session: Session) -> None:
            session.execute(_FORGET_MARKS, (tenant, number))
            session.execute(_END if cleaned else _FORGET_TARGET, (tenant, number))

        self._database.write(end, repeatable=True)

    # ---- records

    def weigh(self, target: ErasureTarget) -> dict[str, int]:
        """Count the records that have a version within a target, and all versions of these."""
        inside, values = within(target.scope)
        if target.ids is not None:
            inside, values = f"{inside} AND id = ANY(%s::text[])", [*values, list(target.ids)]
        records, versions = self._database.row(
            "SELECT count(DISTINCT id), count(*) FROM records"
            f" WHERE tenant = %s AND id IN (SELECT id FROM records WHERE {inside})",
            [target.scope.tenant, *values],
        )
        return {"records": records, "versions": versions}

    def doomed(self, target: ErasureTarget, limit: int) -> list[Record]:
        """Return all versions of the first so many records that have one within a target."""
        tenant, codec = target.scope.tenant, self._codecs.get(target.scope.tenant)
        inside, values = within(target.scope)
        if target.ids is not None:
            ids, found = (
                f"SELECT DISTINCT id FROM records WHERE {inside} AND id = ANY(%s::text[])",
                [*values, list(target.ids)],
            )
        else:
            # Current and past versions have indexes of their own.
            one = f"SELECT id FROM records WHERE {inside} AND superseded_at IS "
            ids, found = f"({one} NULL LIMIT %s) UNION ({one} NOT NULL LIMIT %s)", [*values, limit, *values, limit]
        rows = self._database.rows(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE tenant = %s AND id IN (SELECT id FROM ({ids}) AS meant LIMIT %s)"
            " ORDER BY id, version",
            [tenant, *found, limit],
        )
        return [to_record(row, tenant, codec) for row in rows]

    def obliterate(self, number: int, tenant: str, marks: Mapping[str, Any], jobs: Sequence[str] = ()) -> None:
        """Remove every version of records for good with their jobs, and note them as removed by an erasure.

        A job that is just being done is left to `forget`, which waits for it.
        """

        def run(session: Session) -> None:
            counts = _remove_versions(session, tenant, _OF_RECORDS, (tenant, list(marks)))
            counts["jobs"] = session.changed(_DROP_ENDED_JOBS, (tenant, list(jobs)))
            self._mark(session, number, tenant, marks)
            _count(session, number, tenant, {"records": len(marks), **counts})

        self._codecs.write(self._database, run, tenant)

    def drop_versions(self, number: int, tenant: str, id: str, below: int) -> None:
        """Remove the versions of a record before one, for good."""

        def run(session: Session) -> None:
            _count(session, number, tenant, _remove_versions(session, tenant, _BELOW, (tenant, id, below)))

        self._database.write(run)

    def versions(self, tenant: str, kinds: Sequence[str]) -> Iterator[Record]:
        """Give every version of some kinds, past ones too, record by record."""
        id, version, codec = "", 0, self._codecs.get(tenant)
        while rows := self._database.rows(_VERSIONS, (tenant, id, version, list(kinds))):
            for row in rows:
                yield to_record(row, tenant, codec)
            id, version = rows[-1][:2]

    # ---- what else tells of them

    def forget(self, number: int, target: ErasureTarget, moment: datetime) -> int:
        """Remove the idempotency keys, jobs and snapshots of what an erasure removed.

        Returns how many jobs are just being done on it; they are left, and removed when it is called again.
        """
        tenant, now = target.scope.tenant, to_micros(moment)
        gone, codec, running = self.marks(number, tenant), self._codecs.get(tenant), 0
        scope, key, job = "", "", ""
        while keys := self._database.rows(_KEYS, (tenant, scope, key)):
            scope, key = keys[-1][:2]
            going = [row[:2] for row in keys if tells_of(target, gone, row[0], row[2])]
            if going:
                scopes, names = map(list, zip(*going, strict=True))
                self._drop(number, tenant, "keys", _DROP_KEYS, (tenant, scopes, names))
        while jobs := self._database.rows(_JOBS, (tenant, job)):
            job = jobs[-1][0]
            ended: list[str] = []
            for id, payload, state, leased in jobs:
                if target.whole or decode_payload(payload, id, codec).get("record") in gone:
                    if state == "running" and (leased or 0) > now:
                        running += 1
                    else:
                        ended.append(id)
            if ended:
                self._drop(number, tenant, "jobs", _DROP_JOBS, (tenant, ended))
        if target.whole:
            self._database.write(lambda session: session.execute(_DROP_SNAPSHOTS, (tenant,)), repeatable=True)
        return running

    def clean_jobs(self, number: int, tenant: str, *, jobs: Sequence[str], errors: Sequence[str]) -> None:
        """Remove jobs, and take the errors of others out, by their ids; what was removed counts for an erasure."""
        if errors:
            self._drop(number, tenant, "job_errors", _DROP_ERRORS, (tenant, list(errors)))
        if jobs:
            self._drop(number, tenant, "jobs", _DROP_JOBS, (tenant, list(jobs)))

    def _drop(self, number: int, tenant: str, what: str, sql: str, values: Sequence[Any]) -> None:
        self._database.write(lambda session: _count(session, number, tenant, {what: session.changed(sql, values)}))

    # ---- bytes

    def purge(self, tenant: str, seconds: float) -> str | None:
        """Make the dead rows of what was removed go; returns what kept them from going all the time that was given."""
        part = self._database.partition(tenant)
        tables = [f"{name}_{part}" for name in ("records", "words", "vectors")] + list(_SHARED)
        if not self._database.value(_OWNED, (tables,)):
            return "dead rows, which this role may not vacuum: run VACUUM as the owner of the tables"
        removed: int = self._database.value(_NEXT)
        ends = time.monotonic() + seconds
        while self._database.value(_SEEN_SINCE, (removed,)):
            if time.monotonic() >= ends:
                return "dead rows, which transactions that began before still see: erase again when they are over"
            time.sleep(_PAUSE)
        try:
            self._database.alone(lambda session: session.execute(f"VACUUM {', '.join(tables)}"))
        except Busy:
            return "dead rows, whose tables others are vacuuming: erase again when they are done"
        return None

    def remains(self, target: ErasureTarget, terms: Sequence[str]) -> dict[str, int]:
        """Count what the store still has of a target: records, words, and rows of words that lead nowhere."""
        scope = target.scope
        found = {"records": len(self.doomed(target, 10))}
        if target.ids is None and [scope.agent, scope.user, scope.room].count(None) >= 2:  # noqa: PLR2004 - all but one
            found["words"] = label_count(self._database, scope)
        blind_indexes = self._codecs.get(scope.tenant).blind_indexes
        forms = [form for term in terms for form in ((term,) if blind_indexes is None else blind_indexes(term))]
        found["lost words"] = lost_count(self._database, scope.tenant, forms)
        return {name: count for name, count in found.items() if count}

    def search_bytes(self, tenant: str, patterns: BytePatterns) -> dict[str, int]:
        """Look for texts in every readable column of the rows that a tenant has; returns how many of both."""
        columns: dict[str, list[str]] = {}
        for table, name, kind in self._database.rows(_READABLE):
            columns.setdefault(table, []).append(_readable(name, kind))
        rows = size = 0
        for table in sorted(columns):
            for data in self._stream(table, columns[table], tenant):
                rows, size = rows + 1, size + len(data)
                patterns.search(data)
        return {"tables": len(columns), "rows": rows, "row_bytes": size}

    def _stream(self, table: str, columns: Sequence[str], tenant: str) -> Iterator[bytes]:
        sql = f"SELECT {' || '.join(columns)} FROM {table} WHERE tenant = %s"
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


def _remove_versions(session: Session, tenant: str, which: str, values: Sequence[Any]) -> dict[str, int]:
    """Remove versions with their words and vectors, so that every process sees it."""
    session.execute(_TURN, (tenant,))
    numbers = [row[0] for row in session.rows(which, values)]
    if not numbers:
        return {}
    removed = {table: session.changed(sql, (tenant, numbers)) for table, sql in _REMOVE.items()}
    return {"versions": removed["records"], "words": removed["words"], "vectors": removed["vectors"]}


def _count(session: Session, number: int, tenant: str, counts: Mapping[str, int]) -> None:
    held = session.value(_COUNTS, (tenant, number))
    session.execute(_SET_COUNTS, (add_up(held, counts), tenant, number))
