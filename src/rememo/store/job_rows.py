"""Rows of jobs, read whatever is in them: one that cannot be run is marked dead and keeps no other from running."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from rememo.errors import Corrupt, KeyMismatch
from rememo.model.job import Job, Settlement
from rememo.model.times import from_micros
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.codecs import FieldCodecs
from rememo.store.cipher.payloads import decode_payload

MOST_COUNTED: Final = 1_000_000
"""Attempts beyond that are counted no further, so that a worker can always add its own."""

_log = logging.getLogger("rememo.worker")
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def read_job(row: Sequence[Any], codec: FieldCodec) -> Job:
    """Return the job of a row as it is shown; what cannot be read of it becomes its error."""
    job, problem = _read(row, codec)
    return job if problem is None or job.error is not None else replace(job, error=problem)


def take_leased(
    rows: Iterable[Sequence[Any]], codecs: FieldCodecs[Any], settle: Callable[[Sequence[Settlement]], int]
) -> list[Job]:
    """Return those jobs of rows just leased that can be done; the others are dead from now on, with their reason.

    One that is encrypted with a key which is not at hand is left alone: when its lease runs out, somebody who has the key may
    take it.
    """
    jobs, dead = list[Job](), list[Settlement]()
    for row in rows:
        try:
            codec = codecs.readable(row[0])
        except KeyMismatch as error:
            _log.error("job %s (%s) of tenant %s is left to others: %s", row[1], row[2], row[0], error)
            continue
        job, problem = _read(row, codec)
        if problem is None:
            jobs.append(job)
        else:
            _log.error("job %s (%s) of tenant %s is dead: %s", job.id, job.task, job.tenant, problem)
            dead.append(Settlement(job, "dead", problem))
    if dead:
        settle(dead)
    return jobs


def _read(row: Sequence[Any], codec: FieldCodec | None) -> tuple[Job, str | None]:
    """Return the job of a row without what cannot be read of it, and what that is."""
    tenant, id, task, payload, state, attempts, due_at, leased_until, error, created_at = row
    problems: list[str] = [] if codec is not None else ["its tenant's key was dropped"]

    def read(field: str, read: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return read()
        except (Corrupt, ValueError, TypeError, OverflowError, RecursionError) as failure:
            problems.append(f"its {field} cannot be read: {failure}")
            return otherwise

    def read_time(field: str, micros: int) -> Any:
        return read(field, lambda: from_micros(micros), _FIRST if micros < 0 else _LAST)

    job = Job(
        id=id,
        tenant=tenant,
        task=task,
        payload={} if codec is None else read("payload", lambda: decode_payload(payload, id, codec), {}),
        state=state,
        attempts=attempts,
        due_at=read_time("due_at", due_at),
        leased_until=None if leased_until is None else read_time("leased_until", leased_until),
        error=None if codec is None else read("error", lambda: codec.decode_optional(error, "error", id, 0), None),
        created_at=read_time("created_at", created_at),
    )
    return job, "; ".join(problems) or None
