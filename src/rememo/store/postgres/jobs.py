"""Jobs: leased by one worker at a time, tried again later, or kept dead with their reason."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.model.job import Job, Settlement
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.cipher.payloads import encode_payload
from rememo.store.job_rows import MOST_COUNTED, read_job, take_leased
from rememo.store.postgres.codecs import PostgresCodec
from rememo.store.postgres.filter_sql import within
from rememo.store.postgres.models import need_model
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import Session
from rememo.store.postgres.vectors import PUT_VECTOR, column, to_wire

_COLUMNS = "tenant, id, task, payload, state, attempts, due_at, leased_until, error, created_at"
# A job that was never begun is due at once: system times may run ahead of a clock that stands or went back.
# Rows that another worker is just taking are passed over, not waited for.
_DUE = """SELECT tenant, id FROM jobs
  WHERE state IN ('waiting', 'running') AND (due_at <= %(now)s OR attempts = 0)
    AND (leased_until IS NULL OR leased_until <= %(now)s) AND task = ANY(%(tasks)s::text[])
    AND (%(ids)s::text[] IS NULL OR id = ANY(%(ids)s::text[]))
  ORDER BY due_at, id LIMIT %(limit)s"""
_TAKE = f"""WITH due AS ({_DUE} FOR UPDATE SKIP LOCKED)
UPDATE jobs SET state = 'running', attempts = least(greatest(attempts, 0), {MOST_COUNTED}) + 1, leased_until = %(until)s
FROM due WHERE jobs.tenant = due.tenant AND jobs.id = due.id
RETURNING {", ".join("jobs." + name for name in _COLUMNS.split(", "))}"""
_EXTEND = """UPDATE jobs SET leased_until = %(until)s
FROM unnest(%(tenants)s::text[], %(ids)s::text[], %(attempts)s::int[], %(done)s::text[]) AS held (tenant, id, attempts, task)
WHERE jobs.tenant = held.tenant AND jobs.id = held.id AND state = 'running' AND jobs.attempts = held.attempts AND jobs.task = held.task"""
_END = """UPDATE jobs SET state = ending.state, error = ending.error, due_at = coalesce(ending.due_at, jobs.due_at), leased_until = NULL,
  task = coalesce(ending.task, jobs.task), attempts = CASE WHEN ending.task IS NULL THEN jobs.attempts ELSE 0 END
FROM unnest(%(tenants)s::text[], %(ids)s::text[], %(attempts)s::int[], %(states)s::text[], %(errors)s::text[], %(due)s::bigint[], %(tasks)s::text[], %(done)s::text[])
  AS ending (tenant, id, attempts, state, error, due_at, task, done)
