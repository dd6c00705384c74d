"""Profiles: what is known of someone under any external key: a wallet's address, a platform's id, an e-mail address."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from rememo.engine.engine import Engine
from rememo.engine.view import View, ViewHolder
from rememo.errors import InvalidInput, ReadOnly, VersionConflict
from rememo.model.check import check_label, check_object, dump_json
from rememo.runtime.lru_cache import LruCache
from rememo.runtime.retry import retry_on_conflict
from rememo.working.merge_patch import merge_patch

_MOST_CACHED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is known under one key."""

    key: str
    fields: dict[str, Any]
    """A copy: changing it changes nothing stored."""
    version: int
    """Grows with every update."""


_caches: WeakKeyDictionary[Engine, LruCache[tuple[str, str, str], Profile]] = WeakKeyDictionary()
"""Profiles as they were last read, by place."""


class Profiles(ViewHolder):
    """The profiles of one scope: exactly this view's labels are their namespace.

    What was read stays decoded in the process. Every read still asks the store for the version by its key, so a change
    by another process is seen by the very next read.
    """

    def __init__(self, view: View) -> None:
        scope = view.scope
        super().__init__(view)
        self._tenant = scope.tenant
        self._space = dump_json([scope.agent, scope.user, scope.room, "profiles"])
        self._cache = _caches.setdefault(view.engine, LruCache(_MOST_CACHED))

    def get(self, key: str) -> Profile | None:
        """Return what is known under a key, or None when nothing is."""
        self._need_now()
        profile = self._find(check_label(key, "key"))
        return None if profile is None else _copy(profile)

    def update(self, key: str, fields: Mapping[str, Any] | None = None, **more: Any) -> Profile:
        """Change some fields and return the whole; nothing comes in between, in any process.

        Fields are given by name, or as a mapping where their names are not Python's. What is not given stays, mappings
        are merged field by field, and None takes a field away.
        """
        self._need_writable()
        check_label(key, "key")
        settings = self._view.engine.settings
        if fields is not None and not isinstance(fields, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"fields must be a mapping, not {type(fields).__name__}")
        changes = check_object(
            {**(fields or {}), **more}, "fields", max_bytes=settings.max_data_bytes, max_depth=settings.max_depth
        )
        if not changes:
            raise InvalidInput("update() was given no field to change")

        def prepare() -> tuple[int, dict[str, Any]]:
            stored = self._find(key)
            fields_now = check_object(
                merge_patch({} if stored is None else stored.fields, changes),
                f"profile {key!r}",
                max_bytes=settings.max_data_bytes,
                max_depth=settings.max_depth,
            )
            return 0 if stored is None else stored.version, fields_now

        def write(prepared: tuple[int, dict[str, Any]]) -> Profile:
            expected, fields_now = prepared
            version = self._view.engine.kv.set(
                self._tenant, self._space, key, dump_json(fields_now), self._view.engine.now(), expected=expected
            )
            self._cache.remove(self._kv_key(key))
            if version is None:
                raise VersionConflict(f"profile {key!r} is not at version {expected} any more")
            return Profile(key=key, fields=fields_now, version=version)

        return retry_on_conflict(prepare, write, f"profile {key!r}")

    def forget(self, key: str) -> bool:
        """Forget what is known under a key; False when nothing was."""
        self._need_writable()
        self._cache.remove(self._kv_key(check_label(key, "key")))
        return self._view.engine.kv.delete(self._tenant, self._space, key, self._view.engine.now())

    def forget_all(self) -> int:
        """Forget every profile of this scope; returns how many."""
        self._need_writable()
        return self._view.engine.kv.invalidate(self._tenant, self._space, "*", self._view.engine.now())

    def keys(self) -> list[str]:
        """Return the keys that something is known under, sorted."""
        self._need_now()
        return self._view.engine.kv.keys(self._tenant, self._space, "*", self._view.engine.now())

    def _find(self, key: str) -> Profile | None:
        """Return a profile that is not to be changed: from the cache when its version is the stored one."""
        entry = self._view.engine.kv.get(self._tenant, self._space, key, self._view.engine.now())
        if entry is None:
            self._cache.remove(self._kv_key(key))
            return None
        profile = self._cache.get(self._kv_key(key))
        if profile is None or profile.version != entry.version:
            fields = cast("dict[str, Any]", json.loads(entry.value))
            profile = Profile(key=key, fields=fields, version=entry.version)
            self._cache.put(self._kv_key(key), profile)
        return profile

    def _kv_key(self, key: str) -> tuple[str, str, str]:
        return self._tenant, self._space, key

    def _need_writable(self) -> None:
        self._need_now()
        self._view.need_no_batch("changing a profile")

    def _need_now(self) -> None:
        if self._view.known_at is not None:
            raise ReadOnly("profiles have no past and cannot be reached through a view of the past")


def _copy(profile: Profile) -> Profile:
    return Profile(key=profile.key, fields=deepcopy(profile.fields), version=profile.version)
