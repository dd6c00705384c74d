"""What the workers of one server count together: rates, places and connections, in a file without a name that all map."""

import mmap
import os
import secrets
import struct
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

from rememo.errors import InvalidInput, Unavailable
from rememo.serve.token_buckets import Bucket, digest

Holder = tuple[bytes, bytes]
"""Digests of the tenant and of the key that hold a place."""

_VERSION: Final = 1
_HEADER: Final = struct.Struct("<8sQQQ32s")
"""A mark, the version of this layout, the places for streams and for transfers, and a secret."""
_MARK: Final = b"rememo\0\0"
_BUCKET: Final = struct.Struct("<16sdd")
"""Digest of the id, tokens, and when they were counted."""
_BUCKETS_OF_ROW: Final = 8
_ROWS: Final = 2_048
_ROW_BYTES: Final = _BUCKET.size * _BUCKETS_OF_ROW
_COUNT: Final = struct.Struct("<QQ")
"""A process, and its open connections."""
_COUNTS: Final = 64
_PLACE: Final = struct.Struct("<Q16s16s")
"""The process that holds a place, 0 for none; tenant and key."""
_MOST_PLACES: Final = 65_536


class SharedMemory:
    """A file that several processes map; locks on parts of it keep them apart."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._map = mmap.mmap(descriptor, 0)
        self._lock = threading.Lock()  # locks on files keep processes apart, not threads
        self.size = len(self._map)

    @contextmanager
    def locked(self, offset: int, length: int) -> Generator[mmap.mmap]:
        """Lend the memory while nobody else has this part of it; the lock of a process that is killed is free again."""
        import fcntl  # noqa: PLC0415 - not on Windows, where there is one worker

        with self._lock:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, length, offset)
            try:
                yield self._map
            finally:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, length, offset)

    def close(self) -> None:
        """Let go of it; the other processes keep theirs."""
        self._map.close()
        os.close(self._descriptor)


class SharedBuckets:
    """Token buckets of all workers; the clock that counts them must be the system's.

    A digest names a row of eight buckets. An id that finds none of its own takes the one that was used longest ago.
    """

    SIZE: Final = _ROW_BYTES * _ROWS

    def __init__(self, memory: SharedMemory, offset: int) -> None:
        self._memory = memory
        self._offset = offset

    def change(self, id: str, change: Callable[[Bucket | None], Bucket]) -> None:
        """Replace a bucket by what `change` makes of it."""
        name = digest(id)
        row = self._offset + int.from_bytes(name[:8], "little") % _ROWS * _ROW_BYTES
        with self._memory.locked(row, _ROW_BYTES) as memory:
            slots = {
                offset: _BUCKET.unpack_from(memory, offset) for offset in range(row, row + _ROW_BYTES, _BUCKET.size)
            }
            own = next((offset for offset, slot in slots.items() if slot[0] == name), None)
            bucket = None if own is None else slots[own][1:]
            offset = min(slots, key=lambda offset: slots[offset][2]) if own is None else own
            _BUCKET.pack_into(memory, offset, name, *change(bucket))


class SharedPlaces:
    """The places of a concurrency limit, whichever worker holds them."""

    def __init__(self, memory: SharedMemory, offset: int, count: int) -> None:
        self._memory = memory
        self._rows = range(offset, offset + count * _PLACE.size, _PLACE.size)

    def take(self, holder: Holder, check: Callable[[Sequence[Holder]], None]) -> int:
        """Take a place, unless `check` raises when it is given those who hold one."""
        with self._locked() as memory:
            held = {row: values for row in self._rows if (values := _PLACE.unpack_from(memory, row))[0]}
            check([(tenant, key) for _, tenant, key in held.values()])
            row = next((row for row in self._rows if row not in held), None)
            if row is None:
                raise Unavailable(f"the workers have {len(self._rows):,} places, and all are taken; retry later")
            _PLACE.pack_into(memory, row, os.getpid(), *holder)
            return row

    def give_back(self, place: int) -> None:
        """Free a place."""
        with self._locked() as memory:
            _PLACE.pack_into(memory, place, 0, b"", b"")

    def forget(self, process: int) -> None:
        """Free the places of a process that has ended."""
        with self._locked() as memory:
            for row in self._rows:
                if _PLACE.unpack_from(memory, row)[0] == process:
                    _PLACE.pack_into(memory, row, 0, b"", b"")

    @contextmanager
    def _locked(self) -> Generator[mmap.mmap]:
        # A table without places has a lock all the same: a length of 0 would mean the whole file.
        with self._memory.locked(self._rows.start, max(1, self._rows.stop - self._rows.start)) as memory:
            yield memory


class SharedConnections:
    """How many connections each worker has open."""

    SIZE: Final = _COUNT.size * _COUNTS

    def __init__(self, memory: SharedMemory, offset: int) -> None:
        self._memory = memory
        self._rows = range(offset, offset + self.SIZE, _COUNT.size)

    def count(self, own: int) -> int:
        """Note how many this process has, and return how many all have."""
        process, total = os.getpid(), own
        with self._locked() as memory:
            free = place = None
            for row in self._rows:
                holder, count = _COUNT.unpack_from(memory, row)
                if holder == process:
                    place = row
                elif holder:
                    total += count
                elif free is None:
                    free = row
            if (row := free if place is None else place) is not None:
                _COUNT.pack_into(memory, row, process, own)
        return total

    def forget(self, process: int) -> None:
        """Free the row of a process that has ended."""
        with self._locked() as memory:
            for row in self._rows:
                if _COUNT.unpack_from(memory, row)[0] == process:
                    _COUNT.pack_into(memory, row, 0, 0)

    @contextmanager
    def _locked(self) -> Generator[mmap.mmap]:
        with self._memory.locked(self._rows.start, self.SIZE) as memory:
            yield memory


class SharedLimits:
    """All that the workers of one server count together."""

    def __init__(self, descriptor: int) -> None:
        """Map a file of `make_shared_file`; it belongs to this object from now on.

        Raises `InvalidInput` when it was made by a version that arranges it differently.
        """
        self._memory = SharedMemory(descriptor)
        with self._memory.locked(0, _HEADER.size) as memory:
            mark, version, streams, transfers, self.secret = _HEADER.unpack_from(memory, 0)
        if (mark, version) != (_MARK, _VERSION):
            raise InvalidInput(
                "the server was started by another version of Rememo; restart it instead of reloading it"
            )
        offset = _HEADER.size
        self.buckets = SharedBuckets(self._memory, offset)
        offset += SharedBuckets.SIZE
        self.connections = SharedConnections(self._memory, offset)
        offset += SharedConnections.SIZE
        self.streams = SharedPlaces(self._memory, offset, streams)
        offset += streams * _PLACE.size
        self.exports = SharedPlaces(self._memory, offset, transfers)
        offset += transfers * _PLACE.size
        self.imports = SharedPlaces(self._memory, offset, transfers)

    def forget(self, process: int) -> None:
        """Free what a worker held that has ended."""
        self.connections.forget(process)
        for places in (self.streams, self.exports, self.imports):
            places.forget(process)

    def close(self) -> None:
        """Let go of the file."""
        self._memory.close()


def make_shared_file(*, streams: int, transfers: int) -> int:
    """Return the descriptor of a new file for `SharedLimits`; it is gone when the last process closes it."""
    streams, transfers = min(streams, _MOST_PLACES), min(transfers, _MOST_PLACES)
    size = _HEADER.size + SharedBuckets.SIZE + SharedConnections.SIZE + (streams + 2 * transfers) * _PLACE.size
    # In memory where that is possible: a server that keeps its memory elsewhere needs no place for files here.
    descriptor = os.memfd_create("rememo") if hasattr(os, "memfd_create") else _temporary_file()
    # Written, not only made longer: on a full disk, pages that are not there yet would end who touches them.
    whole = _HEADER.pack(_MARK, _VERSION, streams, transfers, secrets.token_bytes(32)).ljust(size, b"\0")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(whole)
    return descriptor


def _temporary_file() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
