"""Embedding models of a store on a server."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.store.embedding_models import Unembedded
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.vectors import PUT_VECTOR, column, to_wire
from rememo.store.sql.models import SqlModels

# Those who change models do so one after another.
_LOCK = "LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE"
# Writers take their tenant's row: this waits for those who write, and keeps others from beginning.
_LOCK_WRITERS = "LOCK TABLE tenants IN EXCLUSIVE MODE"
_HAS_VECTORS = "SELECT EXISTS (SELECT 1 FROM vectors WHERE model = %s)"
_DROP = tuple(f"DELETE FROM {table} WHERE model = %s" for table in ("vectors", "progress", "models"))
_LEFT = """SELECT tenants.tenant, coalesce(progress.done, 0), tenants.number FROM tenants
LEFT JOIN progress ON progress.tenant = tenants.tenant AND progress.model = %s
WHERE tenants.number > coalesce(progress.done, 0) ORDER BY tenants.tenant"""
_COUNT = "SELECT count(*) FROM records WHERE tenant = %s AND number > %s"
_NEXT = (
    "SELECT number, id, version, text, packed FROM records WHERE tenant = %s AND number > %s ORDER BY number LIMIT %s"
)
_DONE = """INSERT INTO progress AS held (tenant, model, done) VALUES (%s, %s, %s)
ON CONFLICT (tenant, model) DO UPDATE SET done = greatest(held.done, excluded.done)"""
_OLD = """DELETE FROM vectors WHERE (tenant, model, number) IN
(SELECT tenant, model, number FROM vectors WHERE model <> %s LIMIT %s)"""
_WITHOUT = """SELECT id, version, text, packed FROM records WHERE tenant = %s AND NOT EXISTS (SELECT 1 FROM vectors
  WHERE vectors.tenant = %s AND vectors.model = %s AND vectors.number = records.number) ORDER BY number"""


class PostgresModels(SqlModels[PostgresDatabase, PostgresCodecs], PostgresPart):
    """The `EmbeddingModels` protocol on the server."""

    _handed: dict[int, tuple[str, int]]
    """Versions that were given out to be embedded: their tenants and numbers by the number they were given under."""

    def unembedded(self, model: int, limit: int) -> tuple[int, list[Unembedded]]:
        """Return how many versions still have no vector by a model, and the first of them."""
        left, versions_left = 0, list[tuple[str, Any]]()
        with self._database.snapshot() as session:
            for tenant, done, _ in session.rows(_LEFT, (model,)):
                left += session.value(_COUNT, (tenant, done))
                if len(versions_left) < limit:
                    versions_left += [
                        (tenant, row) for row in session.rows(_NEXT, (tenant, done, limit - len(versions_left)))
                    ]
        readable = {tenant: self._codecs.readable(tenant) for tenant in {tenant for tenant, _ in versions_left}}
        versions: list[Unembedded] = []
        self._handed = {}
        for tenant, (number, id, version, text, packed) in versions_left:
            # Numbers belong to a tenant; these are numbers among those that are given out together.
            self._handed[len(versions)] = (tenant, number)
            codec = readable[tenant]
            # A text that nobody can read any more has none.
            plaintext = "" if codec is None else codec.decode_text(text, packed, id, version)
            versions.append(Unembedded(len(versions), tenant, id, version, plaintext))
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

        def put(session: PostgresSession) -> None:
            self._need_begun(session, model)
            for tenant in tenants:
                codec = self._codecs.locked(session, tenant)
                sql = PUT_VECTOR.format(column=column(codec))
                for number, vector in made[tenant].items():
                    session.execute(sql, (tenant, model, number, to_wire(vector, model, number, codec)))
            for tenant, number in sorted(done.items()):
                session.execute(_DONE, (tenant, model, number))

        self._codecs.write(self._database, put, *tenants, repeatable=True)

    def _lock_models(self, session: PostgresSession) -> None:
        session.execute(_LOCK)

    def _lock_writers(self, session: PostgresSession) -> None:
        session.execute(_LOCK_WRITERS)

    def _has_vectors_of(self, session: PostgresSession, model: int) -> bool:
        return bool(session.value(_HAS_VECTORS, (model,)))

    def _drop_model(self, session: PostgresSession, model: int) -> None:
        for sql in _DROP:
            session.execute(sql, (model,))

    def _is_complete(self, session: PostgresSession, model: int) -> bool:
        return not any(session.value(_COUNT, (tenant, done)) for tenant, done, _ in session.rows(_LEFT, (model,)))

    def _bump_every_epoch(self, session: PostgresSession) -> None:
        session.execute("UPDATE tenants SET epoch = epoch + 1")

    def _drop_vectors(self, session: PostgresSession, current: int, limit: int) -> int:
        return session.changed(_OLD, (current, limit))

    def _forget_models(self, session: PostgresSession) -> None:
        session.execute("DELETE FROM models WHERE NOT current")
        session.execute("DELETE FROM progress")

    def _without_vector(self, tenant: str, model: int) -> tuple[str, list[Any]]:
        return _WITHOUT, [tenant, tenant, model]
