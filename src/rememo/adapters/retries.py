"""Changes that are made again where another writer was faster."""

from collections.abc import Callable
from typing import Final, TypeVar

from rememo.errors import AlreadyExists, NotFound, VersionConflict

T = TypeVar("T")
_MAX_TRIES: Final = 100


def retry_conflicts(change: Callable[[], T], subject: str) -> T:
    """Return what a change returns, which reads anew each time; after 100 conflicts raise `VersionConflict`."""
    for _ in range(_MAX_TRIES):
        try:
            return change()
        except (AlreadyExists, NotFound, VersionConflict):
            continue
    raise VersionConflict(f"Conflict: {subject} changed {_MAX_TRIES} times while this was tried; try again later.")
