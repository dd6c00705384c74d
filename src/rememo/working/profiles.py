"""Profiles: what is known of someone under any external key: a wallet's address, a platform's id, an e-mail address."""

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.errors import InvalidInput, ReadOnly, VersionConflict
from rememo.model.check import check_label, check_object, dump_json
from rememo.working.merging import merged

_MOST_TRIES = 1_000
_MOST_CACHED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is known under one key."""

    key: str
    fields: dict[str, Any]
    """A copy: changing it changes nothing stored."""
    version: int
    """Grows with every update."""


class _Cache:
    """Profiles as they were last read, by place; the oldest used leave first. Safe for threads."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str, str], Profile] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, place: tuple[str, str, str], version: int) -> Profile | None:
        with self._lock:
            held = self._held.get(place)
            if held is None or held.version != version:
                return None
            self._held.move_to_end(place)
            return held

    def put(self, place: tuple[str, str, str], profile: Profile) -> None:
        with self._lock:
            self._held[place] = profile
            self._held.move_to_end(place)
            if len(self._held) > _MOST_CACHED:
                self._held.popitem(last=False)

    def drop(self, place: tuple[str, str, str]) -> None:
        with self._lock:
            self._held.pop(place, None)


_caches: WeakKeyDictionary[Engine, _Cache] = WeakKeyDictionary()


class Profiles:
    """The profiles of one scope: exactly this view's labels are their namespace.

    What was read stays decoded in the process. Every read still asks the store for the version by its key, so a change
    by another process is seen by the very next read.
    """

    def __init__(self, view: View) -> None:
        scope = view.scope
        self._view = view
        self._engine = view.engine
        self._tenant = scope.tenant
        self._space = dump_json([scope.agent, scope.user, scope.room, "profiles"])
        self._cache = _caches.setdefault(view.engine, _Cache())

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
        settings = self._engine.settings
        if fields is not None and not isinstance(fields, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"fields must be a mapping, not {type(fields).__name__}")
        changes = check_object(
            {**(fields or {}), **more}, "fields", max_bytes=settings.max_data_bytes, max_depth=settings.max_depth
        )
        if not changes:
            raise InvalidInput("update() was given no field to change")
        for _ in range(_MOST_TRIES):
            held = self._find(key)
            fields_now = check_object(
                merged({} if held is None else held.fields, changes),
                f"profile {key!r}",
                max_bytes=settings.max_data_bytes,
                max_depth=settings.max_depth,
            )
            expected = 0 if held is None else held.version
            version = self._engine.kv.set(
                self._tenant, self._space, key, dump_json(fields_now), self._engine.now(), expected=expected
            )
            self._cache.drop(self._place(key))
            if version is not None:
                return Profile(key=key, fields=fields_now, version=version)
        raise VersionConflict(
            f"profile {key!r} changed {_MOST_TRIES} times while it was being updated; try again later"
        )

    def forget(self, key: str) -> bool:
        """Forget what is known under a key; False when nothing was."""
        self._need_writable()
        self._cache.drop(self._place(check_label(key, "key")))
        return self._engine.kv.delete(self._tenant, self._space, key, self._engine.now())

    def forget_all(self) -> int:
        """Forget every profile of this scope; returns how many."""
        self._need_writable()
        return self._engine.kv.invalidate(self._tenant, self._space, "*", self._engine.now())

    def keys(self) -> list[str]:
        """Return the keys that something is known under, sorted."""
        self._need_now()
        return self._engine.kv.keys(self._tenant, self._space, "*", self._engine.now())

    def _find(self, key: str) -> Profile | None:
        """Return a profile that is not to be changed: from the cache when its version is the stored one."""
        entry = self._engine.kv.get(self._tenant, self._space, key, self._engine.now())
        if entry is None:
            self._cache.drop(self._place(key))
            return None
        profile = self._cache.get(self._place(key), entry.version)
        if profile is None:
            fields = cast("dict[str, Any]", json.loads(entry.value))
            profile = Profile(key=key, fields=fields, version=entry.version)
            self._cache.put(self._place(key), profile)
        return profile

    def _place(self, key: str) -> tuple[str, str, str]:
        return self._tenant, self._space, key

    def _need_writable(self) -> None:
        self._need_now()
        self._view.need_no_batch("changing a profile")

    def _need_now(self) -> None:
        if self._view.known_at is not None:
            raise ReadOnly("profiles have no past and cannot be reached through a view of the past")


def _copy(profile: Profile) -> Profile:
    return Profile(key=profile.key, fields=deepcopy(profile.fields), version=profile.version)
