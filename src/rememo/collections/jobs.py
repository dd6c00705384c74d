"""Jobs: the background work of a tenant, and its failures."""

from typing import get_args

from rememo.engine.view import ViewHolder
from rememo.errors import InvalidInput, NotFound
from rememo.model.check import MAX_LIMIT, check_label, check_limit
from rememo.model.job import Job, JobState


class Jobs(ViewHolder):
    """The jobs of one tenant."""

    def list(
        self, state: JobState | None = None, *, limit: int | None = None, before: str | None = None
    ) -> "list[Job]":
        """Return jobs, oldest first: all, or those `waiting`, `running`, `done` or `dead`.

        With a `limit`, the latest so many; `before` is the id of a job, to go back page by page.
        """
        if state is not None and state not in get_args(JobState):
            raise InvalidInput(f"there is no state {state!r}; the states are {', '.join(get_args(JobState))}")
        store, tenant = self._view.engine.store, self._view.scope.tenant
        if limit is None and before is None:
            return store.jobs(tenant, state=state)
        until = None if before is None else check_label(before, "before")
        return store.latest_jobs(
            tenant, state=state, limit=check_limit(MAX_LIMIT if limit is None else limit), before=until
        )

    def get(self, id: str) -> Job:
        """Return one job; raises `NotFound` when there is none."""
        jobs = self._view.engine.store.jobs(self._view.scope.tenant, ids=[check_label(id, "id")])
        if not jobs:
            raise NotFound(f"there is no job {id!r} in this tenant; list() shows those there are")
        return jobs[0]

    def retry(self, id: str) -> Job:
        """Retry a dead job, as often as a new one, and return it."""
        self._view.need_present()
        job = self.get(id)
        if not self._view.engine.store.requeue(self._view.scope.tenant, id, self._view.engine.now()):
            raise InvalidInput(f"job {id!r} is {job.state}, not dead; only a dead job can be tried again")
        return self.get(id)
