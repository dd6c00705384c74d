"""A lock that a forked child finds open, whoever held it in its parent."""

import os
import threading
import weakref
from types import TracebackType

_locks: "weakref.WeakSet[ForkLock]" = weakref.WeakSet()


class ForkLock:
    """A plain lock for short sections: threads of the parent do not live on in a child, so neither may their holds.

    What it guards must be right at any moment, or be made anew in the child by its owner.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Wait for it and take it."""
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it go."""
        self._lock.release()

    def renew(self) -> None:
        """Forget who holds it."""
        self._lock = threading.Lock()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


os.register_at_fork(after_in_child=_renew_all)
