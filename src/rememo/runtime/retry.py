"""Compare-and-set: a change that is worked out again when somebody was faster."""

from collections.abc import Callable
from typing import TypeVar

from rememo.errors import RememoError, VersionConflict

P = TypeVar("P")
T = TypeVar("T")


def retry_on_conflict(
    prepare: Callable[[], P],
    write: Callable[[P], T],
    what: str,
    *,
    attempts: int = 1_000,
    conflicts: tuple[type[RememoError], ...] = (VersionConflict,),
) -> T:
    """Return what `write` makes of what `prepare` has read and worked out; both run again when it raises a conflict.

    What `prepare` raises is raised on. After so many attempts raises `VersionConflict`, which names `what` changed.
    """
    for _ in range(attempts):
        prepared = prepare()
        try:
            return write(prepared)
        except conflicts:
            continue
    raise VersionConflict(f"{what} changed {attempts} times while it was being written; try again later")
