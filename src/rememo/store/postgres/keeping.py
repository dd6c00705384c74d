"""Snapshots, taking everything away and bringing it back, sweeping, and what there is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from rememo.errors import StorageError
from rememo.model.audit import NewAuditEntry
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.audit_chain import with_counts
from rememo.store.commits import draft_of, jobs_with_embedding
from rememo.store.filter_sql import IS_LISTED
from rememo.store.kv.protocol import UNCOUNTED
from rememo.store.postgres.audit_entries import append_audit_entry
from rememo.store.postgres.citus import NODES, NOT_SPREAD, SIZE
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import RECORD_COLUMNS, within
from rememo.store.postgres.key_value import sweep_expired
from rememo.store.postgres.new_jobs import job_rows, store_jobs
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.reading import to_record
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.vectors import VectorTable, column, from_wire
from rememo.store.postgres.writing import MOVE_ON, Version, close_versions, store_versions
from rememo.store.reports import Stats, StoreHealth
from rememo.store.sql.existing_version import ExistingVersion, by_tenant, content_of
from rememo.store.sql.models import model_in_use, need_model
from rememo.store.sql.snapshots import SqlSnapshots
from rememo.store.versions import StoredVersion
from rememo.store.writes import Written

_CHUNK = 500
# Makes the tenant's row, takes it, and sees that no later system time is earlier than one that was brought here.
_TAKE = """INSERT INTO tenants AS held (tenant, clock) VALUES (%s, %s)
ON CONFLICT (tenant) DO UPDATE SET clock = greatest(held.clock, excluded.clock) RETURNING number, sealed_by"""
_LOADED = (
    "UPDATE tenants SET clock = greatest(clock, %s), number = %s, loaded = %s, epoch = epoch + 1 WHERE tenant = %s"
)
_NEWEST = "SELECT number, clock FROM tenants WHERE tenant = %s"
_EXISTING = """SELECT id, version, number, arrival, created_at, superseded_at, recorded_at, kind, text, packed, data, metadata FROM records
WHERE tenant = %s AND (id, version) IN (SELECT * FROM unnest(%s::text[], %s::int[]))"""
# A version that comes back takes its time back from the one that took it over when it was thinned.
_GIVE_BACK = """UPDATE records SET superseded_at = %s
WHERE tenant = %s AND id = %s AND version < %s AND superseded_at > %s"""
_EXPIRED_TENANTS = """SELECT tenant FROM records WHERE expires_at <= %s AND superseded_at IS NULL
GROUP BY tenant ORDER BY tenant LIMIT %s"""
_EXPIRED = "SELECT number FROM records WHERE tenant = %s AND expires_at <= %s AND superseded_at IS NULL LIMIT %s"
_OLD_KEYS = "SELECT DISTINCT tenant FROM keys WHERE at < %s ORDER BY tenant LIMIT %s"
_FORGET_KEYS = """DELETE FROM keys WHERE tenant = %(tenant)s AND (scope, key) IN
(SELECT scope, key FROM keys WHERE tenant = %(tenant)s AND at < %(before)s LIMIT %(limit)s FOR UPDATE SKIP LOCKED)"""
_OLD_JOBS = "SELECT DISTINCT tenant FROM jobs WHERE state = 'done' AND created_at < %s ORDER BY tenant LIMIT %s"
_FORGET_JOBS = """DELETE FROM jobs WHERE tenant = %(tenant)s AND id IN (SELECT id FROM jobs
WHERE tenant = %(tenant)s AND state = 'done' AND created_at < %(before)s LIMIT %(limit)s FOR UPDATE SKIP LOCKED)"""
_KINDS = f"""SELECT kind, count(*) FROM records WHERE tenant = %s AND superseded_at IS NULL
AND (expires_at IS NULL OR expires_at > %s) AND {IS_LISTED} GROUP BY kind"""
_COUNTS = """SELECT (SELECT count(*) FROM records WHERE tenant = %(tenant)s),
  CASE WHEN %(vectors)s THEN
    (SELECT count(*) FROM vectors WHERE tenant = %(tenant)s AND model = (SELECT model FROM models WHERE current)) ELSE 0 END,
  (SELECT count(*) FROM kv
   WHERE tenant = %(tenant)s AND (expires_at IS NULL OR expires_at > %(now)s) AND space <> ALL(%(hidden)s))"""
_READ_ONLY = "the server can only be read: it follows another"
_WRITE_ELSEWHERE = "write to the server that it follows"
_IS_STANDBY = "SELECT pg_is_in_recovery()"
_NO_PGVECTOR = "the server has no pgvector: vectors are compared in this process, which is slow in large scopes"
_GET_PGVECTOR = "install pgvector on the server, then open the memory again"
_NOT_SPREAD = "some tables are on the coordinator alone: {tables}"
_SPREAD_THEM = "run `rememo migrate --citus` again: it goes on where it was interrupted"
_TENANTS = """SELECT tenant FROM (SELECT tenant FROM records UNION SELECT tenant FROM kv UNION SELECT tenant FROM jobs) AS stored
ORDER BY tenant COLLATE "C\""""
_ALL_JOBS = "SELECT state, count(*) FROM jobs GROUP BY state"
_JOBS = "SELECT state, count(*) FROM jobs WHERE tenant = %s GROUP BY state"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = %s::regnamespace AND relkind = 'r'"""


class PostgresKeeping(SqlSnapshots[PostgresDatabase, PostgresCodecs], PostgresPart):
    """Snapshots, export and import, expiry, and figures of the store."""

    def _advance_clock(self, session: PostgresSession, tenant: str, moment: datetime) -> int:
        return session.row(MOVE_ON, {"tenant": tenant, "opening": 0, "now": to_micros(moment)})[1]

    def _raise_clock(self, session: PostgresSession, tenant: str, at: int) -> None:
        session.execute(_TAKE, (tenant, at))

    # ---- taking away and bringing back

    def dump(
        self, scope: Scope, known_at: datetime | None = None, *, ids: Sequence[str] | None = None
    ) -> Iterator[StoredVersion]:
        """Give every version within a scope, as of the call or as known before, in order of arrival."""
        # Versions never change but for their end, so reading in steps gives one state: later ends are left out.
        last, clock = self._database.row(_NEWEST, (scope.tenant,)) or (0, 0)
        clock = clock if known_at is None else min(clock, to_micros(known_at))
        inside, values = within(scope)
        if ids is not None:
            inside, values = f"{inside} AND id = ANY(%s)", [*values, list(ids)]
        codec = self._codecs.get(scope.tenant)
        vectors = (
            f"(SELECT {column(codec)} FROM vectors WHERE vectors.tenant = records.tenant"
            " AND vectors.model = (SELECT model FROM models WHERE current) AND vectors.number = records.number)"
        )
        sql = (
            f"SELECT {RECORD_COLUMNS}, speaker, (SELECT model FROM models WHERE current), {vectors}, number"
            f" FROM records WHERE {inside} AND number > %s AND number <= %s ORDER BY number LIMIT {_CHUNK}"
        )
        number = 0
        while rows := self._database.rows(sql, [*values, number, last]):
            codec = self._codecs.get(scope.tenant)
            for *row, speaker, model, kept, number in rows:
                record = to_record(row, scope.tenant, codec)
                if to_micros(record.recorded_at) > clock:
                    continue
                if record.superseded_at is not None and to_micros(record.superseded_at) > clock:
                    record = replace(record, superseded_at=None, deleted=False)
                blob = None if kept is None else from_wire(model, [(number, kept)], codec)[number]
                vector = None if blob is None else np.frombuffer(blob, np.float32)
                yield StoredVersion(record=record, speaker=codec.decode_name(speaker), vector=vector)

    def clashes(self, versions: Sequence[StoredVersion]) -> list[str]:
        """Return the ids of versions that are there already with another content."""
        clashing: list[str] = []
        groups = by_tenant(versions)
        codecs = {tenant: self._codecs.get(tenant) for tenant in groups}
        with self._database.snapshot() as session:
            for tenant, group in groups.items():
                existing_versions = _existing_versions(session, tenant, group, codecs[tenant])
                for stored in group:
                    existing = existing_versions.get((stored.record.id, stored.record.version))
                    if existing is not None and existing.content != content_of(stored):
                        clashing.append(stored.record.id)
        return clashing

    def load(
        self, versions: Sequence[StoredVersion], note: NewAuditEntry | None = None, *, model: int | None = None
    ) -> int:
        """Store versions as they are; those already there are passed over. Returns how many were new."""

        def store(session: PostgresSession) -> int:
            added = sum(self._load(session, tenant, group, model) for tenant, group in groups.items())
            if added and note is not None:
                append_audit_entry(session, with_counts(note, versions=added))
            return added

        groups = by_tenant(versions)
        return self._codecs.write(self._database, store, *groups)

    def _load(self, session: PostgresSession, tenant: str, versions: Sequence[StoredVersion], model: int | None) -> int:
        number, serial = session.row(_TAKE, (tenant, 0))
        in_use = model_in_use(session)
        if model is not None:
            need_model(session, model, self._database.place)
        codec = self._codecs.at_serial(tenant, serial)
        existing_versions = _existing_versions(session, tenant, versions, codec)
        new: list[Version] = []
        ended: dict[int, dict[int, bool]] = {}
        latest = 0
        for stored in versions:
            record = stored.record
            superseded_at = None if record.superseded_at is None else to_micros(record.superseded_at)
            existing = existing_versions.get((record.id, record.version))
            if existing is None:
                number += 1
                before = existing_versions.get((record.id, record.version - 1))
                created_at = to_micros(record.created_at)
                arrival = before.arrival if before is not None and before.created_at == created_at else number
                made = Version(
                    draft_of(stored, self._analysis, model),
                    number,
                    record.version,
                    arrival=arrival,
                    created_at=created_at,
                    recorded_at=to_micros(record.recorded_at),
                    superseded_at=superseded_at,
                    deleted=record.deleted,
                )
                new.append(made)
                existing_versions[record.id, record.version] = ExistingVersion(
                    number, arrival, created_at, superseded_at is None, content_of(stored)
                )
            else:
                existing.need_same_content(stored)
                if superseded_at is None or not existing.open:
                    continue
                ended.setdefault(superseded_at, {})[existing.number] = record.deleted
            latest = max(latest, to_micros(record.recorded_at), superseded_at or 0)
        for at, numbers in ended.items():
            close_versions(session, tenant, at, numbers)
        if new:
            store_versions(session, new, VectorTable(in_use, self._database.vector_type, codec))
            jobs: list[tuple[Any, ...]] = []
            for made in new:
                written = Written(made.draft.id, made.version, "added", made.draft.kind, made.draft.scope)
                jobs += job_rows(written, jobs_with_embedding(made.draft, in_use), made.recorded_at, codec)
                if made.version > 1:
                    session.execute(
                        _GIVE_BACK, (made.recorded_at, tenant, made.draft.id, made.version, made.recorded_at)
                    )
            store_jobs(session, jobs)
        if new or ended:
            session.execute(_LOADED, (latest, number, number, tenant))
        return len(new)

    # ---- reclaiming

    def sweep(self, moment: datetime, *, keys_before: datetime, limit: int) -> int:
        """Close what has expired and forget old keys, at most `limit` of each; returns how many."""
        now, before = to_micros(moment), to_micros(keys_before)
        swept = 0
        # A transaction for each tenant: whoever waits for one of them does not wait for all.
        for (tenant,) in self._database.rows(_EXPIRED_TENANTS, (now, limit)):
            if swept < limit:
                swept += self._sweep_tenant(tenant, now, limit - swept)
        swept += self._forget(_OLD_KEYS, _FORGET_KEYS, before, limit)
        swept += self._forget(_OLD_JOBS, _FORGET_JOBS, before, limit)
        return swept + sweep_expired(self._database, now, limit)

    def _forget(self, whose: str, sql: str, before: int, limit: int) -> int:
        """Forget what is older than a moment, tenant by tenant, at most so many; returns how many."""
        gone = 0
        for (tenant,) in self._database.rows(whose, (before, limit)):
            if gone < limit:
                values = {"tenant": tenant, "before": before, "limit": limit - gone}
                gone += self._database.write(
                    lambda session, values=values: session.changed(sql, values), repeatable=True
                )
        return gone

    def _sweep_tenant(self, tenant: str, now: int, limit: int) -> int:
        def close(session: PostgresSession) -> int:
            clock = session.row(MOVE_ON, {"tenant": tenant, "opening": 0, "now": now})[1]
            numbers = [row[0] for row in session.rows(_EXPIRED, (tenant, now, limit))]
            if numbers:
                close_versions(session, tenant, clock, dict.fromkeys(numbers, False))
            return len(numbers)

        return self._database.write(close, repeatable=True)

    # ---- the whole store

    def backup(self, path: str) -> None:
        """Refuse: a server's copies are made by its own tools, which know how."""
        self._database.need_open()
        raise StorageError(
            f"{path} was not written: a store on a PostgreSQL server is copied by the server's tools;"
            f" run `pg_dump --schema={self._database.schema} --format=custom --file=FILE ADDRESS`,"
            " or take one tenant away with memory.export(path)"
        )

    def build_index(self) -> Sequence[str]:
        """Make the indexes by which large scopes are searched; returns their names. Others go on meanwhile."""
        return self._index.build()

    def is_read_only(self) -> bool:
        """Return whether the server can only be read, as one that follows another."""
        with self._database.snapshot() as session:
            return bool(session.value(_IS_STANDBY))

    def tenants(self) -> list[str]:
        """Return all tenants of which something is stored, sorted."""
        with self._database.snapshot() as session:
            return [tenant for (tenant,) in session.rows(_TENANTS)]

    def health(self) -> StoreHealth:
        """Return how the database is."""
        lacks = {} if self._database.has_pgvector else {_NO_PGVECTOR: _GET_PGVECTOR}
        with self._database.snapshot() as session:
            if session.value(_IS_STANDBY):
                lacks[_READ_ONLY] = _WRITE_ELSEWHERE
            engine = f"PostgreSQL {session.value('SHOW server_version')}"
            if self._database.distributed:
                version, nodes = session.row(NODES)
                engine = f"{engine}, Citus {version}, {nodes} nodes with data"
                if left := [name for (name,) in session.rows(NOT_SPREAD, (self._database.schema,))]:
                    lacks[_NOT_SPREAD.format(tables=", ".join(left))] = _SPREAD_THEM
            return StoreHealth(
                jobs=dict(session.rows(_ALL_JOBS)),
                file_bytes=self._size(session),
                log_bytes=0,
                free_bytes=0,
                disk_bytes=None,
                engine=engine,
                lacks=lacks,
            )

    def _size(self, session: PostgresSession) -> int:
        return session.value(SIZE if self._database.distributed else _SIZE, (self._database.schema,))

    def stats(self, tenant: str, moment: datetime, *, vectors: bool = True) -> Stats:
        """Count what is stored; what has expired does not count as a record or a key."""
        now = to_micros(moment)
        with self._database.snapshot() as session:
            kinds: dict[str, int] = dict(session.rows(_KINDS, (tenant, now)))
            versions, vector_count, keys = session.row(
                _COUNTS, {"tenant": tenant, "now": now, "hidden": list(UNCOUNTED), "vectors": vectors}
            )
            return Stats(
                records=sum(kinds.values()),
                versions=versions,
                vectors=vector_count,
                kinds=kinds,
                jobs=dict(session.rows(_JOBS, (tenant,))),
                keys=keys,
                file_bytes=self._size(session),
                log_bytes=0,
                free_bytes=0,
            )


def _existing_versions(
    session: PostgresSession, tenant: str, versions: Sequence[StoredVersion], codec: PostgresCodec
) -> dict[tuple[str, int], ExistingVersion]:
    """Return which of the versions, and of those before them, are there."""
    places = {(stored.record.id, stored.record.version - step) for stored in versions for step in (0, 1)}
    ids, numbers = [id for id, _ in places], [version for _, version in places]
    existing: dict[tuple[str, int], ExistingVersion] = {}
    for id, version, number, arrival, created_at, ended, recorded_at, kind, *kept in session.rows(
        _EXISTING, (tenant, ids, numbers)
    ):
        text, packed, data, metadata = kept
        content = (
            recorded_at,
            kind,
            codec.decode_text(text, packed, id, version),
            codec.decode(data, "data", id, version),
            codec.decode(metadata, "metadata", id, version),
        )
        existing[id, version] = ExistingVersion(number, arrival, created_at, ended is None, content)
    return existing
