"""Forks: every open database lets go of its file before one, for SQLite's locks belong to a process."""

import os
import threading
import weakref
from typing import Protocol


class Forkable(Protocol):
    """Something that must not be carried over a fork as it is."""

    def before_fork(self) -> None:
        """Come to rest, and stay so."""
        ...

    def after_fork_in_parent(self) -> None:
        """Go on."""
        ...

    def after_fork_in_child(self) -> None:
        """Start anew."""
        ...


class _Forks:
    """All that must rest while the process is copied; one fork at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: weakref.WeakSet[Forkable] = weakref.WeakSet()
        self._resting: list[Forkable] = []

    def enrol(self, database: Forkable) -> None:
        with self._lock:
            self._known.add(database)

    def before(self) -> None:
        self._lock.acquire()
        for database in list(self._known):
            database.before_fork()
            self._resting.append(database)

    def after_in_parent(self) -> None:
        while self._resting:
            self._resting.pop().after_fork_in_parent()
        self._lock.release()

    def after_in_child(self) -> None:
        while self._resting:
            self._resting.pop().after_fork_in_child()
        # Threads that waited for the old one are not here.
        self._lock = threading.Lock()


_forks = _Forks()
enrol = _forks.enrol
"""Tell it of every fork as long as it lives."""

os.register_at_fork(before=_forks.before, after_in_parent=_forks.after_in_parent, after_in_child=_forks.after_in_child)
