"""The one seam where SQLite's errors become Rememo's."""

import apsw

from rememo.errors import Busy, Corrupt, DiskFull, IncompatibleStore, RememoError, StorageError


def translate(error: Exception, path: str) -> Exception:
    """Return the Rememo error for one of SQLite's, naming the cause and the way out; others come back as they are."""
    if isinstance(error, RememoError) or not isinstance(error, apsw.Error):
        return error
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"{path} was held by another writer for too long; try again, or raise busy_timeout")
        case apsw.FullError():
            return DiskFull(
                f"there is no room left to write {path}; nothing was changed: free some space and try again"
            )
        case apsw.ReadOnlyError():
            return StorageError(f"{path} cannot be written: the file or its folder is read-only; nothing was changed")
        case apsw.CantOpenError():
            return StorageError(f"{path} cannot be opened: check that its folder exists and may be read and written")
        case apsw.CorruptError():
            return Corrupt(f"{path} is damaged ({error}); run `rememo repair {path} NEW_FILE` to save what can be read")
        case apsw.NotADBError():
            return IncompatibleStore(f"{path} is not a Rememo file, or its first page is damaged; nothing was changed")
        case apsw.IOError():
            return StorageError(f"the disk failed on {path} ({error}); nothing was changed")
        case _:
            return StorageError(f"{path}: {error}")
