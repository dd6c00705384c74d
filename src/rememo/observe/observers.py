"""Observers: while there are any, every operation is wrapped to notify them.

Without observers, the methods are the very functions that their classes define, so that it costs nothing.
"""

import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final, Protocol

from rememo.jobs.worker import Worker
from rememo.public_operations import public_operations


class Observer(Protocol):
    """Is notified of operations."""

    def observe(self, operation: str, tenant: str | None, /) -> AbstractContextManager[object]:
        """Return a context that is entered before an operation and left after it, with its exception."""
        ...


WORK: Final = (Worker, "do", "jobs.work")
"""What a worker does: an operation too, though no user calls it."""
_MISSING: Final = object()
_lock = threading.Lock()
_observers: tuple[Observer, ...] = ()
_original_methods: dict[tuple[type[Any], str], object] = {}
"""The original attribute of each class; `_MISSING` for inherited ones."""


def add_observer(watcher: Observer) -> None:
    """Notify an observer of every operation from now on, in all memories of the process; adding it twice is harmless."""
    global _observers  # noqa: PLW0603 - classes are the process's own too
    with _lock:
        if watcher in _observers:
            return
        if not _observers:
            for owner, name, operation in (*public_operations(), WORK):
                _original_methods[owner, name] = vars(owner).get(name, _MISSING)
                setattr(owner, name, _wrap(operation, getattr(owner, name)))
        _observers = (*_observers, watcher)


def remove_observer(watcher: Observer) -> None:
    """Remove an observer; removing the last one restores the classes."""
    global _observers  # noqa: PLW0603 - the same
    with _lock:
        _observers = tuple(observer for observer in _observers if observer is not watcher)
        if not _observers:
            for (owner, name), before in _original_methods.items():
                if before is _MISSING:
                    delattr(owner, name)
                else:
                    setattr(owner, name, before)
            _original_methods.clear()


def _wrap(operation: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def observed(self: Any, *arguments: Any, **named: Any) -> Any:
        view = getattr(self, "_view", None)
        tenant = None if view is None else view.scope.tenant
        with ExitStack() as stack:
            for watcher in _observers:
                stack.enter_context(watcher.observe(operation, tenant))
            return method(self, *arguments, **named)

    return observed
