"""Protocol of a store: durable jobs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rememo.model.job import Job, Settlement
from rememo.model.scope import Scope


class JobQueue(Protocol):
    """Durable background jobs."""

    def lease(self, tasks: Sequence[str], seconds: float, moment: datetime) -> Job | None:
        """Take the oldest job that is due, and lease it for that long."""
        ...

    def lease_many(
        self, tasks: Sequence[str], seconds: float, moment: datetime, *, limit: int, ids: Sequence[str] | None = None
    ) -> list[Job]:
        """Take the oldest jobs that are due, at most `limit`, of those named if some are, and lease them."""
        ...

    def extend(self, jobs: Sequence[Job], seconds: float, moment: datetime) -> int:
        """Let leases last that long from now on; returns how many were still held."""
        ...

    def load_jobs(self, jobs: Sequence[Job]) -> int:
        """Store jobs as they are; those already there are passed over. Returns how many were new."""
        ...

    def settle(self, job: Job, *, state: str, error: str | None, due_at: datetime | None) -> bool:
        """End a lease: done, dead, or waiting for another try; False when the lease was lost meanwhile."""
        ...

    def settle_many(self, endings: Sequence[Settlement]) -> int:
        """End many leases in one transaction; returns how many were still held."""
        ...

    def requeue(self, tenant: str, id: str, moment: datetime) -> bool:
        """Let a dead job be tried again from now on; False when it is not dead."""
        ...

    def jobs(self, tenant: str, *, ids: Sequence[str] | None = None, state: str | None = None) -> list[Job]:
        """Return jobs, oldest first."""
        ...

    def open_jobs(self, scope: Scope, tasks: Sequence[str]) -> list[str]:
        """Return the ids of jobs of some tasks that wait or are being done, and are about a record within a scope."""
        ...

    def pending_jobs(self, scope: Scope, tasks: Sequence[str], *, most: int) -> list[str] | None:
        """Return what `open_jobs` does, or None where the tenant has more than `most` open jobs of whatever task.

        So it takes no longer where very much waits.
        """
        ...

    def latest_jobs(self, tenant: str, *, limit: int, state: str | None = None, before: str | None = None) -> list[Job]:
        """Return the latest so many jobs by their ids, oldest first: of those before an id, where one is given."""
        ...

    def set_vectors(self, tenant: str, vectors: Sequence[tuple[str, int, NDArray[np.float32]]], *, model: int) -> int:
        """Give versions (ids and versions) their vectors in one transaction; returns how many were still there.

        `model` is the number of the one that made them; when the store has another in use, `ModelChanged` is raised.
        """
        ...
