"""Token buckets of a rate limit."""

import hashlib
import threading
from collections.abc import Callable
from typing import Final, Protocol

_MOST_BUCKETS: Final = 10_000

Bucket = tuple[float, float]
"""Tokens, and when they were counted."""
Change = Callable[[Bucket | None], Bucket]
"""Returns the new state of a bucket; None stands for one that is not known."""


class TokenBuckets(Protocol):
    """Keeps a bucket for each id; the one that was used longest ago may be forgotten."""

    def change(self, id: str, change: Change) -> None:
        """Replace a bucket by what `change` makes of it, while nobody else changes it."""
        ...


class LocalBuckets:
    """Buckets in the memory of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: dict[str, Bucket] = {}

    def change(self, id: str, change: Change) -> None:
        """Replace a bucket by what `change` makes of it."""
        with self._lock:
            self._buckets[id] = change(self._buckets.pop(id, None))  # the latest stands last
            if len(self._buckets) > _MOST_BUCKETS:
                del self._buckets[next(iter(self._buckets))]


def digest(text: str) -> bytes:
    """Return 16 bytes that stand for a text."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()
