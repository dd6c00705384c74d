"""Jobs: leased by one worker at a time, tried again later, or kept dead with their reason."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.model.check import dump_json
from rememo.model.job import Job, Settlement
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.cipher.codec import Encoded
from rememo.store.cipher.payloads import encode_payload
from rememo.store.job_rows import MOST_COUNTED, read_job, take_leased
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.filter_sql import within
from rememo.store.sqlite.models import need_model
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.writing import vector_place

_COLUMNS = "tenant, id, task, payload, state, attempts, due_at, leased_until, error, created_at"
# A job that was never begun is due at once: system times may run ahead of a clock that stands or went back.
_DUE = f"""SELECT {_COLUMNS} FROM jobs
WHERE state IN ('waiting', 'running') AND (due_at <= :now OR attempts = 0) AND (leased_until IS NULL OR leased_until <= :now)
  AND task IN (SELECT value FROM json_each(:tasks)) AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))
ORDER BY due_at, id LIMIT :limit"""
_TAKE = "UPDATE jobs SET state = 'running', attempts = ?, leased_until = ? WHERE tenant = ? AND id = ?"
_END = (
    "UPDATE jobs SET state = ?, error = ?, due_at = ifnull(?, due_at), leased_until = NULL, task = ifnull(?, task),"
    " attempts = iif(? IS NULL, attempts, 0)"
    " WHERE tenant = ? AND id = ? AND state = 'running' AND attempts = ? AND task = ?"
)
_NUMBER = "SELECT number FROM records WHERE tenant = ? AND id = ? AND version = ?"


class SqliteJobs(SqlitePart):
    """The `Jobs` half of the store."""

    def lease(self, tasks: Sequence[str], seconds: float, moment: datetime) -> Job | None:
        """Take the oldest job that is due, for that long; nobody else gets it meanwhile."""
        taken = self.lease_many(tasks, seconds, moment, limit=1)
        return taken[0] if taken else None

    def lease_many(
        self, tasks: Sequence[str], seconds: float, moment: datetime, *, limit: int, ids: Sequence[str] | None = None
    ) -> list[Job]:
        """Take the oldest jobs that are due, at most `limit`, of those named if some are; nobody else gets them meanwhile."""
        values: dict[str, Any] = {
            "now": to_micros(moment),
            "tasks": dump_json(list(tasks)),
            "ids": None if ids is None else dump_json(list(ids)),
            "limit": limit,
        }
        until = to_micros(moment + timedelta(seconds=seconds))

        def take(connection: Connection) -> list[Any]:
            found: list[Any] = connection.execute(_DUE, values).fetchall()
            rows = [
                (*row[:4], "running", min(max(row[5], 0), MOST_COUNTED) + 1, row[6], until, *row[8:]) for row in found
            ]
            connection.executemany(_TAKE, [(row[5], until, row[0], row[1]) for row in rows])
            return rows

        # Looking first costs no lock: an idle worker does not disturb writers.
        while self._database.value(_DUE, {**values, "limit": 1}) is not None:
            if jobs := take_leased(self._database.write(take), self._codecs, self.settle_many):
                return jobs
        return []

    def extend(self, jobs: Sequence[Job], seconds: float, moment: datetime) -> int:
        """Let leases last that long from now on; returns how many were still held."""
        until = to_micros(moment + timedelta(seconds=seconds))

        def prolong(connection: Connection) -> int:
            before = connection.total_changes()
            connection.executemany(
                "UPDATE jobs SET leased_until = ?"
                " WHERE tenant = ? AND id = ? AND state = 'running' AND attempts = ? AND task = ?",
                [(until, job.tenant, job.id, job.attempts, job.task) for job in jobs],
            )
            return connection.total_changes() - before

        return self._database.write(prolong)

    def load_jobs(self, jobs: Sequence[Job]) -> int:
        """Store jobs as they are; those already there are passed over. Returns how many were new."""

        def store(connection: Connection) -> int:
            before = connection.total_changes()
            for job in jobs:
                connection.execute(
                    f"INSERT OR IGNORE INTO jobs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)",
                    (
                        job.tenant,
                        job.id,
                        job.task,
                        encode_payload(job.payload, job.id, self._codecs.get(job.tenant)),
                        job.state,
                        job.attempts,
                        to_micros(job.due_at),
                        self._error(job, job.error),
                        to_micros(job.created_at),
                    ),
                )
            return connection.total_changes() - before

        self._codecs.ensure_keys(*{job.tenant for job in jobs})
        return self._database.write(store)

    def settle(self, job: Job, *, state: str, error: str | None, due_at: datetime | None) -> bool:
        """End a lease: done, dead, or waiting for another try; False when the lease was lost meanwhile."""

        def end(connection: Connection) -> bool:
            connection.execute(_END, self._ending(Settlement(job, state, error, due_at)))
            return connection.changes() == 1

        return self._database.write(end)

    def settle_many(self, endings: Sequence[Settlement]) -> int:
        """End many leases in one transaction; returns how many were still held."""

        def end(connection: Connection) -> int:
            before = connection.total_changes()
            connection.executemany(_END, [self._ending(one) for one in endings])
            return connection.total_changes() - before

        return self._database.write(end)

    def requeue(self, tenant: str, id: str, moment: datetime) -> bool:
        """Let a dead job be tried again from now on; False when it is not dead."""

        def wake(connection: Connection) -> bool:
            connection.execute(
                "UPDATE jobs SET state = 'waiting', attempts = 0, due_at = ?, leased_until = NULL"
                " WHERE tenant = ? AND id = ? AND state = 'dead'",
                (to_micros(moment), tenant, id),
            )
            return connection.changes() == 1

        return self._database.write(wake)

    def jobs(self, tenant: str, *, ids: Sequence[str] | None = None, state: str | None = None) -> list[Job]:
        """Return jobs, oldest first."""
        sql, values = f"SELECT {_COLUMNS} FROM jobs WHERE tenant = ?", [tenant]
        if ids is not None:
            sql += " AND id IN (SELECT value FROM json_each(?))"
            values.append(dump_json(list(ids)))
        if state is not None:
            sql += " AND state = ?"
            values.append(state)
        return [self._job(row) for row in self._database.rows(sql + " ORDER BY created_at, id", values)]

    def open_jobs(self, scope: Scope, tasks: Sequence[str]) -> list[str]:
        """Return the ids of jobs of some tasks that wait or are being done, and are about a record within a scope."""
        inside, values = within(scope)
        sql = (
            "SELECT id FROM jobs WHERE tenant = ? AND state IN ('waiting', 'running')"
            " AND task IN (SELECT value FROM json_each(?)) AND EXISTS"
            f" (SELECT 1 FROM records WHERE {inside} AND records.id = jobs.payload ->> '$.record') ORDER BY created_at, id"
        )
        return [row[0] for row in self._database.rows(sql, [scope.tenant, dump_json(list(tasks)), *values])]

    def pending_jobs(self, scope: Scope, tasks: Sequence[str], *, most: int) -> list[str] | None:
        """Return what `open_jobs` does, or None where the tenant has more than `most` open jobs of whatever task."""
        inside, values = within(scope)
        sql = (
            "SELECT id, task IN (SELECT value FROM json_each(?)) AND EXISTS"
            f" (SELECT 1 FROM records WHERE {inside} AND records.id = open.payload ->> '$.record') FROM (SELECT id, task,"
            " payload, created_at FROM jobs WHERE tenant = ? AND state IN ('waiting', 'running') LIMIT ?) AS open"
            " ORDER BY created_at, id"
        )
        rows = self._database.rows(sql, [dump_json(list(tasks)), *values, scope.tenant, most + 1])
        return None if len(rows) > most else [id for id, wanted in rows if wanted]

    def latest_jobs(self, tenant: str, *, limit: int, state: str | None = None, before: str | None = None) -> list[Job]:
        """Return the latest so many jobs by their ids, oldest first: of those before an id, where one is given."""
        asked = {"tenant =": tenant, "state =": state, "id <": before}
        told = {name: value for name, value in asked.items() if value is not None}
        conditions = " AND ".join(f"{name} ?" for name in told)
        sql = f"SELECT {_COLUMNS} FROM jobs WHERE {conditions} ORDER BY id DESC LIMIT ?"
        return [self._job(row) for row in reversed(self._database.rows(sql, [*told.values(), limit]))]

    def set_vectors(self, tenant: str, vectors: Sequence[tuple[str, int, NDArray[np.float32]]], *, model: int) -> int:
        """Give versions (ids and versions) their vectors in one transaction; returns how many were still there."""

        def store(connection: Connection) -> int:
            need_model(connection, model, self._database.path)
            codec, rows = self._codecs.get(tenant), list[tuple[int, bytes]]()
            for id, version, vector in vectors:
                number: int | None = connection.execute(_NUMBER, (tenant, id, version)).get
                if number is not None:
                    place = vector_place(model, number)
                    rows.append((place, codec.encode_vector(vector.tobytes(), place)))
            if rows:
                connection.executemany("INSERT OR REPLACE INTO vectors (place, vector) VALUES (?, ?)", rows)
                # No version changed, so the clock shows nothing: caches of vectors must start over.
                connection.execute(
                    "INSERT INTO tenants (tenant, epoch) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET epoch = epoch + 1",
                    (tenant,),
                )
            return len(rows)

        return self._database.write(store)

    def _error(self, job: Job, error: str | None) -> Encoded | None:
        """Return what went wrong as it is to be stored: it may quote what the job was about."""
        if error is None or self._codecs.is_unreadable(job.tenant):
            return None
        return self._codecs.get(job.tenant).encode(error, "error", job.id, 0)

    def _ending(self, one: Settlement) -> tuple[Any, ...]:
        due_at = None if one.due_at is None else to_micros(one.due_at)
        job, error = one.job, self._error(one.job, one.error)
        return (one.state, error, due_at, one.task, one.task, job.tenant, job.id, job.attempts, job.task)

    def _job(self, row: Any) -> Job:
        return read_job(row, self._codecs.get(row[0]))
