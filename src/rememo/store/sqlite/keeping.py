"""Snapshots, taking everything away and bringing it back, sweeping, and copies."""

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rememo.errors import AlreadyExists, StorageError
from rememo.model.audit import NewAuditEntry
from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.audit_chain import with_counts
from rememo.store.commits import draft_of, jobs_with_embedding
from rememo.store.filter_sql import IS_LISTED
from rememo.store.kv.protocol import UNCOUNTED
from rememo.store.reports import Stats, StoreHealth
from rememo.store.sql.existing_version import ExistingVersion, content_of
from rememo.store.sql.models import model_in_use, need_model
from rememo.store.sql.snapshots import SqlSnapshots
from rememo.store.sqlite.audit_entries import append_audit_entry
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.filter_sql import RECORD_COLUMNS, within
from rememo.store.sqlite.key_value import keep_floor
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.reading import to_record
from rememo.store.sqlite.words import MOST_STAGED, index_line, move, tables
from rememo.store.sqlite.writing import VersionTimes, add_jobs, insert_version, latest_version, next_time, retire, tick
from rememo.store.versions import StoredVersion

_CHUNK = 500
_READ_ONLY = "the file can only be read: it, its folder or the medium is read-only"
_MAKE_WRITABLE = "make them writable, or copy the memory to where it can be written"
_VECTORS = """SELECT count(*) FROM models, records JOIN vectors ON place = model << 40 | number
WHERE models.current AND tenant = ?"""
# The join keeps this order, so that each number is one step into the table, whatever else is asked of it.
_NUMBERED = f"""SELECT {RECORD_COLUMNS}, speaker, place, vector FROM (SELECT value AS listed FROM json_each(?))
CROSS JOIN records ON records.number = listed
LEFT JOIN vectors ON place = (SELECT model FROM models WHERE current) << 40 | records.number"""
# From one to the next by the index: there are few of them, and many rows.
_TENANTS = """WITH RECURSIVE
  in_records (tenant) AS (SELECT min(tenant) FROM records UNION ALL
    SELECT (SELECT min(tenant) FROM records WHERE tenant > last.tenant) FROM in_records AS last WHERE last.tenant IS NOT NULL),
  in_kv (tenant) AS (SELECT min(tenant) FROM kv UNION ALL
    SELECT (SELECT min(tenant) FROM kv WHERE tenant > last.tenant) FROM in_kv AS last WHERE last.tenant IS NOT NULL),
  in_jobs (tenant) AS (SELECT min(tenant) FROM jobs UNION ALL
    SELECT (SELECT min(tenant) FROM jobs WHERE tenant > last.tenant) FROM in_jobs AS last WHERE last.tenant IS NOT NULL)
SELECT tenant FROM (SELECT * FROM in_records UNION SELECT * FROM in_kv UNION SELECT * FROM in_jobs)
WHERE tenant IS NOT NULL ORDER BY tenant"""


