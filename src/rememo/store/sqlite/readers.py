"""The connections that read one SQLite file: one of each thread, and one of each backup under way."""

import threading
import weakref
from collections.abc import Callable

from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.connector import SqliteConnector
from rememo.store.sqlite.readonly import FileVersion, file_version


class Reader:
    """A connection for reads, of one thread or one backup; the lock is contended only by a fork or a close."""

    __slots__ = ("__weakref__", "connection", "lock", "opened_at")

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.opened_at: FileVersion | None = None
        """How the file was when it was opened, where it can only be read."""
        self.lock = threading.RLock()

    def close(self) -> None:
        """Close the connection; the next read opens it again."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Readers:
    """All readers of one file; `need_open` raises once the database is closed."""

    def __init__(self, connector: SqliteConnector, need_open: Callable[[], None]) -> None:
        self._connector = connector
        self._need_open = need_open
        self._paused: list[Reader] = []
        self.start_over()

    def start_over(self) -> None:
        """Forget every thread and its connection: at the beginning, and for the child of a fork."""
        self._local = threading.local()
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._enrolling = threading.Lock()
        self._paused = []

    def of_thread(self) -> Reader:
        """Return the calling thread's reader."""
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self.add()
        return reader

    def add(self) -> Reader:
        """Return a new reader, which a close and a fork wait for."""
        reader = Reader()
        with self._enrolling:
            self._readers.add(reader)
        return reader

    def all(self) -> list[Reader]:
        """Return all readers there are."""
        with self._enrolling:
            return list(self._readers)

    def connection_of(self, reader: Reader) -> Connection:
        """Return the connection of a reader whose lock the caller holds; it is opened when it is needed."""
        if self._connector.read_only:
            self._follow_changes(reader)
        if reader.connection is None:
            self._need_open()
            reader.connection = self._connector.connect()
            reader.connection.pragma("query_only", 1)
        return reader.connection

    def _follow_changes(self, reader: Reader) -> None:
        """Open a file anew that somebody else has changed: without locks, SQLite does not notice."""
        if reader.connection is None or not reader.connection.in_transaction:
            version = file_version(self._connector.path)
            if version != reader.opened_at:
                reader.close()
                reader.opened_at = version

    def close(self) -> None:
        """Close every connection, after what runs on it."""
        for reader in self.all():
            with reader.lock:
                reader.close()

    def pause(self) -> None:
        """Close every connection, and let none be opened until `resume`."""
        self._enrolling.acquire()
        if self._connector.in_memory:
            return
        self._paused = list(self._readers)
        for reader in self._paused:
            reader.lock.acquire()
            reader.close()

    def resume(self) -> None:
        """Go on after `pause`; connections open again when they are needed."""
        while self._paused:
            self._paused.pop().lock.release()
        self._enrolling.release()
