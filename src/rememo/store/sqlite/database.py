"""One SQLite file shared by threads and processes: connections, the single writer, checkpoints, forks.

Reads run inline on a connection of the calling thread. Writes of all threads queue for one connection; whoever holds
it commits everything that queued meanwhile in one transaction, so that many writers share one wait for the disk.
"""

import random
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from rememo.errors import Busy, Closed, Corrupt, ReadOnlyStore, StorageError
from rememo.files import PRIVATE_MODE, create_file
from rememo.store.migrations import MigrationPlan
from rememo.store.sql.session import Values
from rememo.store.sqlite import forks
from rememo.store.sqlite.connection import MEMORY, Connection, connect
from rememo.store.sqlite.errors import DAMAGED, translate
from rememo.store.sqlite.migrate import check_ours, migrate, plan
from rememo.store.sqlite.readonly import FileVersion, connect_to_read, file_version
from rememo.store.sqlite.write_queue import QueuedWrite, WriteQueue

T = TypeVar("T")

_LEAST_SQLITE = 3_051_003  # the fix for the WAL-reset bug, which can damage a file that several processes write
_CHECKPOINT_PAGES = 4_000
_LARGE_LOG_PAGES = 16_000
_EAGER_AFTER = 0.05

_CHECKPOINT_PATIENCE = 0.02


