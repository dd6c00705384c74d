"""UUIDv7: unique without a coordinator, and sorted by the time they were made."""

import os
import threading
import time

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Return a UUIDv7 as text, greater than every one this process made before it."""
    global _last  # noqa: PLW0603 - the one counter that keeps a process's ids in order
    # 48 bits of milliseconds and 12 bits of a fraction, so that ids of one millisecond keep their order too.
    stamp = time.time_ns() * 4096 // 1_000_000
    with _lock:
        _last = stamp = max(stamp, _last + 1)
    random = int.from_bytes(os.urandom(8)) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    head, tail = f"{stamp >> 12:012x}", f"{random:016x}"
    return f"{head[:8]}-{head[8:]}-7{stamp & 4095:03x}-{tail[:4]}-{tail[4:]}"


def _after_fork() -> None:
    # A child may inherit the lock while another thread of its parent held it.
    global _lock  # noqa: PLW0603 - see above
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
