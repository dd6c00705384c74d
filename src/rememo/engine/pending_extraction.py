"""Pending extraction: a read waits for the extraction jobs of its scope, so that it sees the facts of the last message."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from rememo.engine.audit import acts_as_worker
from rememo.engine.learning import RULE_TASKS
from rememo.model.scope import Scope
from rememo.store.protocol.store import Store

_MOST_OPEN: Final = 1_000
"""Open jobs of a tenant, of any task, beyond which reads do not wait: extraction is far behind, as after an import."""
_MOST_JOBS: Final = 256
"""Extraction jobs of a scope that a read waits for: they take about a third of a second."""
_MOST_REMEMBERED: Final = 4_096


class ExtractionWorker(Protocol):
    """Runs extraction jobs."""

    def finish_extraction(self, tenant: str, jobs: Sequence[str], seconds: float) -> bool:
        """Run extraction by rules, or wait until another worker has, up to a timeout; returns whether it is done."""
        ...


class PendingExtraction:
    """Keeps track of the scopes that have no extraction pending; thread-safe.

    Where nothing was written since a scope had no open extraction job, asking again costs one look at the tenant's clock.
    """

    def __init__(self, store: Store, seconds: float, worker: Callable[[], ExtractionWorker | None]) -> None:
        """`seconds` is how long a read waits; `worker` returns the worker that runs extraction jobs, or None where there is none."""
        self._store = store
        self._seconds = seconds
        self._worker = worker
        self._learned: dict[Scope, int] = {}
        """The tenant's clock when a scope had no extraction pending."""
        self._given_up: set[str] = set()
        """Jobs that did not finish in time: no other read waits for them."""

    def wait(self, scope: Scope) -> None:
        """Wait until facts are extracted by rules from what was written within a scope: never for a model or a long backlog."""
        if self._seconds <= 0 or acts_as_worker():
            return
        # What a person says in one room changes what is known in the others.
        person = scope if scope.user is None else replace(scope, agent=None, room=None)
        clock = self._store.clock(scope.tenant)
        if self._learned.get(person) == clock:
            return
        pending = self._store.pending_jobs(person, RULE_TASKS, most=_MOST_OPEN)
        if pending is None:
            return
        jobs = [id for id in pending if id not in self._given_up]
        if len(jobs) > _MOST_JOBS:
            return
        if jobs:
            worker = self._worker()
            if worker is None:
                return
            if not worker.finish_extraction(scope.tenant, jobs, self._seconds):
                self._remember_given_up(jobs)
        if len(self._learned) >= _MOST_REMEMBERED:
            self._learned.clear()
        self._learned[person] = clock

    def _remember_given_up(self, jobs: Sequence[str]) -> None:
        if len(self._given_up) >= _MOST_REMEMBERED:
            self._given_up.clear()
        self._given_up.update(jobs)
