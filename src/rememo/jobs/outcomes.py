"""Outcomes of jobs: done, dead, or waiting for another attempt, and when that is due."""

import logging
import random
from datetime import UTC, datetime, timedelta

from rememo.engine.drafting import EMBED
from rememo.engine.engine import Engine
from rememo.errors import ModelChanged, ModelFailed, OverBudget
from rememo.jobs.tasks import PASSED_ON, ImpossibleJob
from rememo.model.job import Job, Settlement

MOST_ATTEMPTS = 5
MOST_ATTEMPTS_OF_AN_OUTAGE = 24
"""For what an endpoint could not answer now: with the pauses between them, somewhat more than an hour."""
_LONGEST_BACKOFF = 300.0
_LONGEST_RETRY_AFTER = 3_600.0
"""The most seconds that an endpoint may tell us to wait."""
_LONGEST_REASON = 4_000
_log = logging.getLogger("rememo.worker")


def settlement_of(engine: Engine, job: Job, error: Exception | str | None) -> Settlement:
    """Return how the lease of a job ends: done, dead, or waiting for another attempt."""
    if error is None:
        # What rules found is kept; a model may find more, and takes its time over it.
        further = PASSED_ON.get(job.task) if engine.models is not None else None
        return Settlement(job, "done") if further is None else Settlement(job, "waiting", task=further)
    if isinstance(error, OverBudget) and job.task == EMBED:
        return Settlement(job, "waiting", str(error), next_day(engine.now()))
    if isinstance(error, OverBudget):
        return Settlement(job, "done", f"learned by rules alone: {error}")
    if isinstance(error, ModelChanged) or (isinstance(error, ModelFailed) and error.reason == "stopped"):
        return Settlement(job, "waiting", str(error), None, job.task)
    reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    most = MOST_ATTEMPTS_OF_AN_OUTAGE if getattr(error, "transient", False) else MOST_ATTEMPTS
    hopeless = isinstance(error, ImpossibleJob) or (isinstance(error, ModelFailed) and error.reason == "refused")
    if job.attempts >= most or hopeless:
        _log.error("job %s (%s) is dead: %s", job.id, job.task, reason)
        return Settlement(job, "dead", reason)
    requested = min(getattr(error, "retry_after", None) or 0.0, _LONGEST_RETRY_AFTER)
    wait = max(backoff(job.attempts), requested)
    return Settlement(job, "waiting", reason, engine.now() + timedelta(seconds=wait))


def storable_reason(reason: str | None) -> str | None:
    """Return a reason as every store can keep it, whatever an error quotes: NULs and lone surrogates are replaced."""
    return (
        None if reason is None else reason.encode(errors="replace").decode().replace("\0", "\ufffd")[:_LONGEST_REASON]
    )


def next_day(now: datetime) -> datetime:
    """Return when the next day of the ledger begins."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def backoff(attempts: int) -> float:
    """Return how many seconds to wait after that many attempts: twice as long each time, give or take a half."""
    longest = min(2.0 ** (attempts - 1), _LONGEST_BACKOFF)
    return longest * random.uniform(0.5, 1.5)  # noqa: S311 - jitter, not a secret


def describe_dead_job(job: Job) -> str:
    """Return the error for a caller that waits for a dead job."""
    return (
        f"job {job.id!r} ({job.task}) is dead after {job.attempts} attempts: {job.error};"
        f" mend the cause and call jobs.retry({job.id!r})"
    )
