"""Maintenance: while a memory is served, `maintain()` runs regularly for its own tenant and each tenant that has a key."""

import logging
import threading
from types import TracebackType
from typing import Self

from rememo.engine.view import view_of
from rememo.errors import InvalidInput, RememoError
from rememo.memory import Memory
from rememo.model.times import to_seconds
from rememo.serve.auth import ALL_TENANTS, ApiKeys

_log = logging.getLogger("rememo.serve")
_PATIENCE = 30.0


class MaintenanceThread:
    """A thread that maintains a memory while the context is open; failures are logged and retried next time."""

    def __init__(self, memory: Memory, every: str | float | None) -> None:
        """Run at this interval ("1h", or seconds); None never runs."""
        self._memory = memory
        self._seconds = None if every is None else to_seconds(every, "maintain")
        if self._seconds is not None and self._seconds > threading.TIMEOUT_MAX:
            raise InvalidInput(f"maintain={every!r} is longer than a thread can wait")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep_on, name="rememo-upkeep", daemon=True)

    @property
    def running(self) -> bool:
        """Whether its thread is there."""
        return self._thread.is_alive()

    def once(self) -> None:
        """Maintain every tenant now."""
        tenants = {key.tenant for key in ApiKeys(self._memory).list()} - {ALL_TENANTS}
        for tenant in sorted(tenants | {self._memory.bound.tenant}):
            if self._stopped.is_set():
                return
            try:
                self._of(tenant).maintain()
            except RememoError as error:
                _log.error("maintaining tenant %s failed: %s", tenant, error)
            except Exception:  # noqa: BLE001 - one tenant's fault must not end the upkeep of the others
                _log.exception("maintaining tenant %s failed", tenant)

    def _of(self, tenant: str) -> Memory:
        memory = self._memory
        return memory if tenant == memory.bound.tenant else memory.scope(tenant=tenant)

    def _keep_on(self) -> None:
        while not self._stopped.wait(self._seconds):
            self.once()

    def __enter__(self) -> Self:
        """Start the thread; the first run comes after the first interval."""
        if self._seconds is None:
            return self
        if view_of(self._memory).engine.is_read_only():
            _log.warning("the store is read-only: it is not maintained here")
        else:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop after the current tenant."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)
