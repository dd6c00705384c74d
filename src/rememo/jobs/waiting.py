"""Waiting for jobs to end: notified by the worker of this process, polled with growing pauses otherwise."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from rememo.engine.engine import Engine
from rememo.model.job import Job

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.25
_GROWTH: Final = 1.6
OPEN: Final = ("waiting", "running")


class JobEndings:
    """Notifies waiting threads of this process that jobs have ended; thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0
        """How often jobs have ended so far; to be read before the jobs are looked at."""

    def tell(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait(self, seen: int, seconds: float) -> bool:
        """Wait until jobs have ended since `count` was `seen`, at most so many seconds; says whether they have."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count != seen, seconds)


def wait_for_jobs(
    engine: Engine,
    tenant: str,
    ids: Sequence[str],
    timeout: float,
    *,
    endings: JobEndings,
    help: Callable[[Sequence[Job]], bool],
    pass_over: Callable[[Job], bool] = lambda _: False,
) -> list[Job]:
    """Return some jobs of a tenant as they are once all have ended, or one is dead, or the time is over.

    Jobs that are not there any more were done long ago and swept. `help` is given the open ones that are due whenever
    they are looked at; it sees to it that somebody does them, and says whether it did some itself. Open jobs that
    `pass_over` names are not waited for.
    """
    ends, pause = time.monotonic() + timeout, _FIRST_PAUSE
    while True:
        seen = endings.count
        jobs = engine.store.jobs(tenant, ids=ids)
        open_jobs = [job for job in jobs if job.state in OPEN and not pass_over(job)]
        remaining = ends - time.monotonic()
        if not open_jobs or remaining <= 0 or any(job.state == "dead" for job in jobs):
            return jobs
        now = engine.now()
        due = [job for job in open_jobs if job.state == "waiting" and (job.due_at <= now or not job.attempts)]
        if due and help(due):
            continue
        notified = endings.wait(seen, min(remaining, pause))
        pause = _FIRST_PAUSE if notified else min(pause * _GROWTH, _LONGEST_PAUSE)
