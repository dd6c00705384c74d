"""The rows that can still be read of a damaged file, page by page."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rememo.model.times import to_micros
from rememo.store.cipher.codec import ENCRYPTED
from rememo.store.cipher.protocol import CIPHER_OVERHEAD
from rememo.store.commits import content_hash
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.pages import INDEX_INNER, INDEX_LEAF, TABLE_INNER, TABLE_LEAF, Pages, Unreadable
from rememo.store.sqlite.row_shapes import Shape, read_shapes
from rememo.store.sqlite.writing import vector_place

_JSON = {
    "records": ("data", "metadata"),
    "kv": ("value",),
    "jobs": ("payload",),
    "keys": ("commit",),
    "audit": ("detail", "ids", "flags"),
}
_SCHEMA_COLUMNS = 5
_NUMBER_BITS = 40
_TIMES = ("at", "created_at", "recorded_at", "superseded_at", "occurred_at", "valid_from", "valid_to", "expires_at")
_EARLIEST, _LATEST = to_micros(datetime.min.replace(tzinfo=UTC)), to_micros(datetime.max.replace(tzinfo=UTC))


@dataclass(slots=True)
class RowRecovery:
    """Copies rows of damaged pages to a new file, within one transaction of it."""

    pages: Pages
    connection: Connection
    version_pages: list[int] = field(default_factory=list[int])
    """Pages of the index that tells which versions there once were."""
    tables: list[str] = field(default_factory=list[str])
    damaged_pages: int = 0
    damaged_rows: int = 0
    schema_readable: bool = False
    models: dict[int, int] = field(default_factory=dict[int, int])
    """The dimensions of the embedding models that were recovered."""

    def run(self) -> None:
        """Take over every row that can be read."""
        expected, indexes = read_shapes(self.connection)
        seen: set[int] = set()
        roots = self._roots(seen)
        self.schema_readable = "records" in roots
        leaves = {name: list(self._walk(root, seen)) for name, root in roots.items()}
        # Vectors are told from other rows by their model.
        order = sorted(expected, key=lambda name: (name != "models", name))
        strayed = self._left_behind(seen)
        for name in order:
            strayed += [page for page in leaves.get(name, ()) if not self._take(expected[name], page)]
        for name in leaves.keys() - expected.keys():
            strayed += [page for page in leaves[name] if not self._holds(indexes.get(name), page)]
        for page in strayed:
            self._take_strays([expected[name] for name in order], list(indexes.values()), page)
        self.version_pages = leaves.get("records_by_id", [])
        self.tables = order

    # ---- finding pages

    def _roots(self, seen: set[int]) -> dict[str, int]:
        """Return where the tree of each table and index begins, as far as the schema can be read."""
        roots: dict[str, int] = {}
        for page in self._walk(1, seen):
            for row in self.pages.rows(page):
                if row is None or len(row.values) != _SCHEMA_COLUMNS:
                    continue
                _, name, _, root, _ = row.values
                if isinstance(name, str) and isinstance(root, int) and root > 1:
                    roots[name] = root
        return roots

    def _walk(self, root: int, seen: set[int]) -> Iterator[int]:
        """Give the pages of a tree that hold rows; a page that belongs to another tree already is damage."""
        waiting = [root]
        while waiting:
            number = waiting.pop()
            try:
                kind = self.pages.kind(number)
            except Unreadable:
                kind = 0
            if not kind or number in seen:
                self.damaged_pages += 1
                continue
            seen.add(number)
            if kind != TABLE_INNER:
                yield number
            if kind in (TABLE_INNER, INDEX_INNER):
                waiting += reversed(self.pages.children(number))

    def _left_behind(self, seen: set[int]) -> list[int]:
        """Return the pages that no tree leads to any more."""
        free = self.pages.free()
        return [
            number
            for number in range(1, self.pages.count + 1)
            if number not in seen
            and number not in free
            and self.pages.kind(number) in (TABLE_LEAF, INDEX_LEAF, INDEX_INNER)
        ]

    # ---- taking rows

    def _take(self, shape: Shape, page: int) -> bool:
        """Take the rows of a page of a table's tree; False when it is none, for a damaged tree may lead anywhere."""
        rows = list(self.pages.rows(page))
        fitting = [row for row in rows if row is not None and shape.fits(row)]
        for row in fitting:
            self._put(shape, shape.read(row))
        self.damaged_rows += len(rows) - len(fitting)
        return bool(fitting)

    def _holds(self, index: Shape | None, page: int) -> bool:
        return index is not None and any(row is not None and index.fits(row) for row in self.pages.rows(page))

    def _take_strays(self, read_shapes: Sequence[Shape], indexes: Sequence[Shape], page: int) -> None:
        for row in self.pages.rows(page):
            if row is None:
                continue
            fitting = [shape for shape in read_shapes if shape.fits(row)]
            # An entry of an index that looks like a row of a table tells nothing.
            if len(fitting) == 1 and not any(index.fits(row) for index in indexes):
                self._put(fitting[0], fitting[0].read(row))

    def _put(self, shape: Shape, values: dict[str, Any]) -> None:
        if shape.name == "vectors":
            if not self._is_vector(values):
                return
        elif not _is_sound(shape.name, values):
            self.damaged_rows += 1
            return
        if shape.name == "models":
            self.models[values["model"]] = values["dimension"]
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        # The first that is found of a row stays: pages that a tree leads to come before those that were left behind.
        self.connection.execute(
            f'INSERT OR IGNORE INTO "{shape.name}" ({names}) VALUES ({marks})', list(values.values())
        )

    def _is_vector(self, values: Mapping[str, Any]) -> bool:
        """Whether it is one of a version that was recovered; tables of words have rows that look alike."""
        model, number = values["place"] >> _NUMBER_BITS, values["place"] & (1 << _NUMBER_BITS) - 1
        blob: bytes = values["vector"]
        dimension = self.models.get(model)
        if dimension is None or vector_place(model, number) != values["place"]:
            return False
        if len(blob) == dimension * 4 + CIPHER_OVERHEAD and blob[0] == ENCRYPTED:
            return True  # whether it opens is seen later
        if len(blob) != dimension * 4:
            return False
        length = float(np.linalg.norm(np.frombuffer(blob, np.float32).astype(np.float64)))
        return abs(length - 1) < 1e-3  # noqa: PLR2004 - rounding; noise is far from it


def _is_sound(table: str, values: Mapping[str, Any]) -> bool:
    """Whether a row is what was written, as far as it tells by itself."""
    if table == "records" and not (
        content_hash(values["kind"], values["text"], values["data"]) == values["hash"]
        and all(values[name] is None or _EARLIEST <= values[name] <= _LATEST for name in _TIMES)
        and values["at"] == (values["created_at"] if values["occurred_at"] is None else values["occurred_at"])
        and values["created_at"] <= values["recorded_at"]
        and values["version"] > 0
    ):
        return False
    try:
        for column in _JSON.get(table, ()):
            if isinstance(values[column], str):
                json.loads(values[column])
    except ValueError:
        return False
    return True
