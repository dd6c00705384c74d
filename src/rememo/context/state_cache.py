"""The cache of composed states, bounded in number, size and age."""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rememo.context.providers import KeyReads
from rememo.context.state import State
from rememo.model.filters import Filter
from rememo.model.scope import Scope
from rememo.runtime.lru_cache import LruCache

MOST_STATES: Final = 1_000
MOST_BYTES: Final = 67_108_864
LIFE: Final = timedelta(minutes=5)
SWEEP_EVERY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSources:
    """The records and key-value entries that a state may depend on."""

    who: Scope
    """The view's labels, and whom it is about."""
    records: tuple[Filter, ...]
    reads: tuple[KeyReads, ...]
    """Tell which key-value entries there are to look at."""


@dataclass(frozen=True, slots=True)
class CachedState:
    """A state with the stamp that must be unchanged for it to be valid."""

    state: State
    sources: StateSources
    stamp: object
    """What its sources was like before it was composed."""
    since: datetime


class StateCache:
    """States by message, the oldest out first. The caller gives the time, so nothing runs by itself. Thread-safe."""

    def __init__(self, *, most: int = MOST_STATES, most_bytes: int = MOST_BYTES) -> None:
        self._states = LruCache[Hashable, CachedState](
            most, max_weight=most_bytes, weigh=lambda cached: cached.state.bytes
        )
        self._swept: datetime | None = None

    def __len__(self) -> int:
        """Return how many are held, whether or not they are old by now."""
        return len(self._states)

    def __contains__(self, key: Hashable) -> bool:
        """Whether something is held under a key, old or not."""
        return key in self._states

    @property
    def bytes(self) -> int:
        """What all that is held weighs, about."""
        return self._states.weight

    def get(self, key: Hashable, now: datetime) -> CachedState | None:
        """Return what is held under a key and young enough."""
        if self._swept is None or not timedelta() <= now - self._swept < SWEEP_EVERY:
            self.sweep(now)
        cached = self._states.peek(key)
        return cached if cached is not None and _is_young(cached, now) else None

    def put(self, key: Hashable, cached: CachedState) -> None:
        """Cache a state, unless it is too large for the whole cache."""
        self._states.put(key, cached)

    def drop(self, key: Hashable) -> None:
        """Forget what is held under a key; nothing is also fine."""
        self._states.remove(key)

    def sweep(self, now: datetime) -> int:
        """Forget what is old; returns how many that were. Done by `get` once a minute, and by `maintain()`."""
        self._swept = now
        return self._states.remove_where(lambda cached: not _is_young(cached, now))

    def clear(self) -> None:
        """Forget everything."""
        self._states.clear()


def _is_young(cached: CachedState, now: datetime) -> bool:
    # One from the future is no better than an old one: the clock was set back, and nobody knows how long it has stood.
    return timedelta() <= now - cached.since < LIFE
