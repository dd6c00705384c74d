"""Embedding models of a file."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.store.cipher.codec import Encoded
from rememo.store.embedding_models import Unembedded
from rememo.store.sql.models import SqlModels
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.writing import vector_place

_WITHOUT = """SELECT id, version, text FROM records
WHERE tenant = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE place = ? | number) ORDER BY number"""
_HAS_VECTORS = "SELECT 1 FROM vectors WHERE place >= ? AND place < ? LIMIT 1"
_REMAINING = "SELECT 1 FROM records, models WHERE model = ? AND number > done LIMIT 1"
_MAKE_TENANTS = "INSERT INTO tenants (tenant) SELECT DISTINCT tenant FROM records WHERE true ON CONFLICT DO NOTHING"
_DROP_VECTORS = """DELETE FROM vectors WHERE place IN (SELECT place FROM vectors
WHERE place < ? << 40 OR place >= (? + 1) << 40 LIMIT ?)"""


class SqliteModels(SqlModels[SqliteDatabase, SqliteCodecs], SqlitePart):
    """The `EmbeddingModels` protocol on the file, whose one writer needs no locks."""

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
        """Return a text; one whose keys were dropped has none."""
        return "" if self._codecs.is_unreadable(tenant) else self._codecs.get(tenant).decode(kept, "text", id, version)

    def put_vectors(self, model: int, vectors: Sequence[tuple[int, NDArray[np.float32] | None]]) -> None:
        """Store vectors by a model under construction, in the order they were asked for."""

        def put(connection: Connection) -> None:
            self._need_begun(connection, model)
            rows: list[tuple[int, bytes]] = []
            for number, vector in vectors:
                tenant = connection.execute("SELECT tenant FROM records WHERE number = ?", (number,)).get
                if vector is not None and tenant is not None and not self._codecs.is_unreadable(tenant):
                    place = vector_place(model, number)
                    rows.append((place, self._codecs.get(tenant).encode_vector(vector.tobytes(), place)))
            connection.executemany("INSERT OR REPLACE INTO vectors (place, vector) VALUES (?, ?)", rows)
            connection.execute("UPDATE models SET done = max(done, ?) WHERE model = ?", (vectors[-1][0], model))

        self._database.write(put)

    def _lock_models(self, session: Connection) -> None:
        pass

    def _lock_writers(self, session: Connection) -> None:
        pass

    def _has_vectors_of(self, session: Connection, model: int) -> bool:
        return session.row(_HAS_VECTORS, _bounds(model)) is not None

    def _drop_model(self, session: Connection, model: int) -> None:
        session.execute("DELETE FROM vectors WHERE place >= ? AND place < ?", _bounds(model))
        session.execute("DELETE FROM models WHERE model = ?", (model,))

    def _is_complete(self, session: Connection, model: int) -> bool:
        return session.row(_REMAINING, (model,)) is None

    def _bump_every_epoch(self, session: Connection) -> None:
        session.execute(_MAKE_TENANTS)
        session.execute("UPDATE tenants SET epoch = epoch + 1")

    def _drop_vectors(self, session: Connection, current: int, limit: int) -> int:
        return session.changed(_DROP_VECTORS, (current, current, limit))

    def _forget_models(self, session: Connection) -> None:
        session.execute("DELETE FROM models WHERE NOT current")

    def _without_vector(self, tenant: str, model: int) -> tuple[str, list[Any]]:
        return _WITHOUT, [tenant, vector_place(model, 0)]


def _bounds(model: int) -> tuple[int, int]:
    return vector_place(model, 0), vector_place(model + 1, 0)
