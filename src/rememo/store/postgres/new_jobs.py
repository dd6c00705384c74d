"""Jobs that come into being with the versions that cause them."""

from collections.abc import Sequence
from typing import Any

from rememo.model.job import NewJob
from rememo.store.cipher.payloads import encode_payload
from rememo.store.postgres.codecs import PostgresCodec
from rememo.store.postgres.session import PostgresSession
from rememo.store.writes import Written

_COPY_JOBS = "COPY jobs (tenant, id, task, payload, state, attempts, due_at, created_at) FROM STDIN (FORMAT BINARY)"


def job_rows(written: Written, jobs: Sequence[NewJob], clock: int, codec: PostgresCodec) -> list[tuple[Any, ...]]:
    """Return the rows of the jobs that a version causes."""
    return [
        (
            written.scope.tenant,
            job.id,
            job.task,
            encode_payload({**job.payload, "record": written.id, "version": written.version}, job.id, codec),
            "waiting",
            0,
            clock,
            clock,
        )
        for job in jobs
    ]


def store_jobs(session: PostgresSession, rows: Sequence[tuple[Any, ...]]) -> None:
    """Store jobs that are new."""
    if rows:
        session.copy(_COPY_JOBS, ("text", "text", "text", "text", "text", "int4", "int8", "int8"), rows)
