"""Every error Rememo raises.

::

    RememoError
    ├── InvalidInput            what was passed cannot be meant; nothing was changed
    │   ├── InvalidFilter
    │   └── InvalidStep         a flow cannot go there from where it is
    ├── NotFound                a named thing is not there
    ├── AlreadyExists           an id is taken and ``on_conflict="error"``
    ├── VersionConflict         the record moved on since it was read
    ├── Paused                  a flow rests and must be resumed first
    ├── TypeMismatch            a stored value does not fit its type any more
    ├── Closed                  the memory was closed
    ├── ReadOnly                a write through a view of the past
    ├── MissingExtra            an optional dependency is not installed
    ├── EmbeddingMismatch       vectors of another model or dimension
    │   └── ModelChanged        the store has another embedding model in use by now
    ├── EmbeddingFailed         a model gave no vectors
    ├── ModelFailed             a language model could not be asked, or gave nothing that can be used
    ├── OverBudget              a call to a model would pass the day's ceiling, and was not made
    ├── JobFailed               later work of a write is dead, or not done in time
    ├── Unauthorised            a server wants a key, and this is none, or one no more
    ├── Forbidden               a key does not reach this, or may not do it
    ├── RateLimited             too much was asked under one key in too short a time
    ├── Unavailable             a server has too much to do, or cannot be reached
    └── StorageError            the store could not do its work
        ├── Busy                another writer held the store too long, or it cannot be reached for now
        ├── CommitUnknown       the store was lost during a write: it may have been done or not
        ├── DiskFull
        ├── ReadOnlyStore       a write to a file or a server that can only be read; also a ReadOnly
        ├── ArchiveError        an archive could not be written, or is damaged
        ├── Corrupt             the file is damaged
        ├── KeyMismatch         encrypted with another key, with none, or with one that was dropped
        └── IncompatibleStore   the file is from a newer Rememo, or not one of its files

A message says what happened, to which thing, and what to do. No driver's exception leaves the store.
"""


class RememoError(Exception):
    """Something went wrong in Rememo."""

    code = "error"
    detail: object = None
    """More about it for programs, as JSON values; a server sends it along."""


class InvalidInput(RememoError, ValueError):
    """An argument cannot be used as it is."""

    code = "invalid_input"


class InvalidFilter(InvalidInput):
    """A filter is empty where it must not be, or contradicts itself."""

    code = "invalid_filter"


class InvalidStep(InvalidInput):
    """A flow cannot go there from where it is."""

    code = "invalid_step"


class NotFound(RememoError, LookupError):
    """A named thing is not in this memory, or not in this scope."""

    code = "not_found"


class AlreadyExists(RememoError):
    """A record with this id is there already."""

    code = "already_exists"


class VersionConflict(RememoError):
    """The record has moved on since the version that was expected."""

    code = "version_conflict"


class Paused(RememoError):
    """A flow rests; resume it first."""

    code = "paused"


class TypeMismatch(RememoError, TypeError):
    """A stored value does not fit the type it is asked for as."""

    code = "type_mismatch"


class Closed(RememoError):
    """The memory was closed."""

    code = "closed"


class ReadOnly(RememoError):
    """A view of the past cannot be written to."""

    code = "read_only"


class MissingExtra(RememoError, ImportError):
    """An optional dependency is not installed."""

    code = "missing_extra"


class EmbeddingMismatch(InvalidInput):
    """Vectors of another model or dimension than this memory holds."""

    code = "embedding_mismatch"


class ModelChanged(EmbeddingMismatch):
    """The store has another embedding model in use than the one these vectors are of."""

    code = "model_changed"


class EmbeddingFailed(RememoError):
    """A model gave no vectors."""

    code = "embedding_failed"
    transient = False
    """Whether the same may go well later: the endpoint was not reached, or has too much to do."""
    retry_after: float | None = None
    """How many seconds to wait before asking again, where that is known."""

    @classmethod
    def for_now(cls, message: str, retry_after: float | None = None) -> "EmbeddingFailed":
        """Return one that may be over later."""
        error = cls(message)
        error.transient, error.retry_after = True, retry_after
        return error


class ModelFailed(RememoError):
    """A language model could not be asked, or gave nothing that can be used."""

    code = "model_failed"

    def __init__(
        self,
        message: str = "A language model gave nothing that can be used.",
        *,
        reason: str = "failed",
        retry_after: float | None = None,
        tokens: tuple[int, int] = (0, 0),
    ) -> None:
        """Say why: `unreachable`, `slow`, `busy`, `broken`, `refused`, `empty`, `malformed`, `rejected` or `stopped`.

        `retry_after` is how many seconds the endpoint asked to wait; `tokens` were spent in vain, of prompt and answer.
        """
        super().__init__(message)
        self.reason = reason
        self.transient = reason in {"unreachable", "slow", "busy", "broken"}
        """Whether the same may go well later."""
        self.retry_after = retry_after
        self.tokens = tokens


class OverBudget(RememoError):
    """A call to a model would pass the day's ceiling, and was not made."""

    code = "over_budget"


class JobFailed(RememoError):
    """Later work of a write is dead, or was not done in the time given."""

    code = "job_failed"


class Unauthorised(RememoError):
    """A server wants a key; what it was given is none, or one no more."""

    code = "unauthorised"


class Forbidden(RememoError):
    """A key does not reach this, or has not the right to do it."""

    code = "forbidden"


class RateLimited(RememoError):
    """Too much was asked under one key in too short a time."""

    code = "rate_limited"


class Unavailable(RememoError):
    """A server has too much to do, or cannot be reached."""

    code = "unavailable"


class StorageError(RememoError):
    """The store could not do its work."""

    code = "storage"


class Busy(StorageError):
    """Another writer held the store for too long, or the store cannot be reached for now; the same may go well later."""

    code = "busy"


class CommitUnknown(StorageError):
    """The store was lost while a write was committed: it may have been done or not; look for it before it is repeated."""

    code = "commit_unknown"


class DiskFull(StorageError):
    """There is no room left where the store writes."""

    code = "disk_full"


class ReadOnlyStore(ReadOnly, StorageError):
    """The file, its medium or the server can only be read."""

    code = "read_only_store"


class ArchiveError(StorageError):
    """An archive could not be reached or written, or is damaged."""

    code = "archive"


class Corrupt(StorageError):
    """The store's file is damaged."""

    code = "corrupt"


class KeyMismatch(StorageError):
    """The store is encrypted with another key than was given, with none, or with one that was dropped."""

    code = "key_mismatch"


class IncompatibleStore(StorageError):
    """The store was written by a newer Rememo, or is not a Rememo store."""

    code = "incompatible_store"
