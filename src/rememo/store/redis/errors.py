"""The one seam where the driver's errors become Rememo's."""

import redis
from redis import exceptions

from rememo.errors import (
    Busy,
    DiskFull,
    IncompatibleStore,
    RememoError,
    StorageError,
    Unavailable,
)

_TRY_LATER = ("LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "max number of clients")
# What the driver keeps in the class of an error is not in its text.
_LATER = (
    exceptions.BusyLoadingError,
    exceptions.MasterDownError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
    exceptions.MaxConnectionsError,
)
_DENIED = (exceptions.AuthenticationError, exceptions.AuthorizationError)


def translate(error: Exception, place: str, *, wrote: bool) -> Exception:
    """Return the Rememo error for one of the driver's, naming the cause and the way out; others come back as they are."""
    if isinstance(error, RememoError) or not isinstance(error, redis.RedisError | OSError):
        return error
    message = _first_line(error)
    match error:
        case exceptions.NoPermissionError():
            return StorageError(
                f"{place} does not let this user do that ({message});"
                " allow it the keys of the prefix and @read @write @scripting @connection"
            )
        case _ if isinstance(error, _DENIED) or message.startswith(("NOAUTH", "WRONGPASS")):
            return StorageError(f"{place} refused the user or the password ({message}); correct them in the address")
        case _ if isinstance(error, _LATER) or message.startswith(_TRY_LATER):
            return Unavailable(f"{place} is not ready ({message}); nothing was changed: try again later")
        case exceptions.ReadOnlyError():
            return StorageError(f"{place} cannot be written: it is a replica; give the address of the primary")
        case exceptions.OutOfMemoryError():
            return DiskFull(
                f"{place} has no memory left ({message}); nothing was changed: raise maxmemory or make room"
            )
        case exceptions.InvalidResponse():
            return IncompatibleStore(f"{place} does not answer as a Redis server does; correct the address")
        case exceptions.ConnectionError() | exceptions.TimeoutError() | OSError():
            done = (
                "nothing was changed"
                if not wrote or "connecting to" in message
                else "a write may have been done or not"
            )
            return Unavailable(f"{place} cannot be reached ({message}); {done}: see to the server and try again")
        case exceptions.ResponseError():
            return _reply_error(message, place)
        case _:
            return StorageError(f"{place}: {message}")


def _reply_error(message: str, place: str) -> StorageError:
    """Return the error for what a server answered."""
    word = message.partition(" ")[0]
    if word == "WRONGTYPE":
        return IncompatibleStore(
            f"{place} holds keys of another program under this prefix; choose another with ?prefix=… in the address"
        )
    if word == "MISCONF":
        return DiskFull(f"{place} cannot save to its disk and takes no writes ({message}); see to its disk")
    if word == "BUSY":
        return Busy(f"{place} is kept busy by a script; nothing was changed: try again later")
    if word in {"OOM", "-OOM"} or "OOM" in message:
        return DiskFull(f"{place} has no memory left ({message}); nothing was changed: raise maxmemory or make room")
    if "unknown command" in message:
        return IncompatibleStore(
            f"{place} lacks what Rememo needs ({message}); it must be Redis 7, Valkey 7.2 or newer"
        )
    return StorageError(f"{place}: {message}")


def _first_line(error: Exception) -> str:
    """Return the first line of what the server or the driver said."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