class SqliteKeeping(SqlSnapshots[SqliteDatabase, SqliteCodecs], SqlitePart):
    """Snapshots, export and import, expiry, and backups and figures of the file."""

    def _advance_clock(self, session: Connection, tenant: str, moment: datetime) -> int:
        clock = next_time(session, tenant, moment)
        tick(session, tenant, clock)
        return clock

    def _raise_clock(self, session: Connection, tenant: str, at: int) -> None:
        tick(session, tenant, at)

    # ---- taking away and bringing back

    def dump(
        self, scope: Scope, known_at: datetime | None = None, *, ids: Sequence[str] | None = None
    ) -> Iterator[StoredVersion]:
        """Give every version within a scope, as of the call or as known before, in order of arrival."""
        # Versions never change but for their end, so reading in steps gives one state: later ends are left out.
        inside, values = within(scope)
        listed, listed_ids = (
            ("", []) if ids is None else (" AND id IN (SELECT value FROM json_each(?))", [dump_json([*ids])])
        )
        with self._database.snapshot() as connection:
            clock = latest_version(connection, scope.tenant)[1]
            # By an index alone: no index holds a scope in the order of arrival, and every page would sort what is left.
            rows = connection.execute(f"SELECT number FROM records WHERE {inside}{listed}", [*values, *listed_ids])
            numbers = np.sort(np.fromiter((number for (number,) in rows), np.int64))
        clock = clock if known_at is None else min(clock, to_micros(known_at))
        for start in range(0, len(numbers), _CHUNK):
            page = dump_json(numbers[start : start + _CHUNK].tolist())
            codec = self._codecs.get(scope.tenant)
            for row in self._database.rows(f"{_NUMBERED} WHERE {inside} ORDER BY records.number", [page, *values]):
                record = to_record(row[:-3], scope.tenant, codec)
                if to_micros(record.recorded_at) > clock:
                    continue
                if record.superseded_at is not None and to_micros(record.superseded_at) > clock:
                    record = replace(record, superseded_at=None, deleted=False)
                vector = _vector(codec.decode_vector(row[-2], row[-1]))
                yield StoredVersion(record=record, speaker=codec.decode_name(row[-3]), vector=vector)

    def clashes(self, versions: Sequence[StoredVersion]) -> list[str]:
        """Return the ids of versions that are there already with another content."""
        clashing: list[str] = []
        with self._database.snapshot() as connection:
            for stored in versions:
                existing = self._existing_version(connection, stored)
                if existing is not None and existing.content != content_of(stored):
                    clashing.append(stored.record.id)
        return clashing

    def load(
        self, versions: Sequence[StoredVersion], note: NewAuditEntry | None = None, *, model: int | None = None
    ) -> int:
        """Store versions as they are; those already there are passed over. Returns how many were new."""

        def run(connection: Connection) -> int:
            added = self._load(connection, versions, model)
            if added and note is not None:
                append_audit_entry(connection, with_counts(note, versions=added))
            return added

        self._codecs.ensure_keys(*{stored.record.scope.tenant for stored in versions})
        return self._database.write(run)

    def _load(self, connection: Connection, versions: Sequence[StoredVersion], model: int | None) -> int:
        added, in_use = 0, model_in_use(connection)
        if model is not None:
            need_model(connection, model, self._database.path)
        latest: dict[str, int] = {}
        for stored in versions:
            record = stored.record
            tenant = record.scope.tenant
            codec = self._codecs.get(tenant)
            words, past = tables(tenant)
            superseded_at = None if record.superseded_at is None else to_micros(record.superseded_at)
            times = VersionTimes(
                created_at=to_micros(record.created_at),
                recorded_at=to_micros(record.recorded_at),
                superseded_at=superseded_at,
                deleted=record.deleted,
                arrival=_arrival(connection, stored),
            )
            existing = self._existing_version(connection, stored)
            if existing is None:
                table = words if superseded_at is None else past
                number = latest_version(connection, tenant)[0] + 1
                draft = draft_of(stored, self._analysis, model)
                insert_version(
                    connection, draft, record.version, times,
                    number=number, words=table, model=in_use, codec=codec,
                )  # fmt: skip
                add_jobs(
                    connection, tenant, (record.id, record.version), jobs_with_embedding(draft, in_use),
                    at=times.recorded_at, codec=codec,
                )  # fmt: skip
                added += 1
                _give_back(connection, stored)
            else:
                existing.need_same_content(stored)
                if superseded_at is None or not existing.open:
                    continue
                row = index_line(record.scope, self._analyze(record.text), codec.blind_index)
                retire(connection, existing.number, record.scope, row, at=superseded_at, deleted=record.deleted)
            latest[tenant] = max(latest.get(tenant, 0), times.recorded_at, superseded_at or 0)
        for tenant, at in latest.items():
            tick(connection, tenant, at)
            connection.execute(
                "UPDATE tenants SET epoch = epoch + 1, loaded = (SELECT max(number) FROM records) WHERE tenant = ?",
                (tenant,),
            )
        if connection.execute("SELECT count(*) FROM staged").get >= MOST_STAGED:
            move(connection)
        return added

    def _existing_version(self, connection: Connection, stored: StoredVersion) -> ExistingVersion | None:
        record = stored.record
        row: Any = connection.execute(
            "SELECT number, arrival, created_at, superseded_at, recorded_at, kind, text, data, metadata FROM records"
            " WHERE tenant = ? AND id = ? AND version = ?",
            (record.scope.tenant, record.id, record.version),
        ).get
        if row is None:
            return None
        number, arrival, created_at, superseded_at, recorded_at, kind, *encoded = row
        codec = self._codecs.get(record.scope.tenant)
        text, data, metadata = (
            codec.decode(value, field, record.id, record.version)
            for field, value in zip(("text", "data", "metadata"), encoded, strict=True)
        )
        content = (recorded_at, kind, text, data, metadata)
        return ExistingVersion(number, arrival, created_at, superseded_at is None, content)

    # ---- reclaiming

    def sweep(self, moment: datetime, *, keys_before: datetime, limit: int) -> int:
        """Close what has expired and forget old keys, at most `limit` of each; returns how many."""

        def run(connection: Connection) -> int:
            before = to_micros(keys_before)
            now = to_micros(moment)
            rows = connection.execute(
                "SELECT number, tenant, id, version, agent, user, room, text FROM records INDEXED BY records_expiring"
                " WHERE expires_at <= ? AND superseded_at IS NULL"
                # What nobody can read any more cannot be indexed as past either.
                " AND tenant NOT IN (SELECT tenant FROM vault WHERE wrapped = x'') LIMIT ?",
                (now, limit),
            ).fetchall()
            clocks: dict[str, int] = {}
            for number, tenant, id, version, agent, user, room, text in rows:
                if tenant not in clocks:
                    clocks[tenant] = next_time(connection, tenant, moment)
                    tick(connection, tenant, clocks[tenant])
                scope = Scope(tenant=tenant, agent=agent, user=user, room=room)
                codec = self._codecs.get(tenant)
                row = index_line(scope, self._analyze(codec.decode(text, "text", id, version)), codec.blind_index)
                retire(connection, number, scope, row, at=clocks[tenant], deleted=False)
            connection.execute(
                "DELETE FROM keys WHERE (tenant, scope, key) IN (SELECT tenant, scope, key FROM keys WHERE at < ? LIMIT ?)",
                (before, limit),
            )
            forgotten = connection.changes()
            connection.execute(
                "DELETE FROM jobs WHERE (tenant, id) IN"
                " (SELECT tenant, id FROM jobs WHERE state = 'done' AND created_at < ? LIMIT ?)",
                (before, limit),
            )
            forgotten += connection.changes()
            gone = connection.execute(
                "DELETE FROM kv WHERE (tenant, space, key) IN (SELECT tenant, space, key FROM kv WHERE expires_at <= ? LIMIT ?)"
                " RETURNING tenant, version",
                (now, limit),
            )
            return len(rows) + forgotten + keep_floor(connection, gone)

        return self._database.write(run)

    # ---- the whole file

    def backup(self, path: str) -> None:
        """Write a consistent copy of the whole store to a new file while others go on writing."""
        target = Path(path).absolute()
        if target.exists():
            raise AlreadyExists(f"{target} is there already; choose another file for the backup")
        part = target.with_name(target.name + ".part")
        part.unlink(missing_ok=True)
        try:
            self._database.copy_to(str(part))
            _sync(part)
            part.rename(target)
            _sync(target.parent)
        except OSError as error:
            raise StorageError(f"the backup {target} could not be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)

    def is_read_only(self) -> bool:
        """Return whether the file can only be read."""
        return self._database.read_only

    def tenants(self) -> list[str]:
        """Return all tenants of which something is stored, sorted."""
        return [tenant for (tenant,) in self._database.rows(_TENANTS)]

    def health(self) -> StoreHealth:
        """Return how the file is."""
        path = self._database.path
        with self._database.snapshot() as connection:
            jobs = connection.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall()
            free = connection.pragma("freelist_count") * connection.pragma("page_size")
        return StoreHealth(
            jobs=dict(jobs),
            file_bytes=_size(path),
            log_bytes=_size(path + "-wal"),
            free_bytes=free,
            disk_bytes=shutil.disk_usage(path).free if Path(path).is_file() else None,
            engine=f"SQLite {apsw.sqlite_lib_version()}",
            lacks={_READ_ONLY: _MAKE_WRITABLE} if self._database.read_only else {},
        )

    def stats(self, tenant: str, moment: datetime, *, vectors: bool = True) -> Stats:
        """Count what is stored; what has expired does not count as a record or a key."""
        now = to_micros(moment)
        with self._database.snapshot() as connection:
            # By the indexes alone: what has expired has one of its own.
            current = f"SELECT kind, count(*) FROM records WHERE tenant = ? AND superseded_at IS NULL AND {IS_LISTED}"
            kinds: Counter[str] = Counter(dict(connection.execute(f"{current} GROUP BY kind", (tenant,))))
            kinds -= Counter(dict(connection.execute(f"{current} AND expires_at <= ? GROUP BY kind", (tenant, now))))
            jobs = connection.execute("SELECT state, count(*) FROM jobs WHERE tenant = ? GROUP BY state", (tenant,))
            return Stats(
                records=kinds.total(),
                versions=connection.execute("SELECT count(*) FROM records WHERE tenant = ?", (tenant,)).get,
                vectors=connection.execute(_VECTORS, (tenant,)).get if vectors else 0,
                kinds=dict(kinds),
                jobs=dict(jobs.fetchall()),
                keys=connection.execute(
                    "SELECT count(*) FROM kv WHERE tenant = ? AND (expires_at IS NULL OR expires_at > ?) AND space NOT IN (?, ?)",
                    (tenant, now, *UNCOUNTED),
                ).get,
                file_bytes=_size(self._database.path),
                log_bytes=_size(self._database.path + "-wal"),
                free_bytes=connection.pragma("freelist_count") * connection.pragma("page_size"),
            )


def _arrival(connection: Connection, stored: StoredVersion) -> int | None:
    """Return the arrival of the version before, if this one goes on with its life."""
    row: Any = connection.execute(
        "SELECT arrival, created_at FROM records WHERE tenant = ? AND id = ? AND version < ? ORDER BY version DESC LIMIT 1",
        (stored.record.scope.tenant, stored.record.id, stored.record.version),
    ).get
    return row[0] if row is not None and row[1] == to_micros(stored.record.created_at) else None


def _give_back(connection: Connection, stored: StoredVersion) -> None:
    """Give a version that comes back the time that the one before it took over when it was thinned."""
    record = stored.record
    began = to_micros(record.recorded_at)
    connection.execute(
        "UPDATE records SET superseded_at = ? WHERE tenant = ? AND id = ? AND version < ? AND superseded_at > ?",
        (began, record.scope.tenant, record.id, record.version, began),
    )


def _vector(blob: bytes | None) -> NDArray[np.float32] | None:
    return None if blob is None else np.frombuffer(blob, np.float32)


def _size(path: str) -> int:
    with contextlib.suppress(OSError):
        return Path(path).stat().st_size
    return 0


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
