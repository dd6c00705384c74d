"""The one seam where the driver's errors become Rememo's."""

import re

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from rememo.errors import Busy, Closed, Corrupt, DiskFull, IncompatibleStore, ReadOnlyStore, RememoError, StorageError

_TOO_MANY = re.compile(r"too many (clients|connections)|remaining connection slots")
_NOT_YET = re.compile(r"the database system is (starting up|shutting down|in recovery mode|not (yet )?accepting)")
_REFUSALS = (
    (
        re.compile(r"authentication failed|no password supplied|password"),
        "see to the user and the password in the address, or in PGPASSWORD or the password file",
    ),
    (re.compile(r"pg_hba"), "let this user and this machine in by the server's pg_hba.conf, perhaps with sslmode"),
    (re.compile(r'role ".*" (does not exist|is not permitted)'), "see to the user in the address, or create the role"),
    (re.compile(r'database ".*" does not exist'), "create it with createdb, or name another in the address"),
)

CLOSED = "this memory was closed; open it again with Memory(url)"


def translate(error: Exception, place: str) -> Exception:  # noqa: C901, PLR0912 - one case for each cause
    """Return the Rememo error for one of the driver's, naming the cause and the way out; others come back as they are."""
    if isinstance(error, RememoError) or not isinstance(error, psycopg.Error | PoolTimeout):
        return error
    message = _first_line(error)
    match error:
        case PoolClosed():
            return Closed(CLOSED)
        case PoolTimeout():
            return Busy(f"no connection to {place} was free for too long; try again, or raise pool_size in the address")
        case errors.LockNotAvailable():
            return Busy(f"{place} was held by another writer for too long; try again, or raise busy_timeout")
        case errors.QueryCanceled():
            return Busy(
                f"{place} broke a statement off ({message}); nothing was changed: try again, ask for less at once,"
                " or raise statement_timeout on the server or in the address"
            )
        case errors.DeadlockDetected() | errors.SerializationFailure():
            return Busy(f"writers on {place} got in each other's way; nothing was changed: try again")
        case errors.TooManyConnections():
            return _full(place)
        case errors.DiskFull():
            return DiskFull(
                f"there is no room left to write {place}; nothing was changed: free some space and try again"
            )
        case errors.ReadOnlySqlTransaction():
            return ReadOnlyStore(
                f"{place} cannot be written: it is a read-only replica; nothing was changed: write to the server it follows"
            )
        case errors.InsufficientPrivilege():
            return StorageError(
                f"{place} refused: {message}; nothing was changed: grant the role what it needs,"
                " by `rememo migrate --grant ROLE` as the owner of the tables"
            )
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return Corrupt(f"{place} is damaged ({message}); restore it from a backup")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName():
            return IncompatibleStore(
                f"{place} has not the tables of Rememo any more ({message}); restore it from a backup"
            )
        case errors.IdleInTransactionSessionTimeout() | errors.TransactionTimeout():
            return Busy(f"{place} gave a transaction up because it stood still for too long; nothing was changed")
        case psycopg.OperationalError() if refused := _refusal(message, place):
            return refused
        case psycopg.OperationalError():
            # A server that answered says the same the next time; one that did not may be back soon.
            kind = StorageError if "FATAL:" in message else Busy
            return kind(f"{place} cannot be reached ({message}); nothing was changed: see to the server and try again")
        case _:
            return StorageError(f"{place}: {message}")


def _full(place: str) -> Busy:
    return Busy(f"{place} takes no more connections; lower pool_size in the address or raise max_connections")


def _refusal(message: str, place: str) -> StorageError | None:
    """Return the error of a server that let nobody in. It tells the driver why in words alone, without a code."""
    _, failed, reason = message.rpartition("failed: ")
    reason = reason.removeprefix("FATAL:").strip()
    if not failed:
        return None
    if _TOO_MANY.search(reason):
        return _full(place)
    if _NOT_YET.search(reason):
        return Busy(f"{place} is starting or stopping ({reason}); nothing was changed: try again in a moment")
    for pattern, advice in _REFUSALS:
        if pattern.search(reason):
            return StorageError(f"{place} refused the connection ({reason}); nothing was changed: {advice}")
    return None


def starting(error: psycopg.Error) -> bool:
    """Whether a server refused because it is just starting or stopping."""
    return bool(_NOT_YET.search(_first_line(error)))


def _first_line(error: Exception) -> str:
    """Return the first line of what the server or the driver said."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