WHERE jobs.tenant = ending.tenant AND jobs.id = ending.id AND jobs.state = 'running' AND jobs.attempts = ending.attempts AND jobs.task = ending.done"""
# On a cluster a row is locked and changed on the node of its tenant, so each statement there names one.
_TAKE_OF = _TAKE.replace("WHERE", "WHERE tenant = %(tenant)s AND", 1).replace(
    "FROM due WHERE", "FROM due WHERE jobs.tenant = %(tenant)s AND"
)
_OF_TENANT = " AND jobs.tenant = %(tenant)s"
_LOOKS = 3
_LOAD = f"""INSERT INTO jobs ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, NULL, %s, %s)
ON CONFLICT (tenant, id) DO NOTHING"""
_REQUEUE = """UPDATE jobs SET state = 'waiting', attempts = 0, due_at = %s, leased_until = NULL
WHERE tenant = %s AND id = %s AND state = 'dead'"""
_LIST = f"""SELECT {_COLUMNS} FROM jobs WHERE tenant = %s AND (%s::text[] IS NULL OR id = ANY(%s::text[]))
  AND (%s::text IS NULL OR state = %s) ORDER BY created_at, id"""
# One for each question, so that each has the index that answers it.
_LATEST = f"SELECT {_COLUMNS} FROM jobs WHERE tenant = %s AND id < %s ORDER BY id DESC LIMIT %s"
_LATEST_OF = f"SELECT {_COLUMNS} FROM jobs WHERE tenant = %s AND state = %s AND id < %s ORDER BY id DESC LIMIT %s"
_OPEN = """SELECT id FROM jobs WHERE tenant = %s AND state IN ('waiting', 'running') AND task = ANY(%s::text[]) AND EXISTS
  (SELECT 1 FROM records WHERE {inside} AND records.id = jobs.payload::json ->> 'record') ORDER BY created_at, id"""
_PENDING = """SELECT id, task = ANY(%s::text[]) AND EXISTS
  (SELECT 1 FROM records WHERE {inside} AND records.id = open.payload::json ->> 'record') FROM
  (SELECT id, task, payload, created_at FROM jobs WHERE tenant = %s AND state IN ('waiting', 'running') LIMIT %s) AS open
  ORDER BY created_at, id"""
_AFTER_ALL = "\uffff"
_NUMBER = "SELECT number FROM records WHERE tenant = %s AND id = %s AND version = %s"
# No version changed, so the clock shows nothing: caches of vectors must start over.
_TURN = "UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s RETURNING sealed_by"


class PostgresJobs(PostgresPart):
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
            "tasks": list(tasks),
            "ids": None if ids is None else list(ids),
            "limit": limit,
            "until": to_micros(moment + timedelta(seconds=seconds)),
        }
        # A lease that was given and not received runs out by itself, so this may be tried twice.
        while rows := self._take(values):
            if jobs := take_leased(rows, self._codecs, self.settle_many):
                return sorted(jobs, key=lambda job: (job.due_at, job.id))
        return []

    def _take(self, values: dict[str, Any]) -> list[Any]:
        if not self._database.distributed:
            return self._database.rows(_TAKE, values)
        for _ in range(_LOOKS):
            due: dict[str, list[str]] = {}
            for tenant, id in self._database.rows(_DUE, values):
                due.setdefault(tenant, []).append(id)
            wanted = [{**values, "tenant": tenant, "ids": ids} for tenant, ids in due.items()]
            taken = [row for one in wanted for row in self._database.rows(_TAKE_OF, one)]
            # Between the look and the taking, others may have taken them all.
            if taken or not due:
                return taken
        return []

    def _change(self, session: Session, sql: str, values: dict[str, Any]) -> int:
        """Run a statement over jobs of several tenants, node by node on a cluster; returns how many it changed."""
        if not self._database.distributed:
            return session.changed(sql, values)
        return sum(
            session.changed(sql + _OF_TENANT, {**values, "tenant": tenant}) for tenant in sorted(set(values["tenants"]))
        )

    def extend(self, jobs: Sequence[Job], seconds: float, moment: datetime) -> int:
        """Let leases last that long from now on; returns how many were still held."""
        values = {**_held(jobs), "until": to_micros(moment + timedelta(seconds=seconds))}
        return self._database.write(lambda session: self._change(session, _EXTEND, values), repeatable=True)

    def load_jobs(self, jobs: Sequence[Job]) -> int:
        """Store jobs as they are; those already there are passed over. Returns how many were new."""

        def load(session: Session) -> int:
            added = 0
            for job in jobs:
                codec = self._codecs.locked(session, job.tenant)
                payload, error = encode_payload(job.payload, job.id, codec), _error(job, job.error, codec)
                due_at, created_at = to_micros(job.due_at), to_micros(job.created_at)
                row = (job.tenant, job.id, job.task, payload, job.state, job.attempts, due_at, error, created_at)
                added += session.changed(_LOAD, row)
            return added

        return self._codecs.write(self._database, load, *sorted({job.tenant for job in jobs}))

    def settle(self, job: Job, *, state: str, error: str | None, due_at: datetime | None) -> bool:
        """End a lease: done, dead, or waiting for another try; False when the lease was lost meanwhile."""
        return self.settle_many([Settlement(job, state, error, due_at)]) == 1

    def settle_many(self, endings: Sequence[Settlement]) -> int:
        """End many leases in one transaction; returns how many were still held."""
        values = {
            **_held([one.job for one in endings]),
            "states": [one.state for one in endings],
            "due": [None if one.due_at is None else to_micros(one.due_at) for one in endings],
            "tasks": [one.task for one in endings],
        }
        # What went wrong may quote what the job was about. What nobody can read any more needs no reason.
        told = {one.job.tenant for one in endings if one.error is not None}
        tenants = sorted(tenant for tenant in told if not self._codecs.is_unreadable(tenant))

        def end(session: Session) -> int:
            codecs = {tenant: self._codecs.locked(session, tenant) for tenant in tenants}
            errors = [_error(one.job, one.error, codecs.get(one.job.tenant)) for one in endings]
            return self._change(session, _END, {**values, "errors": errors})

        return self._codecs.write(self._database, end, *tenants)

    def requeue(self, tenant: str, id: str, moment: datetime) -> bool:
        """Let a dead job be tried again from now on; False when it is not dead."""
        values = (to_micros(moment), tenant, id)
        return self._database.write(lambda session: session.changed(_REQUEUE, values) == 1)

    def jobs(self, tenant: str, *, ids: Sequence[str] | None = None, state: str | None = None) -> list[Job]:
        """Return jobs, oldest first."""
        wanted = None if ids is None else list(ids)
        return self._jobs(self._database.rows(_LIST, (tenant, wanted, wanted, state, state)))

    def open_jobs(self, scope: Scope, tasks: Sequence[str]) -> list[str]:
        """Return the ids of jobs of some tasks that wait or are being done, and are about a record within a scope."""
        inside, values = within(scope)
        rows = self._database.rows(_OPEN.format(inside=inside), [scope.tenant, list(tasks), *values])
        return [row[0] for row in rows]

    def pending_jobs(self, scope: Scope, tasks: Sequence[str], *, most: int) -> list[str] | None:
        """Return what `open_jobs` does, or None where the tenant has more than `most` open jobs of whatever task."""
        inside, values = within(scope)
        rows = self._database.rows(_PENDING.format(inside=inside), [list(tasks), *values, scope.tenant, most + 1])
        return None if len(rows) > most else [id for id, wanted in rows if wanted]

    def latest_jobs(self, tenant: str, *, limit: int, state: str | None = None, before: str | None = None) -> list[Job]:
        """Return the latest so many jobs by their ids, oldest first: of those before an id, where one is given."""
        until = _AFTER_ALL if before is None else before
        if state is None:
            return self._jobs(self._database.rows(_LATEST, (tenant, until, limit))[::-1])
        return self._jobs(self._database.rows(_LATEST_OF, (tenant, state, until, limit))[::-1])

    def _jobs(self, rows: Sequence[Any]) -> list[Job]:
        codecs = {tenant: self._codecs.get(tenant) for tenant in {row[0] for row in rows}}
        return [read_job(row, codecs[row[0]]) for row in rows]

    def set_vectors(self, tenant: str, vectors: Sequence[tuple[str, int, NDArray[np.float32]]], *, model: int) -> int:
        """Give versions (ids and versions) their vectors in one transaction; returns how many were still there."""

        def store(session: Session) -> int:
            # The tenant's row first, as every write: two that take turns cannot wait for each other.
            codec, count = self._codecs.at_serial(tenant, session.value(_TURN, (tenant,)) or 0), 0
            # Whoever changes the model waits for those who hold a tenant's row.
            need_model(session, model, self._database.place)
            sql = PUT_VECTOR.format(column=column(codec))
            for id, version, vector in vectors:
                number = session.value(_NUMBER, (tenant, id, version))
                if number is not None:
                    session.execute(sql, (tenant, model, number, to_wire(vector, model, number, codec)))
                    count += 1
            return count

        return self._codecs.write(self._database, store, tenant, repeatable=True)


def _held(jobs: Sequence[Job]) -> dict[str, Any]:
    return {
        "tenants": [job.tenant for job in jobs],
        "ids": [job.id for job in jobs],
        "attempts": [job.attempts for job in jobs],
        "done": [job.task for job in jobs],
    }


def _error(job: Job, error: str | None, codec: PostgresCodec | None) -> str | None:
    return None if codec is None else codec.encode_optional(error, "error", job.id, 0)
