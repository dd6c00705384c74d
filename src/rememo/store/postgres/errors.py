"""The one seam where the driver's errors become Rememo's."""

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from rememo.errors import Busy, Closed, Corrupt, DiskFull, IncompatibleStore, RememoError, StorageError

CLOSED = "this memory was closed; open it again with Memory(url)"


class Unknown(StorageError):
    """The connection was lost during a commit: nobody here can tell whether it was done."""


def translate(error: Exception, place: str) -> Exception:  # noqa: PLR0912 - one case for each cause
    """Return the Rememo error for one of the driver's, naming the cause and the way out; others come back as they are."""
    if isinstance(error, RememoError) or not isinstance(error, psycopg.Error | PoolTimeout):
        return error
    said = _said(error)
    match error:
        case PoolClosed():
            return Closed(CLOSED)
        case PoolTimeout():
            return Busy(f"no connection to {place} was free for too long; try again, or raise pool_size in the address")
        case errors.LockNotAvailable() | errors.QueryCanceled():
            return Busy(f"{place} was held by another writer for too long; try again, or raise busy_timeout")
        case errors.DeadlockDetected() | errors.SerializationFailure():
            return Busy(f"writers on {place} got in each other's way; nothing was changed: try again")
        case errors.TooManyConnections():
            return Busy(f"{place} takes no more connections; lower pool_size in the address or raise max_connections")
        case errors.DiskFull():
            return DiskFull(
                f"there is no room left to write {place}; nothing was changed: free some space and try again"
            )
        case errors.ReadOnlySqlTransaction():
            return StorageError(f"{place} cannot be written: it is a read-only replica; nothing was changed")
        case errors.InsufficientPrivilege():
            return StorageError(f"{place} refused: {said}; nothing was changed: grant the role what it needs")
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return Corrupt(f"{place} is damaged ({said}); restore it from a backup")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName():
            return IncompatibleStore(
                f"{place} has not the tables of Rememo any more ({said}); restore it from a backup"
            )
        case psycopg.OperationalError():
            return StorageError(
                f"{place} cannot be reached ({said}); nothing was changed: see to the server and try again"
            )
        case _:
            return StorageError(f"{place}: {said}")


def _said(error: Exception) -> str:
    """Return the first line of what the server or the driver said."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
