"""UUIDv7: unique without a coordinator, and sorted by the time they were made."""

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Return a UUIDv7 as text, greater than every one this process made before it."""
    global _last  # noqa: PLW0603 - the one counter that keeps a process's ids in order
    # 48 bits of milliseconds and 12 bits of a fraction, so that ids of one millisecond keep their order too.
    stamp = time.time_ns() * 4096 // 1_000_000
    with _lock:
        _last = stamp = max(stamp, _last + 1)
    random = int.from_bytes(os.urandom(8)) & 0x3FFF_FFFF_FFFF_FFFF
    milliseconds, fraction = divmod(stamp, 4096)
    return str(UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | random))


def _after_fork() -> None:
    # A child may inherit the lock while another thread of its parent held it.
    global _lock  # noqa: PLW0603 - see above
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
