"""Token buckets of a rate limit: in the memory of one process, or in a file that the workers of one server share."""

import hashlib
import mmap
import os
import struct
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

_MOST_BUCKETS: Final = 10_000
_SLOT: Final = struct.Struct("<16sdd")
"""Digest of the id, tokens, and when they were counted."""
_SLOTS_OF_ROW: Final = 8
_ROWS: Final = 2_048
_ROW_BYTES: Final = _SLOT.size * _SLOTS_OF_ROW
_FILE_BYTES: Final = _ROW_BYTES * _ROWS

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


class SharedBuckets:
    """Buckets in a file that several processes map; a lock on a part of the file keeps them apart.

    A digest names a row of eight slots. An id that finds none of its own takes the slot that was used longest ago.
    """

    def __init__(self, descriptor: int) -> None:
        """Map the file of `make_bucket_file`, which other processes may map too; the clock must be the system's."""
        self._descriptor = descriptor
        self._map = mmap.mmap(descriptor, _FILE_BYTES)
        self._lock = threading.Lock()  # locks on files keep processes apart, not threads

    def change(self, id: str, change: Change) -> None:
        """Replace a bucket by what `change` makes of it."""
        import fcntl  # noqa: PLC0415 - not on Windows, where there is one worker

        digest = hashlib.blake2b(id.encode(), digest_size=16).digest()
        row = int.from_bytes(digest[:8], "little") % _ROWS * _ROW_BYTES
        with self._lock:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, _ROW_BYTES, row)
            try:
                slots = {
                    offset: _SLOT.unpack_from(self._map, offset)
                    for offset in range(row, row + _ROW_BYTES, _SLOT.size)
                }  # fmt: skip
                own = next((offset for offset, slot in slots.items() if slot[0] == digest), None)
                bucket = None if own is None else slots[own][1:]
                offset = min(slots, key=lambda offset: slots[offset][2]) if own is None else own
                _SLOT.pack_into(self._map, offset, digest, *change(bucket))
            finally:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, _ROW_BYTES, row)


def make_bucket_file() -> int:
    """Return the descriptor of a new file for `SharedBuckets`; it has no name, and is gone when the last process closes it."""
    descriptor, path = tempfile.mkstemp(prefix="rememo-")
    Path(path).unlink()
    os.ftruncate(descriptor, _FILE_BYTES)
    return descriptor
