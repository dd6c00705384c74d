"""One connection while it is lent: statements in, rows out.

Statements name tables without their schema, and those that all SQL stores share have a `?` for a value, where the driver's own
sign is `%s`: `table_names` makes of them what the server is told.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from psycopg import Cursor

from rememo.store.postgres.table_names import to_statement
from rememo.store.sql.session import Values

_COPY = re.compile(r"COPY (\w+) \(([^)]+)\) FROM STDIN \(FORMAT BINARY\)")


class PostgresSession:
    """What the parts of the store do with a connection. Statements are text made of constants; values are parameters."""

    __slots__ = ("_connection", "_row_level_security", "_schema")

    def __init__(self, connection: "psycopg.Connection[Any]", schema: str, *, row_level_security: bool = False) -> None:
        self._connection = connection
        self._schema = schema
        self._row_level_security = row_level_security

    def execute(self, sql: str, values: Values = ()) -> Cursor[Any]:
        """Run a statement; it is prepared when it is met first, where the connection may prepare any."""
        return self._connection.execute(to_statement(self._schema, sql), values, prepare=True, binary=True)

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Return all rows of a statement."""
        return self.execute(sql, values).fetchall()

    def row(self, sql: str, values: Values = ()) -> Any:
        """Return the first row of a statement, or None."""
        return self.execute(sql, values).fetchone()

    def value(self, sql: str, values: Values = ()) -> Any:
        """Return the first value of the first row, or None."""
        row = self.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def together(self, *statements: tuple[str, Values]) -> list[Any]:
        """Run statements one after another in one way there and back; returns the first row of each, or None."""
        with self._connection.pipeline():
            cursors = [self.execute(sql, values) for sql, values in statements]
        return [cursor.fetchone() for cursor in cursors]

    def changed(self, sql: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return self.execute(sql, values).rowcount

    def stream(self, sql: str, values: Values, size: int) -> Iterable[Any]:
        """Give the rows of a long answer without holding all of them; inside a transaction only."""
        with self._connection.cursor("rememo", binary=True) as cursor:
            cursor.itersize = size
            yield from cursor.execute(to_statement(self._schema, sql), values)

    def copy(self, sql: str, types: Sequence[str | int], rows: Iterable[Sequence[Any]]) -> None:
        """Load many rows at once."""
        if self._row_level_security:
            # The server does not copy past a policy; rows are inserted one by one then, without waiting for each.
            with self._connection.cursor() as cursor:
                cursor.executemany(to_statement(self._schema, _insert(sql)), rows)
            return
        with self._connection.cursor() as cursor, cursor.copy(to_statement(self._schema, sql)) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)


def _insert(sql: str) -> str:
    """Return the statement that inserts one row where another loads many."""
    table, columns = _COPY.fullmatch(sql).groups()  # pyright: ignore[reportOptionalMemberAccess] - they are all of that shape
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join(['%b'] * len(columns.split(',')))})"
