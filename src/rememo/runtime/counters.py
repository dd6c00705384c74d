"""What happens inside this process, counted as it happens: cache hits, hook failures, tokens. Metrics read it."""

from collections.abc import Mapping

from rememo.runtime.locks import ForkLock


class Counts:
    """Counters by name that only grow, over all memories of the process."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._counts: dict[str, int] = {}

    def add(self, name: str, count: int = 1) -> None:
        """Count something; where several threads do so at the same instant, none is lost."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + count

    def read(self) -> Mapping[str, int]:
        """Return all counters as they are now."""
        with self._lock:
            return dict(self._counts)


counts = Counts()
"""Those of this process."""
