"""Changes that are made again where another writer was faster."""

from collections.abc import Callable
from typing import Final, TypeVar

from rememo.errors import AlreadyExists, NotFound, VersionConflict
from rememo.runtime.retry import retry_on_conflict

T = TypeVar("T")
_MAX_TRIES: Final = 100


def retry_conflicts(change: Callable[[], T], subject: str) -> T:
    """Return what a change returns, which reads anew each time; after 100 conflicts raise `VersionConflict`."""
    return retry_on_conflict(
        lambda: None,
        lambda _: change(),
        subject,
        attempts=_MAX_TRIES,
        conflicts=(AlreadyExists, NotFound, VersionConflict),
    )
