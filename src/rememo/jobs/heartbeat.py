"""Heartbeats of long-running jobs: a lease that is not extended belongs to a worker that died."""

import logging
import threading
from collections.abc import Callable, Sequence

from rememo.engine.engine import Engine
from rememo.errors import Closed, StorageError
from rememo.model.job import Job

LEASE_SECONDS = 60.0
_log = logging.getLogger("rememo.worker")


class Heartbeat:
    """Extends the leases of running jobs until it is stopped."""

    def __init__(
        self,
        engine: Engine,
        jobs: Sequence[Job],
        lease: float = LEASE_SECONDS,
        *,
        lost: Callable[[], None] | None = None,
    ) -> None:
        """Begin; `lost` is called when no lease of these jobs is held any more."""
        self._lost = lost
        self.engine = engine
        self._jobs = jobs
        self._lease = lease
        self._lock = threading.Lock()
        self._stopped = False
        self._timer = self._next()

    def _next(self) -> threading.Timer:
        timer = threading.Timer(self._lease / 3, self.beat)
        timer.daemon = True
        timer.start()
        return timer

    def beat(self) -> None:
        """Extend the leases now, and again later."""
        try:
            extended = self.engine.store.extend(self._jobs, self._lease, self.engine.now())
            if not extended and self._lost is not None and not self._stopped:
                self._lost()
        except (StorageError, Closed) as error:
            _log.warning("leases could not be extended: %s", error)
        with self._lock:
            if not self._stopped:
                self._timer = self._next()

    def stop(self) -> None:
        """Stop extending leases."""
        with self._lock:
            self._stopped = True
            self._timer.cancel()
