"""Reading a file where nothing can be written: on a read-only medium, or in a folder that is somebody else's.

SQLite shares a file between processes by an index of its log, which it makes beside the file. Where it cannot, it must be
told how else to read: a file without a log as one that does not change, a file with a log by an index of its own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from rememo.store.sqlite.connection import Connection, connect_with

_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


class FileVersion(NamedTuple):
    """What tells whether a file and its log are as they were."""

    file: tuple[int, int, int] | None
    log: tuple[int, int, int] | None


def file_version(path: str) -> FileVersion:
    """Return the state of a file and its log."""
    return FileVersion(_look_at(path), _look_at(f"{path}-wal"))


def connect_to_read(path: str) -> Connection:
    """Open a file for reading only, in the first way that works; raises what SQLite says to the last one.

    A log that was left behind is read as well. Where SQLite cannot lock the file it does not notice that somebody else
    writes it: a caller that keeps the connection compares `file_version`.
    """
    failure: apsw.Error = apsw.CantOpenError()
    for connection in _ways(path):
        try:
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


def _ways(path: str) -> Iterator[Connection]:
    address = f"file:{quote(str(Path(path).absolute()))}"
    yield _open(address)
    log = _look_at(f"{path}-wal")
    if log is None or not log[1]:
        yield _open(f"{address}?immutable=1")
    else:
        # Without locks, a connection that has the file to itself keeps the index of the log in memory.
        connection = _open(address, vfs="unix-none")
        connection.pragma("locking_mode", "EXCLUSIVE")
        yield connection


def _open(address: str, vfs: str | None = None) -> Connection:
    return connect_with(address, _FLAGS, vfs)


def _look_at(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
