"""UUIDv7: unique without a coordinator, and sorted by the time they were made."""

import os
import time

from rememo.runtime.locks import ForkLock

_lock = ForkLock()
_last = 0
_VARIANTS = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


def new_id() -> str:
    """Return a UUIDv7 as text, greater than every one this process made before it."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """Return several, in order."""
    global _last  # noqa: PLW0603 - the one counter that keeps a process's ids in order
    # 48 bits of milliseconds and 12 bits of a fraction, so that ids of one millisecond keep their order too.
    stamp = time.time_ns() * 4096 // 1_000_000
    with _lock:
        first = max(stamp, _last + 1)
        _last = first + count - 1
    random = os.urandom(8 * count).hex()
    ids: list[str] = []
    for place in range(count):
        stamp, start = first + place, 16 * place
        head = f"{stamp >> 12:012x}"
        # Two bits of the random part say which variant of UUID it is: one of 8, 9, a, b.
        variant = _VARIANTS[random[start]]
        ids.append(
            f"{head[:8]}-{head[8:]}-7{stamp & 4095:03x}-{variant}{random[start + 1 : start + 4]}-{random[start + 4 : start + 16]}"
        )
    return ids
