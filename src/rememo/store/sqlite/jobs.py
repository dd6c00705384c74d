"""Jobs: leased by one worker at a time, tried again later, or kept dead with their reason."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.model.check import dump_json
from rememo.model.job import Job, Settlement
from rememo.model.times import to_micros
from rememo.store.job_rows import MOST_COUNTED, take_leased
from rememo.store.sql.jobs import JOB_COLUMNS, SqlJobs, encode_error
from rememo.store.sql.models import need_model
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.writing import vector_place

# A job that was never begun is due at once: system times may run ahead of a clock that stands or went back.
_DUE = f"""SELECT {JOB_COLUMNS} FROM jobs
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


class SqliteJobs(SqlJobs[SqliteDatabase, SqliteCodecs], SqlitePart):
    """The `JobQueue` protocol on the file."""

    def lease_many(
        self, tasks: Sequence[str], seconds: float, moment: datetime, *, limit: int, ids: Sequence[str] | None = None
    ) -> list[Job]:
        """Take the oldest jobs that are due, at most `limit`, of those named if some are, and lease them."""
        values: dict[str, Any] = {
            "now": to_micros(moment),
            "tasks": dump_json(list(tasks)),
            "ids": None if ids is None else dump_json(list(ids)),
            "limit": limit,
        }
        until = to_micros(moment + timedelta(seconds=seconds))

        def take(connection: Connection) -> list[Any]:
            due: list[Any] = connection.execute(_DUE, values).fetchall()
            rows = [
                (*row[:4], "running", min(max(row[5], 0), MOST_COUNTED) + 1, row[6], until, *row[8:]) for row in due
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

    def settle_many(self, endings: Sequence[Settlement]) -> int:
        """End many leases in one transaction; returns how many were still held."""

        def end(connection: Connection) -> int:
            before = connection.total_changes()
            connection.executemany(_END, [self._ending(ending) for ending in endings])
            return connection.total_changes() - before

        return self._database.write(end)

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

    def _ending(self, ending: Settlement) -> tuple[Any, ...]:
        due_at = None if ending.due_at is None else to_micros(ending.due_at)
        job = ending.job
        # It may quote what the job was about.
        error = None if ending.error is None else encode_error(job, ending.error, self._codecs.readable(job.tenant))
        return (ending.state, error, due_at, ending.task, ending.task, job.tenant, job.id, job.attempts, job.task)
