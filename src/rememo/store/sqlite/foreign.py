"""Files of SQLite that other programs wrote: read, and never changed."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import apsw

from rememo.errors import InvalidInput
from rememo.store.sqlite.connection import Connection

_MAGIC: Final = b"SQLite format 3\x00"


def is_sqlite(path: Path) -> bool:
    """Tell whether a file is one of SQLite's."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


class ForeignFile:
    """The tables of a file that is somebody else's."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self._path = path
        self._connection = connection

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the names of its tables, with those of their columns."""
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return {
            name: tuple(self._column(name)) for (name,) in names.fetchall()
        }  # fmt: skip

    def _column(self, table: str) -> Iterator[str]:
        for (column,) in self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,)):
            yield column

    def rows(self, table: str, columns: Sequence[str], *, order: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Give the rows of a table in an order, one by one; a column that this file does not have is None in all of them."""
        with _translated(self._path):
            # Asked for all the same, SQLite would take its name for a text.
            there = {*self._column(table), "rowid"}
            wanted = ", ".join(_quoted(column) if column in there else "NULL" for column in columns)
            sorting = ", ".join(_quoted(column) for column in order if column in there)
            yield from self._connection.execute(f"SELECT {wanted} FROM {_quoted(table)} ORDER BY {sorting or 1}")


@contextmanager
def open_foreign(path: Path) -> Generator[ForeignFile]:
    """Open a file for reading only; what cannot be read raises `InvalidInput`."""
    with _translated(path):
        connection = cast("Connection", apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY))
        try:
            yield ForeignFile(path, connection)
        finally:
            connection.close()


@contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except apsw.Error as error:
        raise InvalidInput(f"{path} cannot be read as a file of SQLite: {error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is damaged: a text in it is not UTF-8 ({error.reason}); repair it first") from None


def _quoted(name: str) -> str:
    """Return the name of a table or column as a statement may have it."""
    return '"' + name.replace('"', '""') + '"'
