"""What Rememo uses of an apsw connection, typed by hand: the library's own types are partly unknown before Python 3.12."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, cast

import apsw

from rememo.files import PRIVATE_MODE, create_file
from rememo.store.sql.session import Values

MEMORY: Final = ":memory:"

Bindings = Sequence[Any] | Mapping[str, Any]


def _run(connection: Any, sql: str, values: Values) -> "Cursor":
    return connection.execute(sql, values)


class _Session(apsw.Connection):
    """A connection as a session: statements in, rows out."""

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        return _run(self, sql, values).fetchall()

    def row(self, sql: str, values: Values = ()) -> Any:
        return _run(self, sql, values).fetchone()

    def value(self, sql: str, values: Values = ()) -> Any:
        row = _run(self, sql, values).fetchone()
        return None if row is None else row[0]

    def changed(self, sql: str, values: Values = ()) -> int:
        _run(self, sql, values)
        return self.changes()

    def stream(self, sql: str, values: Values, size: int) -> Iterator[Any]:  # noqa: ARG002 - rows come one by one anyway
        return iter(_run(self, sql, values))


class Cursor(Protocol):
    """The rows of a statement."""

    @property
    def get(self) -> Any:
        """The first row, as a value when it has one column; None when there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        ...

    def fetchone(self) -> Any:
        """Return the first row, or None."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Give row by row."""
        ...


class Connection(Protocol):
    """A connection to a SQLite file."""

    in_transaction: bool
    system_errno: int

    def execute(self, statements: str, bindings: Bindings | None = None) -> Cursor:
        """Run a statement."""
        ...

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Return all rows of a statement."""
        ...

    def row(self, sql: str, values: Values = ()) -> Any:
        """Return the first row of a statement, or None."""
        ...

    def value(self, sql: str, values: Values = ()) -> Any:
        """Return the first column of the first row, or None."""
        ...

    def changed(self, sql: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def stream(self, sql: str, values: Values, size: int) -> Iterator[Any]:
        """Give row by row."""
        ...

    def executemany(self, statements: str, sequenceofbindings: Sequence[Bindings]) -> Cursor:
        """Run a statement for each set of values."""
        ...

    def pragma(self, name: str, value: Any = None) -> Any:
        """Read or set a pragma."""
        ...

    def config(self, op: int, *values: int) -> int:
        """Set one of SQLite's own options for this connection."""
        ...

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        ...

    def total_changes(self) -> int:
        """Return how many rows were changed since opening."""
        ...

    def data_version(self) -> int:
        """Return a number that is one more after each commit, of this connection or another."""
        ...

    def last_insert_rowid(self) -> int:
        """Return the number of the last row inserted."""
        ...

    def set_busy_handler(self, callable: Callable[[int], bool] | None) -> None:
        """Set what is asked while another connection holds the file."""
        ...

    def set_wal_hook(self, callable: Callable[[Any, str, int], int] | None) -> None:
        """Set what is called after each commit."""
        ...

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]:
        """Move the log into the file."""
        ...

    def create_scalar_function(
        self, name: str, callable: Callable[..., Any] | None, numargs: int = -1, *, deterministic: bool = False
    ) -> None:
        """Let statements call a function."""
        ...

    def readonly(self, name: str) -> bool:
        """Return whether a database cannot be written."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


# Held while a file is made: closing it would let go of the locks that another thread's connection has on it.
_making = threading.Lock()


def connect(path: str, mode: int = PRIVATE_MODE) -> Connection:
    """Open a file, making it with a mode when it is not there; its log gets the same mode."""
    with _making:
        if path and path != MEMORY:
            # SQLite would make it as open as the umask allows. What cannot be made, SQLite reports.
            with suppress(OSError):
                create_file(Path(path).resolve(), mode)
        return cast("Connection", _Session(path))


def connect_with(address: str, flags: int, vfs: str | None = None) -> Connection:
    """Open an address with SQLite's own flags."""
    return cast("Connection", _Session(address, flags=flags, vfs=vfs))
