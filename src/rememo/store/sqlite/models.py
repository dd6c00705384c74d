"""Embedding models of a file: the one in use, and one that is built beside it until it takes over."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rememo.errors import EmbeddingMismatch, ModelChanged
from rememo.store.cipher.codec import Encoded
from rememo.store.embedding_models import ModelInUse, Unembedded, Unvectored
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.writing import vector_place

_FIND = "SELECT model FROM models WHERE name = ? AND dimension = ?"
_NEXT = "SELECT ifnull(max(model), 0) + 1 FROM models"
_ADD = "INSERT INTO models (model, name, dimension, current) VALUES (?, ?, ?, ?)"
_WITHOUT = """SELECT id, version, text FROM records
WHERE tenant = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE place = ? | number) ORDER BY number"""
_OWED = """SELECT payload ->> '$.record', payload ->> '$.version' FROM jobs
WHERE tenant = ? AND task = 'embed' AND state IN ('waiting', 'running')"""


class SqliteModels(SqlitePart):
    """The `Models` half of the store."""

    def use_model(self, name: str, dimension: int) -> int:
        """Bind the store to an embedding model and return its number; a file with vectors of another one is refused."""

        def use(connection: Connection) -> int:
            row = connection.execute("SELECT model, name, dimension FROM models WHERE current").get
            if row is None:
                connection.execute(_ADD, (1, name, dimension, 1))
                return 1
            model, held, its_dimension = row
            if (held, its_dimension) == (name, dimension):
                return model
            if _has_vectors(connection, model):
                raise EmbeddingMismatch(
                    f"{self._database.path} holds vectors of {held} ({its_dimension} numbers), but this memory was opened with"
                    f" {name} ({dimension}); open it with {held} (embedder=…, or the setting of that name), or change the"
                    " model with `rememo reembed` or memory.reembed()"
                )
            # Under a number of its own: a process that still has the other one must not write under this.
            number: int = connection.execute(_NEXT).get
            connection.execute(
                "DELETE FROM models WHERE model = ? OR (name, dimension) = (?, ?)", (model, name, dimension)
            )
            connection.execute(_ADD, (number, name, dimension, 1))
            return number

        known: int | None = self._database.value(_FIND + " AND current", (name, dimension))
        return known if known is not None else self._database.write(use)

    def model(self) -> ModelInUse | None:
        """Return the file's embedding model, or None when it has none yet."""
        row = self._database.value("SELECT name, dimension, model FROM models WHERE current")
        return None if row is None else ModelInUse(*row)

    def unvectored(self, tenant: str) -> Iterator[Unvectored]:
        """Give the versions of a tenant that have no vector by the model in use, in order of arrival."""
        if self._codecs.is_unreadable(tenant):
            return
        codec = self._codecs.get(tenant)
        with self._database.snapshot() as connection:
            model = model_in_use(connection)
            if model is None:
                return
            owed = {(str(id), int(version)) for id, version in connection.execute(_OWED, (tenant,))}
            for id, version, kept in connection.execute(_WITHOUT, (tenant, model << 40)):
                text = codec.decode(kept, "text", id, version)
                yield Unvectored(id, version, text, (id, version) in owed)

    def begin_model(self, name: str, dimension: int) -> int:
        """Return the number of a model to be built beside the one in use; one that was begun before goes on."""

        def begin(connection: Connection) -> int:
            known: int | None = connection.execute(_FIND, (name, dimension)).get
            if known is not None:
                return known
            number: int = connection.execute(_NEXT).get
            # Another one that was begun and given up makes room.
            for (other,) in connection.execute("SELECT model FROM models WHERE NOT current").fetchall():
                _drop(connection, other)
            connection.execute(_ADD, (number, name, dimension, 0))
            return number

        number = self._database.write(begin)
        self._begun[number] = (name, dimension)
        return number

    def has_vectors(self) -> bool:
        """Say whether there is any vector by the model in use."""
        with self._database.snapshot() as connection:
            model = connection.execute("SELECT model FROM models WHERE current").get
            return model is not None and _has_vectors(connection, model)

    def unembedded(self, model: int, limit: int) -> tuple[int, list[Unembedded]]:
        """Return how many versions still have no vector by a model, and the first of them."""
        with self._database.snapshot() as connection:
            done: int = connection.execute("SELECT done FROM models WHERE model = ?", (model,)).get or 0
            left: int = connection.execute("SELECT count(*) FROM records WHERE number > ?", (done,)).get
            rows = connection.execute(
                "SELECT number, tenant, id, version, text FROM records WHERE number > ? ORDER BY number LIMIT ?",
                (done, limit),
            ).fetchall()
        return left, [Unembedded(row[0], row[1], row[2], row[3], self._text(*row[1:])) for row in rows]

    def _text(self, tenant: str, id: str, version: int, kept: Encoded) -> str:
        """Return a text; one that nobody can read any more has none."""
        return "" if self._codecs.is_unreadable(tenant) else self._codecs.get(tenant).decode(kept, "text", id, version)

    def put_vectors(self, model: int, vectors: Sequence[tuple[int, NDArray[np.float32] | None]]) -> None:
        """Store vectors by a model under construction, in the order they were asked for."""

        def put(connection: Connection) -> None:
            self._need_begun(connection, model)
            rows: list[tuple[int, bytes]] = []
            for number, one in vectors:
                tenant = connection.execute("SELECT tenant FROM records WHERE number = ?", (number,)).get
                if one is not None and tenant is not None and not self._codecs.is_unreadable(tenant):
                    place = vector_place(model, number)
                    rows.append((place, self._codecs.get(tenant).encode_vector(one.tobytes(), place)))
            connection.executemany("INSERT OR REPLACE INTO vectors (place, vector) VALUES (?, ?)", rows)
            connection.execute("UPDATE models SET done = max(done, ?) WHERE model = ?", (vectors[-1][0], model))

        self._database.write(put)

    def swap_model(self, model: int) -> bool:
        """Put a model into use if every version has its vector by it; False when some came in meanwhile."""

        def swap(connection: Connection) -> bool:
            self._need_begun(connection, model)
            if connection.execute(
                "SELECT 1 FROM records, models WHERE model = ? AND number > done LIMIT 1", (model,)
            ).get:
                return False
            connection.execute("UPDATE models SET current = (model = ?)", (model,))
            connection.execute(
                "INSERT INTO tenants (tenant) SELECT DISTINCT tenant FROM records WHERE true ON CONFLICT DO NOTHING"
            )
            connection.execute("UPDATE tenants SET epoch = epoch + 1")
            return True

        return self._database.write(swap)

    def _need_begun(self, connection: Connection, model: int) -> None:
        """Refuse to go on with a model that another process has thrown away to build its own."""
        row = connection.execute("SELECT name, dimension FROM models WHERE model = ?", (model,)).get
        if row is None or tuple(row) != self._begun.get(model):
            raise ModelChanged(
                f"another process changes the embedding model of {self._database.path} too and has thrown away what was"
                " begun here; run it again when that one is done"
            )

    def drop_models(self, limit: int) -> int:
        """Remove vectors of models that are not in use, at most so many; returns how many were removed."""

        def drop(connection: Connection) -> int:
            current: int = connection.execute("SELECT model FROM models WHERE current").get or 0
            connection.execute(
                "DELETE FROM vectors WHERE place IN (SELECT place FROM vectors"
                " WHERE place < ? << 40 OR place >= (? + 1) << 40 LIMIT ?)",
                (current, current, limit),
            )
            removed = connection.changes()
            if removed < limit:
                connection.execute("DELETE FROM models WHERE NOT current")
            return removed

        return self._database.write(drop)


def model_in_use(connection: Connection) -> int | None:
    """Return the number of the model whose vectors are searched."""
    return connection.execute("SELECT model FROM models WHERE current").get


def need_model(connection: Connection, model: int, path: str) -> None:
    """Refuse vectors of a model that is not in use; raises `ModelChanged`."""
    if model_in_use(connection) != model:
        raise ModelChanged(f"{path} has another embedding model in use by now; these vectors were not stored")


def _has_vectors(connection: Connection, model: int) -> bool:
    bounds = (vector_place(model, 0), vector_place(model + 1, 0))
    return connection.execute("SELECT 1 FROM vectors WHERE place >= ? AND place < ? LIMIT 1", bounds).get is not None


def _drop(connection: Connection, model: int) -> None:
    bounds = (vector_place(model, 0), vector_place(model + 1, 0))
    connection.execute("DELETE FROM vectors WHERE place >= ? AND place < ?", bounds)
    connection.execute("DELETE FROM models WHERE model = ?", (model,))