class _Reader:
    """A connection for reads, of one thread or one backup; the lock is contended only by a fork or a close."""

    __slots__ = ("__weakref__", "connection", "lock", "state")

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.state: FileVersion | None = None
        """How the file was when it was opened, where it can only be read."""
        self.lock = threading.RLock()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


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
        if apsw.SQLITE_VERSION_NUMBER < _LEAST_SQLITE:
            raise StorageError(
                f"apsw brings SQLite {apsw.sqlite_lib_version()}, which can damage files; pip install --upgrade apsw"
            )
        self.path = MEMORY if path == MEMORY else str(Path(path).absolute())
        self._synchronous = "FULL" if durability == "full" else "NORMAL"
        self._busy_timeout = busy_timeout
        self._max_bytes = max_bytes
        self._contract = contract
        self._file_mode = file_mode
        self.migrated: MigrationPlan | None = None
        """What was done to the file when it was opened."""
        self.read_only = False
        """Whether the file can only be read: it lies on a read-only medium, or is somebody else's."""
        self._closed = False
        self._contended = False
        self._lock = threading.RLock()
        self._write_queue = WriteQueue(self._do_group)
        self._checks: list[Callable[[Connection], None]] = []
        self._local = threading.local()
        self._readers: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._enrolling = threading.Lock()
        self._held: list[_Reader] = []
        self._checkpoint_due = threading.Event()
        self._checkpointed_pages = 0
        self._checkpointer: threading.Thread | None = None
        self._writer: Connection | None = None
        self._functions: dict[str, Callable[..., Any]] = {}
        with self._lock:
            # Known to forks before anything is open: they wait for the lock, and carry no half-open file over.
            forks.enrol(self)
            self._writer = self._open_writer()

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self.path

    @property
    def in_memory(self) -> bool:
        """Whether there is no file at all."""
        return self.path == MEMORY

    # ---- connections

    def _connect(self) -> Connection:
        connection = connect_to_read(self.path) if self.read_only else connect(self.path, self._file_mode)
        connection.set_busy_handler(self._patience(self._busy_timeout))
        connection.pragma("synchronous", self._synchronous)
        connection.pragma("temp_store", "MEMORY")
        connection.pragma("cache_size", -32_768)
        # What is deleted is overwritten, always: an erasure could not find what an earlier change left in a free corner.
        connection.pragma("secure_delete", 1)
        # Else a statement over a partial index is planned anew for each set of values, which costs more than to run it.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        for name, function in self._functions.items():
            connection.create_scalar_function(name, function, deterministic=True)
        return connection

    def define(self, name: str, function: Callable[..., Any]) -> None:
        """Let statements call a function that gives the same for the same."""
        with self._lock:
            self._functions[name] = function
            if self._writer is not None:
                self._writer.create_scalar_function(name, function, deterministic=True)
            with self._enrolling:
                readers = list(self._readers)
        for reader in readers:
            with reader.lock:
                if reader.connection is not None:
                    reader.connection.create_scalar_function(name, function, deterministic=True)

    def _open_writer(self) -> Connection:
        self._need_whole()
        self.read_only = False
        try:
            try:
                return self._open(self._prepare)
            except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
                # What cannot be written may still be read.
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
        connection = self._connect()
        try:
            prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection) -> None:
        """Make a file ready to be written; one that cannot be raises `apsw.ReadOnlyError`."""
        if connection.readonly("main"):
            raise apsw.ReadOnlyError
        # A file of another program is refused before anything in it is changed.
        check_ours(connection, self.path)
        self._share(connection)
        if self._max_bytes:
            connection.pragma("max_page_count", max(1, self._max_bytes // connection.pragma("page_size")))
        self.migrated = migrate(connection, self.path, contract=self._contract)
        connection.set_wal_hook(self._after_commit)

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
        log, file = _size(self.path + "-wal"), _size(self.path)
        if log and not file:
            raise Corrupt(
                f"{self.path} is empty or gone, but its log {self.path}-wal is not; nothing was changed:"
                " put the file back, or remove the log too to start anew"
            )

    def _share(self, connection: Connection) -> None:
        if self.in_memory:
            return
        wait, tries = self._patience(self._busy_timeout), 0
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

    def _patience(self, seconds: float) -> Callable[[int], bool]:
        started = 0.0

        def wait(tries: int) -> bool:
            # SQLite's own waiting backs off, which gives the longest waiter the worst chance. Here it has the best.
            nonlocal started
            now = time.monotonic()
            if tries == 0:
                started = now
            if now - started > seconds:
                return False
            self._contended = True
            eager = now - started > _EAGER_AFTER
            time.sleep(0.0001 if eager else random.uniform(0.0002, 0.0006))  # noqa: S311 - jitter, not a secret
            return True

        return wait

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
        reader: _Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self._enrol()
        with reader.lock:
            try:
                if self.read_only:
                    self._follow_changes(reader)
                if reader.connection is None:
                    self._need_open()
                    reader.connection = self._connect()
                    reader.connection.pragma("query_only", 1)
                yield reader.connection
            except DAMAGED as error:
                raise translate(error, self.path) from error

    def _follow_changes(self, reader: _Reader) -> None:
        """Open a file anew that somebody else has changed: without locks, SQLite does not notice."""
        if reader.connection is None or not reader.connection.in_transaction:
            state = file_version(self.path)
            if state != reader.state:
                reader.close()
                reader.state = state

    def _enrol(self) -> _Reader:
        reader = _Reader()
        with self._enrolling:
            self._readers.add(reader)
        return reader

    def copy_to(self, path: str) -> None:
        """Write a compact copy of one consistent state to a new file, which must not be there; writers go on meanwhile."""
        self._need_open()
        try:
            create_file(path, self._file_mode)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}") from error
        if self.in_memory:
            with self._reading() as connection:
                connection.execute("VACUUM INTO ?", (path,))
            return
        reader = self._enrol()
        with reader.lock:
            try:
                self._need_open()
                reader.connection = self._connect()
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
        """Run a check at the beginning of every transaction that writes; what it raises is what each writer is told."""
        self._checks.append(check)

    def write_without_trace(self, run: Callable[[Connection], T]) -> T:
        """Run a function inside a transaction like `write`; what it removes is overwritten in the file and its log.

        Readers that take too long keep it in the log: then `Busy` is raised, and what was done is done.
        """

        def overwriting(connection: Connection) -> T:
            before = connection.pragma("secure_delete")
            connection.pragma("secure_delete", 1)
            try:
                return run(connection)
            finally:
                connection.pragma("secure_delete", before)

        result = self.write(overwriting)
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
                if self._contended:
                    # Others wait for this file: let go of the processor, so that the writer before us is not us again.
                    self._contended = False
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

    # ---- checkpoints: inside a commit they are its slowest moments (p99 6 ms against 0.6), so a thread does them

    def _after_commit(self, _connection: Connection, _name: str, pages: int) -> int:
        # Counted from the last time: under steady writing the log is never wholly moved and its length never small.
        if pages < self._checkpointed_pages:
            self._checkpointed_pages = 0
        if pages - self._checkpointed_pages >= _CHECKPOINT_PAGES:
            self._checkpointed_pages = pages
            if self._checkpointer is None:
                self._checkpointer = threading.Thread(target=self._checkpoint, name="rememo-checkpoint", daemon=True)
                self._checkpointer.start()
            self._checkpoint_due.set()
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        due = self._checkpoint_due
        while True:
            due.wait()
            due.clear()
            if self._closed:
                return
            try:
                self._move_log(wait=False)
                # What came in meanwhile is little: with it moved too, the next writer starts the log over.
                with self._lock:
                    pages = self._move_log(wait=False)
                # Readers may have kept it from starting over; wait for them when it has grown far.
                if pages > _LARGE_LOG_PAGES:
                    self._move_log(wait=True)
            except (StorageError, Closed):
                # Another process does it, or the disk is full: the log keeps everything until the next time.
                continue

    def _move_log(self, *, wait: bool) -> int:
        with self._reading() as connection:
            # Writers wait while a checkpoint waits for readers, and a backup reads for long: be brief.
            connection.set_busy_handler(self._patience(_CHECKPOINT_PATIENCE))
            mode = apsw.SQLITE_CHECKPOINT_RESTART if wait else apsw.SQLITE_CHECKPOINT_PASSIVE
            return connection.wal_checkpoint(mode=mode)[0]

    # ---- bytes that must go

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
        """Lend a connection in a transaction while nobody writes the file and its log is empty; None when it never was.

        An empty log cannot be moved into the file, and whoever reads without it keeps others from moving theirs.
        """
        if self.in_memory:
            yield None
            return
        ends = time.monotonic() + seconds
        reader = self._enrol()
        with reader.lock:
            try:
                self._need_open()
                connection = reader.connection = self._connect()
                connection.set_busy_handler(self._patience(_CHECKPOINT_PATIENCE))
                connection.execute("SELECT 1 FROM tenants LIMIT 1").fetchall()
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
        if _size(self.path + "-wal") == 0:
            return True
        connection.execute("ROLLBACK")
        return False

    # ---- closing and forking

    def close(self) -> None:
        """Wait for what is running and let go of the file; closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._checkpoint_due.set()
            with self._enrolling:
                readers = list(self._readers)
            for reader in readers:
                with reader.lock:
                    reader.close()
            self._close_writer()
        thread = self._checkpointer
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)

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
        self._enrolling.acquire()
        if self.in_memory:
            return
        self._held = list(self._readers)
        for reader in self._held:
            reader.lock.acquire()
            reader.close()
        self._close_writer()

    def after_fork_in_parent(self) -> None:
        """Go on; connections open again when they are needed."""
        while self._held:
            self._held.pop().lock.release()
        self._enrolling.release()
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew: no thread, lock or connection of the parent is carried over."""
        self._lock = threading.RLock()
        self._write_queue.start_over()
        self._local = threading.local()
        self._readers = weakref.WeakSet()
        self._enrolling = threading.Lock()
        self._held = []
        self._checkpoint_due = threading.Event()
        self._checkpointer = None


def _roll_back(connection: Connection | None) -> None:
    # Where even this fails there is nothing more to undo: SQLite forgets what was not committed.
    if connection is not None and connection.in_transaction:
        with suppress(apsw.Error):
            connection.execute("ROLLBACK")


def _cause(connection: Connection | None) -> int:
    return 0 if connection is None else connection.system_errno


def _size(path: str) -> int:
    with suppress(OSError):
        return Path(path).stat().st_size
    return 0
