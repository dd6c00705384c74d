"""Cached values: what is kept elsewhere, held ready as key-value state and never older than its last write."""

import inspect
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rememo.engine.view import View, ViewHolder
from rememo.errors import InvalidInput
from rememo.model.check import check_flag, check_function, check_json, check_label, dump_json
from rememo.model.times import to_seconds

_LOADING = dump_json({"loading": True})
_LONGEST_LOAD = 60.0


class Cached(ViewHolder):
    """Session data, agent configuration and the like, read through to where it is kept; shared by processes."""

    def __init__(
        self,
        view: View,
        name: str,
        load: Callable[[str], Any],
        *,
        save: Callable[[str, Any], object] | None = None,
        ttl: float | str | timedelta = "1h",
        sliding: bool = False,
    ) -> None:
        check_function(load, "load")
        if save is not None:
            check_function(save, "save")
        super().__init__(view)
        scope = view.scope
        self._tenant = scope.tenant
        self._space = dump_json([scope.agent, scope.user, scope.room, "cached", check_label(name, "name")])
        self._name = name
        self._load = load
        self._save = save
        self._ttl = to_seconds(ttl, "ttl")
        self._sliding = check_flag(sliding, "sliding")

    def get(self, key: str) -> Any:
        """Return a copy of the value: the one held ready, else what `load(key)` gives, which is then held.

        A value that was written or forgotten while it was being loaded is returned, but not held.
        """
        kv, kv_key = self._view.engine.kv, (self._tenant, self._space, check_label(key, "key"))
        entry = kv.get(*kv_key, self._view.engine.now())
        stored: dict[str, Any] = {} if entry is None else json.loads(entry.value)
        if "value" in stored:
            return stored["value"]
        # A mark stands for the load: whoever writes meanwhile takes it away, and then the load is out of date.
        mark = None
        if entry is None:
            mark = kv.set(*kv_key, _LOADING, self._view.engine.now(), ttl=_LONGEST_LOAD, expected=0)
        try:
            text = self._to_json(key, self._load_value(key))
        except BaseException:
            if mark is not None:
                kv.delete(*kv_key, self._view.engine.now())
            raise
        if mark is not None:
            kv.set(*kv_key, text, self._view.engine.now(), ttl=self._ttl, sliding=self._sliding, expected=mark)
        return json.loads(text)["value"]

    def set(self, key: str, value: Any) -> None:
        """Write a value to where it is kept, by `save(key, value)`, and forget the one held ready."""
        if self._save is None:
            raise InvalidInput(
                f"cached {self._name!r} was given no save= to write by; write where it is kept and then forget({key!r})"
            )
        check_label(key, "key")
        try:
            self._save(key, value)
        finally:  # one that failed may have been written all the same
            self.forget(key)

    def forget(self, key: str) -> bool:
        """Load it anew the next time; False when it was not held."""
        return self._view.engine.kv.delete(self._tenant, self._space, check_label(key, "key"), self._view.engine.now())

    def invalidate(self, pattern: str = "*") -> int:
        """Load anew the next time whatever a glob pattern matches; returns how many were held."""
        kv_key = self._tenant, self._space, check_label(pattern, "pattern")
        return self._view.engine.kv.invalidate(*kv_key, self._view.engine.now())

    def _load_value(self, key: str) -> Any:
        value = self._load(key)
        if inspect.iscoroutine(value):  # what a plain function may give that calls an async one
            value.close()
            raise InvalidInput(
                f"load gave a coroutine for key {key!r}, which nobody awaits; let it wait for the value, such as by"
                " asyncio.run_coroutine_threadsafe(…).result()"
            )
        return value

    def _to_json(self, key: str, value: Any) -> str:
        settings = self._view.engine.settings
        what = f"cached {self._name!r}, key {key!r},"
        text = dump_json(
            {"value": check_json(value, what, max_bytes=settings.max_data_bytes, depth=settings.max_depth)}
        )
        if len(text.encode()) > settings.max_data_bytes:
            raise InvalidInput(f"{what} is larger than the {settings.max_data_bytes:,} bytes allowed")
        return text
