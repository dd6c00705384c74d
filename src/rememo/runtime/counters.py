"""Counters of this process: cache hits, hook failures, tokens. Metrics read them."""

from collections.abc import Mapping

from rememo.runtime.locks import ForkLock


class Counts:
    """Monotonic counters by name, over all memories of the process."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._counts: dict[str, int] = {}

    def add(self, name: str, count: int = 1) -> None:
        """Add to a counter; thread-safe."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + count

    def read(self) -> Mapping[str, int]:
        """Return the current values of all counters."""
        with self._lock:
            return dict(self._counts)


counts = Counts()
"""The counters of this process."""
