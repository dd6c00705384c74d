"""Jobs of an SQL store: leased by one worker at a time, tried again later, or kept dead with their reason."""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rememo.model.job import Job, Settlement
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.payloads import encode_payload
from rememo.store.job_rows import read_job
from rememo.store.sql.part import C, D, SqlPart
from rememo.store.sql.session import SqlSession

JOB_COLUMNS = "tenant, id, task, payload, state, attempts, due_at, leased_until, error, created_at"
_LOAD = f"""INSERT INTO jobs ({JOB_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)
ON CONFLICT (tenant, id) DO NOTHING"""
_REQUEUE = """UPDATE jobs SET state = 'waiting', attempts = 0, due_at = ?, leased_until = NULL
WHERE tenant = ? AND id = ? AND state = 'dead'"""
_OPEN = "state IN ('waiting', 'running')"


class SqlJobs(SqlPart[D, C]):
    """The part of the `JobQueue` protocol that takes and ends no leases."""

    @abstractmethod
    def lease_many(
        self, tasks: Sequence[str], seconds: float, moment: datetime, *, limit: int, ids: Sequence[str] | None = None
    ) -> list[Job]:
        """Take the oldest jobs that are due."""

    @abstractmethod
    def settle_many(self, endings: Sequence[Settlement]) -> int:
        """End many leases in one transaction."""

    def lease(self, tasks: Sequence[str], seconds: float, moment: datetime) -> Job | None:
        """Take the oldest job that is due, and lease it for that long."""
        taken = self.lease_many(tasks, seconds, moment, limit=1)
        return taken[0] if taken else None

    def settle(self, job: Job, *, state: str, error: str | None, due_at: datetime | None) -> bool:
        """End a lease: done, dead, or waiting for another try; False when the lease was lost meanwhile."""
        return self.settle_many([Settlement(job, state, error, due_at)]) == 1

    def load_jobs(self, jobs: Sequence[Job]) -> int:
        """Store jobs as they are; those already there are passed over. Returns how many were new."""

        def load(session: SqlSession) -> int:
            return sum(session.changed(_LOAD, _row(job, self._codecs.locked(session, job.tenant))) for job in jobs)

        return self._codecs.write(self._database, load, *sorted({job.tenant for job in jobs}))

    def requeue(self, tenant: str, id: str, moment: datetime) -> bool:
        """Let a dead job be tried again from now on; False when it is not dead."""
        values = (to_micros(moment), tenant, id)
        return self._database.write(lambda session: session.changed(_REQUEUE, values) == 1)

    def jobs(self, tenant: str, *, ids: Sequence[str] | None = None, state: str | None = None) -> list[Job]:
        """Return jobs, oldest first."""
        sql, values = f"SELECT {JOB_COLUMNS} FROM jobs WHERE tenant = ?", list[Any]([tenant])
        if ids is not None:
            sql, values = f"{sql} AND {self.dialect.any_of('id')}", [*values, self.dialect.array(ids)]
        if state is not None:
            sql, values = f"{sql} AND state = ?", [*values, state]
        return self._read(self._database.rows(f"{sql} ORDER BY created_at, id", values))

    def open_jobs(self, scope: Scope, tasks: Sequence[str]) -> list[str]:
        """Return the ids of open jobs of some tasks that are about a record within a scope."""
        inside, values = self.dialect.within(scope)
        sql = (
            f"SELECT id FROM jobs WHERE tenant = ? AND {_OPEN} AND {self.dialect.any_of('task')} AND EXISTS (SELECT 1"
            f" FROM records WHERE {inside} AND records.id = jobs.{self.dialect.payload_field('record')})"
            " ORDER BY created_at, id"
        )
        rows = self._database.rows(sql, [scope.tenant, self.dialect.array(tasks), *values])
        return [row[0] for row in rows]

    def pending_jobs(self, scope: Scope, tasks: Sequence[str], *, most: int) -> list[str] | None:
        """Return what `open_jobs` does, or None where the tenant has more than `most` open jobs of whatever task."""
        inside, values = self.dialect.within(scope)
        sql = (
            f"SELECT id, {self.dialect.any_of('task')} AND EXISTS (SELECT 1 FROM records WHERE {inside}"
            f" AND records.id = open.{self.dialect.payload_field('record')}) FROM (SELECT id, task, payload, created_at"
            f" FROM jobs WHERE tenant = ? AND {_OPEN} LIMIT ?) AS open ORDER BY created_at, id"
        )
        rows = self._database.rows(sql, [self.dialect.array(tasks), *values, scope.tenant, most + 1])
        return None if len(rows) > most else [id for id, wanted in rows if wanted]

    def latest_jobs(self, tenant: str, *, limit: int, state: str | None = None, before: str | None = None) -> list[Job]:
        """Return the latest so many jobs by their ids, oldest first: of those before an id, where one is given."""
        wanted = {"tenant =": tenant, "state =": state, "id <": before}
        given = {name: value for name, value in wanted.items() if value is not None}
        conditions = " AND ".join(f"{name} ?" for name in given)
        sql = f"SELECT {JOB_COLUMNS} FROM jobs WHERE {conditions} ORDER BY id DESC LIMIT ?"
        return self._read(self._database.rows(sql, [*given.values(), limit])[::-1])

    def _read(self, rows: Sequence[Any]) -> list[Job]:
        codecs = {tenant: self._codecs.get(tenant) for tenant in {row[0] for row in rows}}
        return [read_job(row, codecs[row[0]]) for row in rows]


def encode_error(job: Job, error: str | None, codec: FieldCodec | None) -> Any:
    """Return what went wrong with a job as it is to be stored; nothing for a tenant whose keys were dropped."""
    return None if codec is None else codec.encode_optional(error, "error", job.id, 0)


def _row(job: Job, codec: FieldCodec) -> tuple[Any, ...]:
    payload, error = encode_payload(job.payload, job.id, codec), encode_error(job, job.error, codec)
    times = to_micros(job.due_at), to_micros(job.created_at)
    return (job.tenant, job.id, job.task, payload, job.state, job.attempts, times[0], error, times[1])
