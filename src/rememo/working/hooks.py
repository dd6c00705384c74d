"""Hooks of a view: called after changes within its scope."""

from rememo.engine.hooks import Hook
from rememo.engine.view import View
from rememo.model.check import check_function


class Hooks:
    """Functions that are called after each change within a view's scope, once it is durable."""

    def __init__(self, view: View) -> None:
        self._table = view.engine.hooks
        self._scope = view.scope

    def on_change(self, hook: Hook) -> Hook:
        """Call `hook(change)` after every change in this scope; usable as a decorator.

        It runs in the writing thread. One that raises is logged and counted; the write stands. An async one is refused.
        """
        check_function(hook, "a hook")
        self._table.add(self._scope, hook)
        return hook

    def remove(self, hook: Hook) -> None:
        """Call it no more."""
        self._table.remove(self._scope, hook)

    @property
    def failures(self) -> int:
        """How often hooks of this memory have failed since it was opened."""
        return self._table.failures
