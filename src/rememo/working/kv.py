"""Key-value state with expiry: small values that agents share and forget."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rememo.engine.view import View, ViewHolder
from rememo.errors import InvalidInput, ReadOnly, VersionConflict
from rememo.model.check import check_flag, check_function, check_json, check_label, dump_json
from rememo.model.times import to_seconds
from rememo.runtime.retry import retry_on_conflict
from rememo.store.kv.protocol import KeyValue
from rememo.working.cached import Cached


class KeyValues(ViewHolder):
    """The keys of one scope: exactly this view's labels are their namespace."""

    def __init__(self, view: View) -> None:
        scope = view.scope
        super().__init__(view)
        self._scope = scope
        self._tenant = scope.tenant
        self._space = dump_json([scope.agent, scope.user, scope.room])
        self._past = view.known_at is not None

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value, or `default` when there is none or it has expired."""
        entry = self._kv().get(self._tenant, self._space, check_label(key, "key"), self._view.engine.now())
        return default if entry is None else json.loads(entry.value)

    def version(self, key: str) -> int:
        """Return the version of a value, for `compare_and_set`; 0 when there is none."""
        entry = self._kv().get(self._tenant, self._space, check_label(key, "key"), self._view.engine.now())
        return 0 if entry is None else entry.version

    def set(
        self,
        key: str,
        value: Any,
        *,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
        keep_ttl: bool = False,
    ) -> int:
        """Store a JSON value and return its version.

        `ttl` is how long it lives; with `sliding` each read lets it live that long again (within a twentieth of it).
        Without a `ttl` it never expires, unless `keep_ttl` keeps the expiry of the value that it replaces.
        """
        version = self._set(key, value, ttl, sliding=sliding, keep_ttl=keep_ttl, expected=None)
        return version or 0

    def compare_and_set(
        self,
        key: str,
        value: Any,
        *,
        expected_version: int,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
        keep_ttl: bool = False,
    ) -> int:
        """Store a value only if the version that is there is the expected one (0: nothing there).

        Returns the new version; another version raises `VersionConflict`. Its expiry is given as in `set()`.
        """
        version = self._set(key, value, ttl, sliding=sliding, keep_ttl=keep_ttl, expected=expected_version)
        if version is None:
            raise VersionConflict(
                f"key {key!r} is not at version {expected_version}; read it again and repeat the change"
            )
        return version

    def update(
        self,
        key: str,
        change: Callable[[Any], Any],
        *,
        default: Any = None,
        ttl: float | str | timedelta | None = None,
        sliding: bool = False,
    ) -> Any:
        """Replace a value atomically by what `change` makes of it, and return that.

        It keeps its expiry, fixed or sliding, unless another `ttl` is given. `change` runs again when another thread or
        process was faster, so it must not do anything else.
        """
        check_function(change, "change")

        def prepare() -> tuple[int, Any]:
            entry = self._kv().get(self._tenant, self._space, check_label(key, "key"), self._view.engine.now())
            value = change(default if entry is None else json.loads(entry.value))
            return 0 if entry is None else entry.version, value

        def write(prepared: tuple[int, Any]) -> Any:
            expected, value = prepared
            self.compare_and_set(key, value, expected_version=expected, ttl=ttl, sliding=sliding, keep_ttl=ttl is None)
            return value

        return retry_on_conflict(prepare, write, f"key {key!r}")

    def delete(self, key: str) -> bool:
        """Remove a key; False when it was not there."""
        return self._kv(write=True).delete(self._tenant, self._space, check_label(key, "key"), self._view.engine.now())

    def invalidate(self, pattern: str) -> int:
        """Remove every key that a glob pattern such as "user:*" matches; returns how many."""
        return self._kv(write=True).invalidate(
            self._tenant, self._space, check_label(pattern, "pattern"), self._view.engine.now()
        )

    def keys(self, pattern: str = "*") -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        return self._kv().keys(self._tenant, self._space, check_label(pattern, "pattern"), self._view.engine.now())

    def cached(
        self,
        name: str,
        load: Callable[[str], Any],
        *,
        save: Callable[[str, Any], object] | None = None,
        ttl: float | str | timedelta = "1h",
        sliding: bool = False,
    ) -> Cached:
        """Return values that are kept elsewhere, such as agents' configuration, to be held ready here.

        `load(key)` reads one from where it is kept, `save(key, value)` writes one there; both are plain functions. What was loaded lives for `ttl`
        at the most, and goes at once when it is written or invalidated.
        """
        self._kv()
        return Cached(self._view, name, load, save=save, ttl=ttl, sliding=sliding)

    def _set(
        self,
        key: str,
        value: Any,
        ttl: float | str | timedelta | None,
        *,
        sliding: bool,
        keep_ttl: bool,
        expected: int | None,
    ) -> int | None:
        settings = self._view.engine.settings
        if check_flag(sliding, "sliding") and ttl is None:
            raise InvalidInput("sliding needs a ttl: say how long a value lives after each read")
        if check_flag(keep_ttl, "keep_ttl") and ttl is not None:
            raise InvalidInput("give ttl or keep_ttl, not both: keep_ttl keeps the expiry as it is")
        if expected is not None and (isinstance(expected, bool) or not isinstance(expected, int) or expected < 0):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"expected_version must be a whole number from 0, not {expected!r}")
        checked = check_json(value, "value", max_bytes=settings.max_data_bytes, depth=settings.max_depth)
        text = dump_json(checked)
        if len(text.encode()) > settings.max_data_bytes:
            raise InvalidInput(f"value is larger than the {settings.max_data_bytes:,} bytes allowed")
        return self._kv(write=True).set(
            self._tenant,
            self._space,
            check_label(key, "key"),
            text,
            self._view.engine.now(),
            ttl=None if ttl is None else to_seconds(ttl, "ttl"),
            sliding=sliding,
            keep_ttl=keep_ttl,
            expected=expected,
        )

    def _kv(self, *, write: bool = False) -> KeyValue:
        if self._past:
            verb = "written" if write else "read"
            raise ReadOnly(f"key-value state has no past and cannot be {verb} through a view of the past")
        if write:
            self._view.need_no_batch("writing key-value state")
        return self._view.engine.kv
