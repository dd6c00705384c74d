"""The one seam where SQLite's errors become Rememo's."""

import errno
import os

import apsw

from rememo.errors import Busy, Corrupt, DiskFull, IncompatibleStore, ReadOnlyStore, RememoError, StorageError

DAMAGED = (apsw.Error, UnicodeDecodeError)
"""What a read of a file may raise: text of a damaged page need not be text."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def translate(error: Exception, path: str, cause: int = 0) -> Exception:
    """Return the Rememo error for one of SQLite's, naming the cause and the way out; others come back as they are.

    `cause` is the operating system's error number, where SQLite kept one.
    """
    if isinstance(error, RememoError) or not isinstance(error, DAMAGED):
        return error
    # A shared index that cannot grow names no cause, and what it lacks is room.
    extended = getattr(error, "extendedresult", None)
    if isinstance(error, apsw.IOError) and (cause in _NO_ROOM or extended == apsw.SQLITE_IOERR_SHMSIZE):
        error = apsw.FullError()
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"{path} was held by another writer for too long; try again, or raise busy_timeout")
        case apsw.FullError():
            return DiskFull(
                f"there is no room left to write {path}; nothing was changed: free some space and try again"
            )
        case apsw.ReadOnlyError():
            return ReadOnlyStore(
                f"{path} cannot be written: the file, its folder or the medium is read-only; nothing was changed: make"
                " them writable, or copy the memory to where it can be written"
            )
        case apsw.CantOpenError():
            return StorageError(f"{path} cannot be opened: check that its folder exists and may be read and written")
        case apsw.CorruptError() | UnicodeDecodeError():
            return Corrupt(f"{path} is damaged ({error}); run `rememo repair {path} NEW_FILE` to save what can be read")
        case apsw.NotADBError():
            return IncompatibleStore(f"{path} is not a Rememo file, or its first page is damaged; nothing was changed")
        case apsw.IOError():
            reason = os.strerror(cause) if cause else str(error)
            return StorageError(f"the disk failed on {path} ({reason}); nothing was changed")
        case _:
            return StorageError(f"{path}: {error}")
