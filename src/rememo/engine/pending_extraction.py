"""Lessons that are still to come: a read waits for those of its scope, so that it sees what the last message taught."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from rememo.engine.audit import acts_as_worker
from rememo.engine.learning import RULE_TASKS
from rememo.model.scope import Scope
from rememo.store.protocol.store import Store

_MOST_OPEN: Final = 1_000
"""Open jobs of a tenant, of whatever task, beyond which nobody waits: learning is far behind, as after an import."""
_MOST_LESSONS: Final = 256
"""Lessons of a scope that a read waits for: they take about a third of a second."""
_MOST_REMEMBERED: Final = 4_096


class ExtractionWorker(Protocol):
    """Who does the lessons."""

    def finish_extraction(self, tenant: str, jobs: Sequence[str], seconds: float) -> bool:
        """Have rules learn, or wait until others have done so, for so long at the most; says whether it is done."""
        ...


class PendingExtraction:
    """What is known about which scopes have nothing left to learn; thread-safe.

    Where nothing was written since a scope had no lesson open, asking again costs one look at the tenant's clock.
    """

    def __init__(self, store: Store, seconds: float, teacher: Callable[[], ExtractionWorker | None]) -> None:
        """`seconds` is how long a read waits; `teacher` finds who does the lessons, or None where nobody does here."""
        self._store = store
        self._seconds = seconds
        self._teacher = teacher
        self._learned: dict[Scope, int] = {}
        """The tenant's clock when a scope had no lesson open."""
        self._given_up: set[str] = set()
        """Jobs that were waited for in vain: no other read waits for them."""

    def wait(self, scope: Scope) -> None:
        """Wait until what was written within a scope is learned by rules: never for a model, and never for very much."""
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
        lessons = [id for id in pending if id not in self._given_up]
        if len(lessons) > _MOST_LESSONS:
            return
        if lessons:
            teacher = self._teacher()
            if teacher is None:
                return
            if not teacher.finish_extraction(scope.tenant, lessons, self._seconds):
                self._remember_given_up(lessons)
        if len(self._learned) >= _MOST_REMEMBERED:
            self._learned.clear()
        self._learned[person] = clock

    def _remember_given_up(self, jobs: Sequence[str]) -> None:
        if len(self._given_up) >= _MOST_REMEMBERED:
            self._given_up.clear()
        self._given_up.update(jobs)
