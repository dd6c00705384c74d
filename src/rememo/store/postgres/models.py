"""Embedding models of a store: the one in use, and one that is built beside it until it takes over."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.errors import EmbeddingMismatch
from rememo.store.postgres.part import Part
from rememo.store.postgres.session import Session
from rememo.store.postgres.vectors import PUT_VECTOR, column, to_wire
from rememo.store.protocol import Unembedded

# Those who change models do so one after another.
_LOCK = "LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE"
# Writers take their tenant's row: this waits for those who write, and keeps others from beginning.
_HOLD_WRITERS = "LOCK TABLE tenants IN EXCLUSIVE MODE"
_CURRENT = "SELECT model, name, dimension FROM models WHERE current"
_FIND = "SELECT model, current FROM models WHERE name = %s AND dimension = %s"
_ADD = """INSERT INTO models (model, name, dimension, current)
SELECT coalesce(max(model), 0) + 1, %s, %s, %s FROM models RETURNING model"""
_RENAME = "UPDATE models SET name = %s, dimension = %s WHERE model = %s"
_HAS_VECTORS = "SELECT EXISTS (SELECT 1 FROM vectors WHERE model = %s)"
_OTHERS = "SELECT model FROM models WHERE NOT current"
_DROP = (
    "DELETE FROM vectors WHERE model = %s",
    "DELETE FROM progress WHERE model = %s",
    "DELETE FROM models WHERE model = %s",
)
_LEFT = """SELECT tenants.tenant, coalesce(progress.done, 0), tenants.number FROM tenants
LEFT JOIN progress ON progress.tenant = tenants.tenant AND progress.model = %s
WHERE tenants.number > coalesce(progress.done, 0) ORDER BY tenants.tenant"""
_COUNT = "SELECT count(*) FROM records WHERE tenant = %s AND number > %s"
_NEXT = (
    "SELECT number, id, version, text, packed FROM records WHERE tenant = %s AND number > %s ORDER BY number LIMIT %s"
)
_DONE = """INSERT INTO progress AS held (tenant, model, done) VALUES (%s, %s, %s)
ON CONFLICT (tenant, model) DO UPDATE SET done = greatest(held.done, excluded.done)"""
_SWAP = "UPDATE models SET current = (model = %s)"
_TURN = "UPDATE tenants SET epoch = epoch + 1"
_OLD = """DELETE FROM vectors WHERE (tenant, model, number) IN
(SELECT tenant, model, number FROM vectors WHERE model <> %s LIMIT %s)"""
_FORGET = ("DELETE FROM models WHERE NOT current", "DELETE FROM progress")


class ModelTable(Part):
    """The `Models` half of the store."""

    _handed: dict[int, tuple[str, int]]
    """Versions that were given out to be embedded: their tenants and numbers by the number they were given under."""

    def use_model(self, name: str, dimension: int) -> None:
        """Bind the store to an embedding model; a store with vectors of another one is refused."""

        def use(session: Session) -> int:
            session.execute(_LOCK)
            row = session.row(_CURRENT)
            if row is None:
                return session.value(_ADD, (name, dimension, True))
            model, held, its_dimension = row
            if (held, its_dimension) == (name, dimension):
                return model
            if session.value(_HAS_VECTORS, (model,)):
                raise EmbeddingMismatch(
                    f"{self._database.place} holds vectors of {held} ({its_dimension} numbers), but this memory was opened with"
                    f" {name} ({dimension}); open it with {held} (embedder=…, or the setting of that name), or change the"
                    " model with `rememo reembed` or memory.reembed()"
                )
            session.execute(_RENAME, (name, dimension, model))
            return model

        row = self._database.row(_FIND, (name, dimension))
        self._model = row[0] if row is not None and row[1] else self._database.write(use, repeatable=True)

    def model(self) -> tuple[str, int] | None:
        """Return the name and dimension of the store's embedding model, or None when it has none yet."""
        row = self._database.row(_CURRENT)
        return None if row is None else (row[1], row[2])

    def begin_model(self, name: str, dimension: int) -> int:
        """Return the number of a model to be built beside the one in use; one that was begun before goes on."""

        def begin(session: Session) -> int:
            session.execute(_LOCK)
            row = session.row(_FIND, (name, dimension))
            if row is not None:
                return row[0]
            # Another one that was begun and given up makes room.
            for (other,) in session.rows(_OTHERS):
                for sql in _DROP:
                    session.execute(sql, (other,))
            return session.value(_ADD, (name, dimension, False))

        return self._database.write(begin, repeatable=True)

    def has_vectors(self) -> bool:
        """Say whether there is any vector by the model in use."""
        row = self._database.row(_CURRENT)
        return row is not None and bool(self._database.value(_HAS_VECTORS, (row[0],)))

    def unembedded(self, model: int, limit: int) -> tuple[int, list[Unembedded]]:
        """Return how many versions still have no vector by a model, and the first of them."""
        left, found = 0, list[tuple[str, Any]]()
        with self._database.snapshot() as session:
            for tenant, done, _ in session.rows(_LEFT, (model,)):
                left += session.value(_COUNT, (tenant, done))
                if len(found) < limit:
                    found += [(tenant, row) for row in session.rows(_NEXT, (tenant, done, limit - len(found)))]
        readable = {tenant: self._safe.readable(tenant) for tenant in {tenant for tenant, _ in found}}
        versions: list[Unembedded] = []
        self._handed = {}
        for tenant, (number, id, version, text, packed) in found:
            # Numbers belong to a tenant; these are numbers among those that are given out together.
            self._handed[len(versions)] = (tenant, number)
            contents = readable[tenant]
            # A text that nobody can read any more has none.
            said = "" if contents is None else contents.get_text(text, packed, id, version)
            versions.append(Unembedded(len(versions), tenant, id, version, said))
        return left, versions

    def put_vectors(self, model: int, vectors: Sequence[tuple[int, NDArray[np.float32] | None]]) -> None:
        """Store vectors by a model under construction, in the order they were asked for."""
        handed = self._handed
        done: dict[str, int] = {}
        made: dict[str, dict[int, NDArray[np.float32]]] = {}
        for given, vector in vectors:
            tenant, number = handed[given]
            done[tenant] = max(done.get(tenant, 0), number)
            if vector is not None:
                made.setdefault(tenant, {})[number] = vector
        tenants = sorted(tenant for tenant in made if not self._safe.lost(tenant))

        def put(session: Session) -> None:
            for tenant in tenants:
                contents = self._safe.held(session, tenant)
                sql = PUT_VECTOR.format(column=column(contents))
                for number, vector in made[tenant].items():
                    session.execute(sql, (tenant, model, number, to_wire(vector, model, number, contents)))
            for tenant, number in sorted(done.items()):
                session.execute(_DONE, (tenant, model, number))

        self._safe.write(self._database, put, *tenants, repeatable=True)

    def swap_model(self, model: int) -> bool:
        """Put a model into use if every version has its vector by it; False when some came in meanwhile."""

        def swap(session: Session) -> bool:
            session.execute(_HOLD_WRITERS)
            session.execute(_LOCK)
            if any(session.value(_COUNT, (tenant, done)) for tenant, done, _ in session.rows(_LEFT, (model,))):
                return False
            session.execute(_SWAP, (model,))
            session.execute(_TURN)
            return True

        swapped = self._database.write(swap, repeatable=True)
        if swapped:
            self._model = model
        return swapped

    def drop_models(self, limit: int) -> int:
        """Remove vectors of models that are not in use, at most so many; returns how many were removed."""

        def drop(session: Session) -> int:
            session.execute(_LOCK)
            row = session.row(_CURRENT)
            removed = session.changed(_OLD, (0 if row is None else row[0], limit))
            if removed < limit:
                for sql in _FORGET:
                    session.execute(sql)
            return removed

        return self._database.write(drop, repeatable=True)
