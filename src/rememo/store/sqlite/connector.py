"""Opening one SQLite file: as it must be set for every connection, brought up to date by the one that writes."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from rememo.errors import Corrupt, ReadOnlyStore, StorageError
from rememo.store.migrations import MigrationPlan
from rememo.store.sqlite.connection import MEMORY, Connection, connect
from rememo.store.sqlite.errors import translate
from rememo.store.sqlite.migrate import check_ours, migrate, plan
from rememo.store.sqlite.readonly import connect_to_read

_LEAST_SQLITE = 3_051_003  # the fix for the WAL-reset bug, which can damage a file that several processes write
_EAGER_AFTER = 0.05


class SqliteConnector:
    """Makes connections to one file."""

    def __init__(
        self, path: str, *, durability: str, busy_timeout: float, max_bytes: int, contract: bool, file_mode: int
    ) -> None:
        if apsw.SQLITE_VERSION_NUMBER < _LEAST_SQLITE:
            raise StorageError(
                f"apsw brings SQLite {apsw.sqlite_lib_version()}, which can damage files; pip install --upgrade apsw"
            )
        self.path = MEMORY if path == MEMORY else str(Path(path).absolute())
        self.in_memory = self.path == MEMORY
        self.file_mode = file_mode
        self._synchronous = "FULL" if durability == "full" else "NORMAL"
        self._busy_timeout = busy_timeout
        self._max_bytes = max_bytes
        self._contract = contract
        self.functions: dict[str, Callable[..., Any]] = {}
        """What statements of every connection may call, by name."""
        self.migrated: MigrationPlan | None = None
        """What was done to the file when it was opened."""
        self.read_only = False
        """Whether the file can only be read: it lies on a read-only medium, or is somebody else's."""
        self.contended = False
        """Whether a connection had to wait for another one since this was last set to False."""

    def connect(self) -> Connection:
        """Open the file once more."""
        connection = connect_to_read(self.path) if self.read_only else connect(self.path, self.file_mode)
        connection.set_busy_handler(self.busy_handler(self._busy_timeout))
        connection.pragma("synchronous", self._synchronous)
        connection.pragma("temp_store", "MEMORY")
        connection.pragma("cache_size", -32_768)
        # What is deleted is overwritten, always: an erasure could not find what an earlier change left in a free corner.
        connection.pragma("secure_delete", 1)
        # Else a statement over a partial index is planned anew for each set of values, which costs more than to run it.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        for name, function in self.functions.items():
            connection.create_scalar_function(name, function, deterministic=True)
        return connection

    def connect_to_write(self, after_commit: Callable[[Connection, str, int], int]) -> Connection:
        """Open the file for the one connection that writes, and bring it up to date; `after_commit` is SQLite's WAL hook.

        What cannot be written is opened for reading, and `read_only` says so.
        """
        self._need_whole()
        self.read_only = False
        try:
            try:
                return self._open(lambda connection: self._prepare(connection, after_commit))
            except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
                if self.in_memory or not Path(self.path).is_file():
                    raise
                self.read_only = True
                try:
                    return self._open(self._need_current)
                except apsw.CantOpenError:
                    raise error from None
        except Exception as error:
            raise translate(error, self.path) from error

    def _open(self, prepare: Callable[[Connection], None]) -> Connection:
        connection = self.connect()
        try:
            prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection, after_commit: Callable[[Connection, str, int], int]) -> None:
        """Make a file ready to be written; one that cannot be raises `apsw.ReadOnlyError`."""
        if connection.readonly("main"):
            raise apsw.ReadOnlyError
        # A file of another program is refused before anything in it is changed.
        check_ours(connection, self.path)
        self._use_write_ahead_log(connection)
        if self._max_bytes:
            connection.pragma("max_page_count", max(1, self._max_bytes // connection.pragma("page_size")))
        self.migrated = migrate(connection, self.path, contract=self._contract)
        connection.set_wal_hook(after_commit)

    def _need_current(self, connection: Connection) -> None:
        """Refuse a file that cannot be read before it was brought up to date."""
        check_ours(connection, self.path)
        self.migrated = plan(connection, self.path)
        if self.migrated.steps:
            raise ReadOnlyStore(
                f"{self.path} is read-only, and of an older Rememo or empty: copy it to where it can be written and open"
                " it there, which brings it up to date"
            )

    def _need_whole(self) -> None:
        """Refuse a log without its file: SQLite takes an empty file for a new one and throws the log away."""
        if self.in_memory:
            return
        # In this order: a file that is just being made has its first page before its log has anything.
        log, file = self.log_bytes(), file_bytes(self.path)
        if log and not file:
            raise Corrupt(
                f"{self.path} is empty or gone, but its log {self.path}-wal is not; nothing was changed:"
                " put the file back, or remove the log too to start anew"
            )

    def log_bytes(self) -> int:
        """Return how long the write-ahead log is."""
        return file_bytes(self.path + "-wal")

    def _use_write_ahead_log(self, connection: Connection) -> None:
        """Let processes share the file: readers go on while one of them writes."""
        if self.in_memory:
            return
        wait, tries = self.busy_handler(self._busy_timeout), 0
        while True:
            try:
                mode = connection.pragma("journal_mode", "WAL")
            except apsw.BusyError:
                # Several processes make the same file: SQLite does not wait here by itself, lest two wait for each other.
                if not wait(tries):
                    raise
                tries += 1
                continue
            if mode != "wal":
                raise StorageError(f"{self.path} lies where SQLite cannot share it between processes; use a local disk")
            return

    def busy_handler(self, seconds: float) -> Callable[[int], bool]:
        """Return what SQLite asks whether to try again when the file is busy, for so many seconds."""
        started = 0.0

        def wait(tries: int) -> bool:
            # SQLite's own waiting backs off, which gives the longest waiter the worst chance. Here it has the best.
            nonlocal started
            now = time.monotonic()
            if tries == 0:
                started = now
            if now - started > seconds:
                return False
            self.contended = True
            eager = now - started > _EAGER_AFTER
            time.sleep(0.0001 if eager else random.uniform(0.0002, 0.0006))  # noqa: S311 - jitter, not a secret
            return True

        return wait


def file_bytes(path: str) -> int:
    """Return how long a file is; 0 for none."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
