"""One SQLite file shared by threads and processes: connections, the single writer, checkpoints, forks.

Reads run inline on a connection of the calling thread. Writes of all threads queue for one connection; whoever holds
it commits everything that queued meanwhile in one transaction, so that many writers share one wait for the disk.
"""

import random
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, TypeVar

import apsw

from rememo.errors import Busy, Closed, StorageError
from rememo.files import PRIVATE_MODE, create_file
from rememo.store.migrations import MigrationPlan
from rememo.store.sql.session import Values
from rememo.store.sqlite import forks
from rememo.store.sqlite.checkpointer import Checkpointer
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.connector import SqliteConnector
from rememo.store.sqlite.errors import DAMAGED, translate
from rememo.store.sqlite.readers import Readers
from rememo.store.sqlite.write_queue import QueuedWrite, WriteQueue

T = TypeVar("T")

_CHECKPOINT_PATIENCE = 0.02


class SqliteDatabase:
    """The connections to one file. Thread-safe and fork-safe; `close` is final."""

    def __init__(
        self,
        path: str,
        *,
        durability: str,
        busy_timeout: float,
        max_bytes: int = 0,
        contract: bool = False,
        file_mode: int = PRIVATE_MODE,
    ) -> None:
        self._connector = SqliteConnector(
            path,
            durability=durability,
            busy_timeout=busy_timeout,
            max_bytes=max_bytes,
            contract=contract,
            file_mode=file_mode,
        )
        self.path = self._connector.path
        self.in_memory = self._connector.in_memory
        """Whether there is no file at all."""
        self._closed = False
        self._lock = threading.RLock()
        self._write_queue = WriteQueue(self._do_group)
        self._checks: list[Callable[[Connection], None]] = []
        self._readers = Readers(self._connector, self._need_open)
        self._checkpointer = Checkpointer(self._move_log)
        self._writer: Connection | None = None
        with self._lock:
            # Known to forks before anything is open: they wait for the lock, and carry no half-open file over.
            forks.enrol(self)
            self._writer = self._open_writer()

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self.path

    @property
    def migrated(self) -> MigrationPlan | None:
        """What was done to the file when it was opened."""
        return self._connector.migrated

    @property
    def read_only(self) -> bool:
        """Whether the file can only be read: it lies on a read-only medium, or is somebody else's."""
        return self._connector.read_only

    def _open_writer(self) -> Connection:
        return self._connector.connect_to_write(self._checkpointer.after_commit)

    def define(self, name: str, function: Callable[..., Any]) -> None:
        """Let statements call a function that gives the same for the same."""
        with self._lock:
            self._connector.functions[name] = function
            if self._writer is not None:
                self._writer.create_scalar_function(name, function, deterministic=True)
        for reader in self._readers.all():
            with reader.lock:
                if reader.connection is not None:
                    reader.connection.create_scalar_function(name, function, deterministic=True)

    # ---- reads

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Return all rows of one query."""
        with self._reading() as connection:
            return connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Values = ()) -> Any:
        """Return the first row of one query, or None."""
        with self._reading() as connection:
            return connection.execute(sql, values).fetchone()

    def value(self, sql: str, values: Values = ()) -> Any:
        """Return the first column of the first row of one query, or None."""
        row = self.row(sql, values)
        return None if row is None else row[0]

    @contextmanager
    def snapshot(self) -> Generator[Connection]:
        """Lend the calling thread's connection in one consistent state for several reads."""
        with self._reading() as connection:
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                # A damaged file may have ended it already.
                if connection.in_transaction:
                    connection.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        if self.in_memory:
            with self._lock:
                connection = self._need_writer()
                try:
                    yield connection
                except DAMAGED as error:
                    raise translate(error, self.path) from error
            return
        reader = self._readers.of_thread()
        with reader.lock:
            try:
                yield self._readers.connection_of(reader)
            except DAMAGED as error:
                raise translate(error, self.path) from error

    def copy_to(self, path: str) -> None:
        """Write a compact copy of one consistent state to a new file, which must not be there; writers go on meanwhile."""
        self._need_open()
        try:
            create_file(path, self._connector.file_mode)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}") from error
        if self.in_memory:
            with self._reading() as connection:
                connection.execute("VACUUM INTO ?", (path,))
            return
        reader = self._readers.add()
        with reader.lock:
            try:
                self._need_open()
                reader.connection = self._connector.connect()
                reader.connection.execute("VACUUM INTO ?", (path,))
            except (apsw.CorruptError, apsw.NotADBError) as error:
                raise translate(error, self.path) from error
            except apsw.Error as error:
                raise translate(error, path, _cause(reader.connection)) from error
            finally:
                reader.close()

    # ---- writes

    def write(self, run: Callable[[Connection], T], *, repeatable: bool = False) -> T:  # noqa: ARG002 - no commit is lost here
        """Run a function inside a transaction; when it returns, its changes are durable.

        The function may be one of several in the transaction, each undone alone when it raises. It must only use the
        connection it is given, and must not begin, commit or wait for anything.
        """
        return self._write_queue.submit(run)

    def before_writes(self, check: Callable[[Connection], None]) -> None:
        """Run a check at the beginning of every transaction that writes; each writer of the group raises what it raises."""
        self._checks.append(check)

    def write_without_trace(self, run: Callable[[Connection], T]) -> T:
        """Run a function inside a transaction like `write`; what it removes is overwritten in the file and its log.

        Readers that take too long keep it in the log: then `Busy` is raised, and what was done is done.
        """
        result = self.write(run)
        if not self.in_memory:
            with self._lock:
                try:
                    self._need_writer().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                except apsw.BusyError as error:
                    raise Busy(
                        f"it is done, but readers of {self.path} keep what was removed in its log; call it again"
                    ) from error
        return result

    def _do_group(self, group: list[QueuedWrite[Any]], own: QueuedWrite[Any]) -> None:
        connection: Connection | None = None
        committing = False
        with self._lock:
            try:
                connection = self._need_writer()
                if self._connector.contended:
                    # Others wait for this file: let go of the processor, so that the writer before us is not us again.
                    self._connector.contended = False
                    time.sleep(0.0002)
                connection.execute("BEGIN IMMEDIATE")
                for check in self._checks:
                    check(connection)
                for write in group:
                    self._run_write(connection, write, alone=len(group) == 1)
                committing = True
                connection.execute("ROLLBACK" if len(group) == 1 and group[0].error is not None else "COMMIT")
            except Exception as error:  # noqa: BLE001 - each caller raises it in its own thread
                cause = _cause(connection)
                _roll_back(connection)
                for write in group:
                    write.error = write.error or translate(error, self.path, cause)
            except BaseException:
                committed = committing and connection is not None and not connection.in_transaction
                _roll_back(connection)
                for write in group:
                    # An interrupt of this thread is no answer for the others: they are done, or wait on.
                    write.done = committed or write is own
                    write.error = write.error if committed else None
                raise
            for write in group:
                write.done = True

    def _run_write(self, connection: Connection, write: QueuedWrite[Any], *, alone: bool) -> None:
        if not alone:
            connection.execute("SAVEPOINT one")
        try:
            write.result = write.run(connection)
        except Exception as error:
            write.error = translate(error, self.path, _cause(connection))
            # A full disk may have ended the whole transaction already; then everybody is told.
            if not connection.in_transaction:
                raise
            if not alone:
                connection.execute("ROLLBACK TO one")
        if not alone:
            connection.execute("RELEASE one")

    # ---- the write-ahead log

    def _move_log(self, *, wait: bool = False, alone: bool = False) -> int:
        """Move what can be moved of the log into the file; returns how many pages it has."""
        with self._lock if alone else nullcontext(), self._reading() as connection:
            # Writers wait while a checkpoint waits for readers, and a backup reads for long: be brief.
            connection.set_busy_handler(self._connector.busy_handler(_CHECKPOINT_PATIENCE))
            mode = apsw.SQLITE_CHECKPOINT_RESTART if wait else apsw.SQLITE_CHECKPOINT_PASSIVE
            return connection.wal_checkpoint(mode=mode)[0]

    def empty_log(self, seconds: float) -> bool:
        """Move the whole log into the file and cut it to nothing; False when others read it all that time.

        Whoever waits, waits for moments only: it tries again rather than hold others up.
        """
        if self.in_memory:
            return True
        with self.standing_still(seconds) as connection:
            return connection is not None

    @contextmanager
    def standing_still(self, seconds: float) -> Generator[Connection | None]:
        """Lend a connection in a transaction while the file is not written and its log is empty; None when it never was.

        An empty log cannot be moved into the file, and whoever reads without it keeps others from moving theirs.
        """
        if self.in_memory:
            yield None
            return
        ends = time.monotonic() + seconds
        reader = self._readers.add()
        with reader.lock:
            try:
                self._need_open()
                connection = reader.connection = self._connector.connect()
                connection.execute("SELECT 1 FROM tenants LIMIT 1").fetchall()
                connection.set_busy_handler(self._connector.busy_handler(_CHECKPOINT_PATIENCE))
                while True:
                    # First without keeping anybody from writing: what is left then is little. Another may be at it.
                    with suppress(apsw.BusyError):
                        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                    with self._lock:
                        if self._stand_still(connection):
                            yield connection
                            connection.execute("COMMIT")
                            return
                    if time.monotonic() > ends:
                        yield None
                        return
                    time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - jitter, not a secret
            except apsw.Error as error:
                raise translate(error, self.path, _cause(reader.connection)) from error
            finally:
                reader.close()

    def _stand_still(self, connection: Connection) -> bool:
        self._need_open()
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return False
        if self._connector.log_bytes() == 0:
            return True
        connection.execute("ROLLBACK")
        return False

    # ---- closing and forking

    def close(self) -> None:
        """Wait for what is running and let go of the file; closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._checkpointer.stop()
            self._readers.close()
            self._close_writer()
        self._checkpointer.join(5)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _need_open(self) -> None:
        if self._closed:
            raise Closed("this memory was closed; open it again with Memory(url)")

    def _need_writer(self) -> Connection:
        self._need_open()
        if self._writer is None:
            self._writer = self._open_writer()
        return self._writer

    def before_fork(self) -> None:
        """Let go of every connection: SQLite's locks belong to a process, and a copied one would damage the file.

        Waits for what is running, and keeps other threads from opening anything until the fork is over.
        """
        self._lock.acquire()
        self._readers.pause()
        if not self.in_memory:
            self._close_writer()

    def after_fork_in_parent(self) -> None:
        """Go on; connections open again when they are needed."""
        self._readers.resume()
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew: no thread, lock or connection of the parent is carried over."""
        self._lock = threading.RLock()
        self._write_queue.start_over()
        self._readers.start_over()
        self._checkpointer.start_over()


def _roll_back(connection: Connection | None) -> None:
    # Where even this fails there is nothing more to undo: SQLite forgets what was not committed.
    if connection is not None and connection.in_transaction:
        with suppress(apsw.Error):
            connection.execute("ROLLBACK")


def _cause(connection: Connection | None) -> int:
    return 0 if connection is None else connection.system_errno
