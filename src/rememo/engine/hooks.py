"""Hooks: functions that are called with changes after they are durable."""

import logging
from collections.abc import Callable, Sequence

from rememo.model.receipt import Change
from rememo.model.scope import Scope
from rememo.runtime.counters import counts
from rememo.runtime.locks import ForkLock

Hook = Callable[[Change], object]

_log = logging.getLogger("rememo.hooks")


class HookTable:
    """The hooks of one engine; a failing one is logged and counted, and never loses the write."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._hooks: tuple[tuple[Scope, Hook], ...] = ()
        self.failures = 0

    @property
    def any(self) -> bool:
        """Whether any hook is registered."""
        return bool(self._hooks)

    def add(self, scope: Scope, hook: Hook) -> None:
        """Call a hook for every change within a scope from now on."""
        with self._lock:
            self._hooks = (*self._hooks, (scope, hook))

    def remove(self, scope: Scope, hook: Hook) -> None:
        """Call it no more; removing one that is not there is harmless."""
        with self._lock:
            self._hooks = tuple(entry for entry in self._hooks if entry != (scope, hook))

    def tell(self, changes: Sequence[Change]) -> None:
        """Call every hook that a change concerns, in the calling thread."""
        for scope, hook in self._hooks:
            for change in changes:
                if not scope.contains(change.scope):
                    continue
                try:
                    hook(change)
                except Exception:  # noqa: BLE001 - a hook is foreign code: whatever it raises, the write stands
                    with self._lock:
                        self.failures += 1
                    counts.add("hook_failures")
                    _log.exception("hook %r failed for %s %s", hook, change.kind, change.id)
