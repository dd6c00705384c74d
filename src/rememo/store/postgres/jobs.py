"""Jobs: leased by one worker at a time, tried again later, or kept dead with their reason."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.model.job import Job, Settlement
from rememo.model.times import to_micros
from rememo.store.job_rows import MOST_COUNTED, take_leased
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.vectors import PUT_VECTOR, column, to_wire
from rememo.store.sql.jobs import JOB_COLUMNS, SqlJobs, encode_error
from rememo.store.sql.models import need_model

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
RETURNING {", ".join("jobs." + name for name in JOB_COLUMNS.split(", "))}"""
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
_NUMBER = "SELECT number FROM records WHERE tenant = %s AND id = %s AND version = %s"


class PostgresJobs(SqlJobs[PostgresDatabase, PostgresCodecs], PostgresPart):
    """The `JobQueue` protocol on the server."""

    def lease_many(
        self, tasks: Sequence[str], seconds: float, moment: datetime, *, limit: int, ids: Sequence[str] | None = None
    ) -> list[Job]:
        """Take the oldest jobs that are due, at most `limit`, of those named if some are, and lease them."""
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
            by_tenant = [{**values, "tenant": tenant, "ids": ids} for tenant, ids in due.items()]
            taken = [row for wanted in by_tenant for row in self._database.rows(_TAKE_OF, wanted)]
            # Between the look and the taking, others may have taken them all.
            if taken or not due:
                return taken
        return []

    def _change(self, session: PostgresSession, sql: str, values: dict[str, Any]) -> int:
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

    def settle_many(self, endings: Sequence[Settlement]) -> int:
        """End many leases in one transaction; returns how many were still held."""
        values = {
            **_held([ending.job for ending in endings]),
            "states": [ending.state for ending in endings],
            "due": [None if ending.due_at is None else to_micros(ending.due_at) for ending in endings],
            "tasks": [ending.task for ending in endings],
        }
        # What went wrong may quote what the job was about. What nobody can read any more needs no reason.
        failed = {ending.job.tenant for ending in endings if ending.error is not None}
        tenants = sorted(tenant for tenant in failed if not self._codecs.is_unreadable(tenant))

        def end(session: PostgresSession) -> int:
            codecs = {tenant: self._codecs.locked(session, tenant) for tenant in tenants}
            errors = [encode_error(ending.job, ending.error, codecs.get(ending.job.tenant)) for ending in endings]
            return self._change(session, _END, {**values, "errors": errors})

        return self._codecs.write(self._database, end, *tenants)

    def set_vectors(self, tenant: str, vectors: Sequence[tuple[str, int, NDArray[np.float32]]], *, model: int) -> int:
        """Give versions (ids and versions) their vectors in one transaction; returns how many were still there."""

        def store(session: PostgresSession) -> int:
            # The tenant's row first, as every write: two that take turns cannot wait for each other.
            codec, count = self._codecs.bump_epoch(session, tenant), 0
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
