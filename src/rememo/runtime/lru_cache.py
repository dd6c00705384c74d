"""A cache with a bound: what was used longest ago leaves first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from rememo.runtime.locks import ForkLock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key, at most `max_entries` of them and together at most `max_weight`. Thread-safe."""

    def __init__(
        self, max_entries: int, *, max_weight: int | None = None, weigh: Callable[[V], int] = lambda _: 0
    ) -> None:
        """Hold nothing yet; `weigh` tells what a value counts of `max_weight`."""
        self._max_entries = max_entries
        self._max_weight = max_weight
        self._weigh = weigh
        self._lock = ForkLock()
        self._values: OrderedDict[K, V] = OrderedDict()
        self._weight = 0

    def __len__(self) -> int:
        """Return how many values are held."""
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        """Whether a value is held under a key."""
        return key in self._values

    @property
    def weight(self) -> int:
        """What all values weigh together."""
        return self._weight

    def get(self, key: K) -> V | None:
        """Return the value of a key, which counts as used now."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def peek(self, key: K) -> V | None:
        """Return the value of a key without counting that as use."""
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Hold a value; one that is heavier than the whole cache is not held."""
        weight = self._weigh(value)
        if self._max_weight is not None and weight > self._max_weight:
            return
        with self._lock:
            self._remove(key)
            self._values[key] = value
            self._weight += weight
            while len(self._values) > self._max_entries or self._weight > (self._max_weight or self._weight):
                self._remove(next(iter(self._values)))

    def remove(self, key: K) -> None:
        """Forget a key; one that is not held is also fine."""
        with self._lock:
            self._remove(key)

    def remove_where(self, test: Callable[[V], bool]) -> int:
        """Forget the values that pass a test; returns how many."""
        with self._lock:
            keys = [key for key, value in self._values.items() if test(value)]
            for key in keys:
                self._remove(key)
            return len(keys)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()
            self._weight = 0

    def _remove(self, key: K) -> None:
        value = self._values.pop(key, None)
        if value is not None:
            self._weight -= self._weigh(value)
