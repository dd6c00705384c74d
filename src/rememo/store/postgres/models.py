"""Embedding models of a store: the one in use, and one that is built beside it until it takes over."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.errors import EmbeddingMismatch, ModelChanged
from rememo.store.embedding_models import ModelInUse, Unembedded, Unvectored
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import Session
from rememo.store.postgres.vectors import PUT_VECTOR, column, to_wire

# Those who change models do so one after another.
_LOCK = "LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE"
# Writers take their tenant's row: this waits for those who write, and keeps others from beginning.
_HOLD_WRITERS = "LOCK TABLE tenants IN EXCLUSIVE MODE"
_CURRENT = "SELECT model, name, dimension FROM models WHERE current"
_BEGUN = "SELECT name, dimension FROM models WHERE model = %s"
_FIND = "SELECT model, current FROM models WHERE name = %s AND dimension = %s"
_NUMBER = "SELECT coalesce(max(model), 0) + 1 FROM models"
_ADD = "INSERT INTO models (model, name, dimension, current) VALUES (%s, %s, %s, %s)"
_REPLACE = "DELETE FROM models WHERE model = %s OR (name, dimension) = (%s, %s)"
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
_WITHOUT = """SELECT id, version, text, packed FROM records WHERE tenant = %s AND NOT EXISTS (SELECT 1 FROM vectors
  WHERE vectors.tenant = %s AND vectors.model = %s AND vectors.number = records.number) ORDER BY number"""
_OWED = """SELECT payload::json ->> 'record', payload::json ->> 'version' FROM jobs
WHERE tenant = %s AND task = 'embed' AND state IN ('waiting', 'running')"""
_STEP = 1_000
_FORGET = ("DELETE FROM models WHERE NOT current", "DELETE FROM progress")


class PostgresModels(PostgresPart):
    """The `Models` half of the store."""

    _handed: dict[int, tuple[str, int]]
    """Versions that were given out to be embedded: their tenants and numbers by the number they were given under."""

    def use_model(self, name: str, dimension: int) -> int:
        """Bind the store to an embedding model and return its number; a store with vectors of another one is refused."""

        def use(session: Session) -> int:
            session.execute(_LOCK)
            row = session.row(_CURRENT)
            number = session.value(_NUMBER)
            if row is None:
                session.execute(_ADD, (number, name, dimension, True))
                return number
            model, held, its_dimension = row
            if (held, its_dimension) == (name, dimension):
                return model
            if session.value(_HAS_VECTORS, (model,)):
                raise EmbeddingMismatch(
                    f"{self._database.place} holds vectors of {held} ({its_dimension} numbers), but this memory was opened with"
                    f" {name} ({dimension}); open it with {held} (embedder=…, or the setting of that name), or change the"
                    " model with `rememo reembed` or memory.reembed()"
                )
            # Under a number of its own: a process that still has the other one must not write under this.
            session.execute(_REPLACE, (model, name, dimension))
            session.execute(_ADD, (number, name, dimension, True))
            return number

        row = self._database.row(_FIND, (name, dimension))
        return row[0] if row is not None and row[1] else self._database.write(use, repeatable=True)

    def model(self) -> ModelInUse | None:
        """Return the store's embedding model, or None when it has none yet."""
        row = self._database.row(_CURRENT)
        return None if row is None else ModelInUse(row[1], row[2], row[0])

    def unvectored(self, tenant: str) -> Iterator[Unvectored]:
        """Give the versions of a tenant that have no vector by the model in use, in order of arrival."""
        codec = self._codecs.readable(tenant)
        if codec is None:
            return
        with self._database.snapshot() as session:
            row = session.row(_CURRENT)
            if row is None:
                return
            owed = {(id, int(version)) for id, version in session.rows(_OWED, (tenant,)) if version is not None}
            for id, version, text, packed in session.stream(_WITHOUT, (tenant, tenant, row[0]), _STEP):
                yield Unvectored(id, version, codec.decode_text(text, packed, id, version), (id, version) in owed)

    def begin_model(self, name: str, dimension: int) -> int:
        """Return the number of a model to be built beside the one in use; one that was begun before goes on."""

        def begin(session: Session) -> int:
            session.execute(_LOCK)
            row = session.row(_FIND, (name, dimension))
            if row is not None:
                return row[0]
            number = session.value(_NUMBER)
            # Another one that was begun and given up makes room.
            for (other,) in session.rows(_OTHERS):
                for sql in _DROP:
                    session.execute(sql, (other,))
            session.execute(_ADD, (number, name, dimension, False))
            return number

        number = self._database.write(begin, repeatable=True)
        self._begun[number] = (name, dimension)
        return number

    def _need_begun(self, session: Session, model: int) -> None:
        """Refuse to go on with a model that another process has thrown away to build its own."""
        row = session.row(_BEGUN, (model,))
        if row is None or tuple(row) != self._begun.get(model):
            raise ModelChanged(
                f"another process changes the embedding model of {self._database.place} too and has thrown away what was"
                " begun here; run it again when that one is done"
            )

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
        readable = {tenant: self._codecs.readable(tenant) for tenant in {tenant for tenant, _ in found}}
        versions: list[Unembedded] = []
        self._handed = {}
        for tenant, (number, id, version, text, packed) in found:
            # Numbers belong to a tenant; these are numbers among those that are given out together.
            self._handed[len(versions)] = (tenant, number)
            codec = readable[tenant]
            # A text that nobody can read any more has none.
            said = "" if codec is None else codec.decode_text(text, packed, id, version)
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
        tenants = sorted(tenant for tenant in made if not self._codecs.is_unreadable(tenant))

        def put(session: Session) -> None:
            self._need_begun(session, model)
            for tenant in tenants:
                codec = self._codecs.locked(session, tenant)
                sql = PUT_VECTOR.format(column=column(codec))
                for number, vector in made[tenant].items():
                    session.execute(sql, (tenant, model, number, to_wire(vector, model, number, codec)))
            for tenant, number in sorted(done.items()):
                session.execute(_DONE, (tenant, model, number))

        self._codecs.write(self._database, put, *tenants, repeatable=True)

    def swap_model(self, model: int) -> bool:
        """Put a model into use if every version has its vector by it; False when some came in meanwhile."""

        def swap(session: Session) -> bool:
            session.execute(_HOLD_WRITERS)
            session.execute(_LOCK)
            self._need_begun(session, model)
            if any(session.value(_COUNT, (tenant, done)) for tenant, done, _ in session.rows(_LEFT, (model,))):
                return False
            session.execute(_SWAP, (model,))
            session.execute(_TURN)
            return True

        return self._database.write(swap, repeatable=True)

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


def need_model(session: Session, model: int, place: str) -> None:
    """Refuse vectors of a model that is not in use; raises `ModelChanged`."""
    if model_in_use(session) != model:
        raise ModelChanged(f"{place} has another embedding model in use by now; these vectors were not stored")


def model_in_use(session: Session) -> int | None:
    """Return the number of the model whose vectors are searched."""
    row = session.row(_CURRENT)
    return None if row is None else row[0]
