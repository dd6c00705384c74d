"""A lock that is free in a forked child, whichever thread held it in the parent."""

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
        """Acquire the lock."""
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""
        self._lock.release()

    def renew(self) -> None:
        """Replace the lock by a free one."""
        self._lock = threading.Lock()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


os.register_at_fork(after_in_child=_renew_all)
