"""What the rows of tables and indexes look like on a page, by this release's schema."""

from dataclasses import dataclass
from typing import Any

from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.pages import Row

# Made anew, or known already: the steps of the new file are its own.
_REBUILT = {"migrations", "tenants", "staged"}
_BEHIND_KEYS = 1_000


@dataclass(frozen=True, slots=True)
class Shape:
    """What the rows of a table or an index look like on a page."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    required: tuple[bool, ...]
    numbered: bool
    """Whether its rows have numbers."""
    key: int | None = None
    """The column that stands for the row's number."""

    def fits(self, row: Row) -> bool:
        """Whether a row can be one of these; columns that came later may be missing at its end."""
        if self.numbered != (row.number is not None) or len(row.values) > len(self.columns):
            return False
        if any(self.required[len(row.values) :]):
            return False
        return all(
            (value is None and (not required or place == self.key)) or _is(kind, value)
            for place, (value, kind, required) in enumerate(zip(row.values, self.types, self.required, strict=False))
        )

    def read(self, row: Row) -> dict[str, Any]:
        """Return a row's values by their columns."""
        values: dict[str, Any] = dict.fromkeys(self.columns) | dict(zip(self.columns, row.values, strict=False))
        if self.key is not None:
            values[self.columns[self.key]] = row.number
        return values


def read_shapes(connection: Connection) -> tuple[dict[str, Shape], dict[str, Shape]]:
    """Return the shapes of the tables to be filled, and those of all indexes, by this release's schema."""
    tables: dict[str, Shape] = {}
    indexes: dict[str, Shape] = {}
    for name, unnumbered in connection.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall():
        rows = connection.execute(
            'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) ORDER BY cid', (name,)
        ).fetchall()
        if unnumbered:
            # Rows of such a table are kept with the columns of their key in front.
            rows = sorted(rows, key=lambda row: row[3] or _BEHIND_KEYS)
        keys = [place for place, row in enumerate(rows) if row[3]]
        key = keys[0] if not unnumbered and len(keys) == 1 and rows[keys[0]][1] == "INTEGER" else None
        if name not in _REBUILT:
            tables[name] = Shape(
                name=name,
                columns=tuple(row[0] for row in rows),
                types=tuple(row[1] for row in rows),
                required=tuple(bool(row[2] or row[3]) for row in rows),
                numbered=not unnumbered,
                key=key,
            )
        types = {row[0]: row[1] for row in rows}
        for (index,) in connection.execute("SELECT name FROM pragma_index_list(?)", (name,)).fetchall():
            if unnumbered and index.startswith("sqlite_autoindex"):
                continue  # the table itself
            columns = connection.execute("SELECT name FROM pragma_index_xinfo(?) ORDER BY seqno", (index,)).fetchall()
            indexes[index] = Shape(
                name=index,
                columns=tuple(str(column) for (column,) in columns),
                types=tuple(types.get(column, "INTEGER") for (column,) in columns),
                required=(False,) * len(columns),
                numbered=False,
            )
    return tables, indexes


def _is(kind: str, value: object) -> bool:
    match kind:
        case "INTEGER":
            return isinstance(value, int)
        case "REAL":  # whole numbers are kept as such
            return isinstance(value, int | float)
        case "TEXT":
            return isinstance(value, str)
        case "ANY":  # contents: plain, or compressed or encrypted
            return isinstance(value, str | bytes)
        case _:
            return isinstance(value, bytes)
