"""The cache of composed states: few, young, and gone as soon as they do not hold."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rememo.context.providers import Reads
from rememo.context.state import State
from rememo.model.filters import Filter
from rememo.model.scope import Scope
from rememo.runtime.locks import ForkLock

MOST_STATES: Final = 1_000
MOST_BYTES: Final = 67_108_864
LIFE: Final = timedelta(minutes=5)
SWEEP_EVERY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a state may have been made of."""

    who: Scope
    """The view's labels, and whom it is about."""
    records: tuple[Filter, ...]
    reads: tuple[Reads, ...]
    """Tell which key-value entries there are to look at."""


@dataclass(frozen=True, slots=True)
class Held:
    """A state with what must be equal for it to hold."""

    state: State
    reach: Reach
    stamp: object
    """What its reach was like before it was composed."""
    since: datetime


class StateCache:
    """States by message, the oldest out first. Time is told by the caller, so nothing runs by itself. Thread-safe."""

    def __init__(self, *, most: int = MOST_STATES, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = ForkLock()
        self._held: OrderedDict[Hashable, Held] = OrderedDict()
        self._bytes = 0
        self._swept: datetime | None = None

    def __len__(self) -> int:
        """Return how many are held, whether or not they are old by now."""
        return len(self._held)

    def __contains__(self, key: Hashable) -> bool:
        """Whether something is held under a key, old or not."""
        return key in self._held

    @property
    def bytes(self) -> int:
        """What all that is held weighs, about."""
        return self._bytes

    def get(self, key: Hashable, moment: datetime) -> Held | None:
        """Return what is held under a key and young enough."""
        if self._swept is None or not timedelta() <= moment - self._swept < SWEEP_EVERY:
            self.sweep(moment)
        held = self._held.get(key)
        return held if held is not None and _young(held, moment) else None

    def put(self, key: Hashable, held: Held) -> None:
        """Hold a state; what is too heavy for the whole cache is not held."""
        if held.state.bytes > self._most_bytes:
            return
        with self._lock:
            self._drop(key)
            self._held[key] = held
            self._bytes += held.state.bytes
            while len(self._held) > self._most or self._bytes > self._most_bytes:
                self._drop(next(iter(self._held)))

    def drop(self, key: Hashable) -> None:
        """Forget what is held under a key; nothing is also fine."""
        with self._lock:
            self._drop(key)

    def sweep(self, moment: datetime) -> int:
        """Forget what is old; returns how many that were. Done by `get` once a minute, and by `maintain()`."""
        with self._lock:
            self._swept = moment
            old = [key for key, held in self._held.items() if not _young(held, moment)]
            for key in old:
                self._drop(key)
            return len(old)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def _drop(self, key: Hashable) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._bytes -= held.state.bytes


def _young(held: Held, moment: datetime) -> bool:
    # One from the future is no better than an old one: the clock was set back, and nobody knows how long it has stood.
    return timedelta() <= moment - held.since < LIFE
