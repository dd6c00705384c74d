"""Vectors of large scopes: asked for on the server by an index of the tenant's partition, instead of held here.

An index over everybody's vectors finds few of a small scope's: what it comes upon first are others'. So it is asked only
for scopes that are much of their partition, and goes on until it has found enough of them; all other scopes are compared
whole. What it finds is scored exactly.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rememo.model.scope import Scope
from rememo.store.filter_sql import SEARCHED
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import within
from rememo.store.postgres.table_names import table_name
from rememo.store.postgres.types import VectorBytes, to_floats

_VALID = """SELECT 1 FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
WHERE relname = %s AND relnamespace = %s::regnamespace AND indisvalid"""
_SEVERAL = (
    "SELECT count(*) FROM (SELECT 1 FROM records_{part} WHERE {inside} AND superseded_at IS NULL LIMIT %s) AS counted"
)
# Each that the index gives is looked at by itself: a join would be planned the other way round.
_NEAREST = """SELECT number FROM vectors_{part} AS near WHERE {routed}tenant || '' = %s AND model = {model}
  AND {pgvector}.vector_dims(vector) = {dimension} AND (SELECT true FROM records_{part} AS records WHERE {inside} AND number = near.number AND superseded_at IS NULL
    AND quarantine IS NULL AND {searched} OFFSET 0)
ORDER BY vector::{pgvector}.halfvec({dimension}) OPERATOR({pgvector}.<#>) %s::{pgvector}.halfvec({dimension}) LIMIT %s"""
# On a cluster, what tells the tenant's node, and lets that node know what the transaction was told.
_ROUTED = "tenant = %s AND "
_PROPAGATE = "SET LOCAL citus.propagate_set_commands = 'local'"
_AMONG = """SELECT number FROM vectors_{part} WHERE tenant = %s AND model = {model} AND number = ANY(%s::bigint[])
ORDER BY vector OPERATOR({pgvector}.<#>) %s LIMIT %s"""
_SOME = "SELECT vector FROM vectors_{part} WHERE tenant = %s AND model = %s AND number = ANY(%s::bigint[])"
_BY_INDEX = (
    "SET LOCAL enable_seqscan = off", "SET LOCAL enable_sort = off", "SET LOCAL hnsw.iterative_scan = strict_order",
    "SET LOCAL hnsw.ef_search = 400", "SET LOCAL hnsw.max_scan_tuples = 200000",
)  # fmt: skip
_DIMENSION = "SELECT dimension FROM models WHERE model = %s"
_MODEL = "SELECT model, dimension FROM models WHERE current"
_LARGE = """SELECT 1 FROM (SELECT count(*) AS held FROM vectors_{part} WHERE tenant IS NOT NULL AND model = %s GROUP BY tenant) AS tenants
WHERE held > %s LIMIT 1"""
# Of 100,000 sentences this finds .992 of the best 20 with ef_search = 400; pgvector's own m = 16 found .980, and .969 with 200.
# Only vectors of its length: a model's number may come to stand for another one before it has any.
_BUILD = """CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table}
USING hnsw ((vector::{pgvector}.halfvec({dimension})) {pgvector}.halfvec_ip_ops) WITH (m = 24, ef_construction = 128)
WHERE model = {model} AND {pgvector}.vector_dims(vector) = {dimension}"""
_PARTS: Final = 16
_MOST_DIMENSIONS: Final = 4_000
_SAMPLE: Final = 2_000
_LOOK_AGAIN: Final = 60.0
_GROWN: Final = 1.25
_MOST_KEPT: Final = 1_000


class Background:
    """How near vectors of a scope are to any other, as a sample tells."""

    def __init__(self, vectors: NDArray[np.float32], count: int) -> None:
        self.count = count
        self._mean = vectors.mean(axis=0) if len(vectors) else np.zeros(0, np.float32)
        centred = vectors - self._mean if len(vectors) else vectors
        self._spread = centred.T @ centred / max(1, len(vectors))

    def of(self, vector: NDArray[np.float32]) -> tuple[float, float]:
        """Return the mean and the deviation of a vector's cosines."""
        if not len(self._mean):
            return 0.0, 0.0
        return float(vector @ self._mean), float(np.sqrt(max(0.0, vector @ self._spread @ vector)))


class VectorIndex:
    """The indexes of one store, one for each partition that has a large tenant."""

    def __init__(self, database: PostgresDatabase, above: int) -> None:
        self._database = database
        self._above = above
        self._seen: dict[str, tuple[bool, float]] = {}
        self._backgrounds: dict[tuple[Scope, int], Background] = {}

    def serves(self, scope: Scope, model: int) -> bool:
        """Whether a scope is asked for by an index."""
        if not self._above or not model or not self._database.has_pgvector:
            return False
        part = self._database.partition(scope.tenant)
        dimension = self._database.value(_DIMENSION, (model,))
        if dimension is None or not self._there(_name(part, model, dimension)):
            return False
        inside, values = within(scope)
        sql = _SEVERAL.format(part=part, inside=inside)
        return self._database.value(sql, [*values, self._above + 1]) > self._above

    def _there(self, name: str) -> bool:
        known, at = self._seen.get(name, (False, float("-inf")))
        if known or time.monotonic() - at < _LOOK_AGAIN:
            return known
        there = self._database.value(_VALID, (name, self._database.schema)) is not None
        self._seen[name] = there, time.monotonic()
        return there

    def nearest(self, scope: Scope, model: int, vector: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
        """Return the numbers of current versions of a scope that are nearest, best first, or nearly so."""
        (inside, values), distributed = within(scope), self._database.distributed
        sql = _NEAREST.format(
            part=self._database.partition(scope.tenant), model=int(model), inside=inside, dimension=len(vector),
            searched=SEARCHED, pgvector=self._database.pgvector_schema, routed=_ROUTED if distributed else "",
        )  # fmt: skip
        tenant = [scope.tenant] * (2 if distributed else 1)
        with self._database.snapshot() as session:
            for setting in (_PROPAGATE, *_BY_INDEX) if distributed else _BY_INDEX:
                session.execute(setting)
            rows = session.rows(sql, [*tenant, *values, VectorBytes(vector), limit])
        return np.array([number for (number,) in rows], np.int64)

    def among(
        self, tenant: str, model: int, numbers: NDArray[np.int64], vector: NDArray[np.float32], limit: int
    ) -> NDArray[np.int64]:
        """Return the nearest of some versions, best first."""
        sql = _AMONG.format(
            part=self._database.partition(tenant), model=int(model), pgvector=self._database.pgvector_schema
        )
        rows = self._database.rows(sql, (tenant, numbers.tolist(), VectorBytes(vector), limit))
        return np.array([number for (number,) in rows], np.int64)

    def background(self, scope: Scope, model: int, numbers: NDArray[np.int64]) -> Background:
        """Return how near the vectors of a scope are to any other; `numbers` are those of its versions."""
        held = self._backgrounds.get((scope, model))
        if held is not None and held.count / _GROWN <= len(numbers) <= held.count * _GROWN:
            return held
        some = numbers[:: max(1, len(numbers) // _SAMPLE)].tolist()
        sql = _SOME.format(part=self._database.partition(scope.tenant))
        rows: list[Any] = self._database.rows(sql, (scope.tenant, model, some))
        made = Background(to_floats([row[0] for row in rows]) if rows else np.zeros((0, 0), np.float32), len(numbers))
        if len(self._backgrounds) >= _MOST_KEPT:
            self._backgrounds.clear()
        self._backgrounds[scope, model] = made
        return made

    def build(self) -> Sequence[str]:
        """Make an index for each partition with a tenant of very many vectors, while others go on; returns their names."""
        row = self._database.row(_MODEL)
        if row is None or not self._above or not self._database.has_pgvector or row[1] > _MOST_DIMENSIONS:
            return ()
        model, dimension = row
        schema, made = self._database.schema, list[str]()
        for place in range(_PARTS):
            part = f"{place:02}"
            if self._database.value(_LARGE.format(part=part), (model, self._above)) is None:
                continue
            name = _name(part, model, dimension)
            build = _BUILD.format(
                name=name, table=table_name(schema, f"vectors_{part}"), model=model, dimension=dimension,
                pgvector=self._database.pgvector_schema,
            )  # fmt: skip
            with self._database.line() as connection:
                if not self._database.pooled:
                    connection.execute("SET statement_timeout = 0")
                if connection.execute(_VALID, (name, schema)).fetchone() is None:
                    # One that was not finished is in the way.
                    connection.execute(f"DROP INDEX IF EXISTS {table_name(schema, name)}".encode())
                    connection.execute(build.encode())
            self._seen.pop(name, None)
            made.append(name)
        return made


def _name(part: str, model: int, dimension: int) -> str:
    return f"vectors_{part}_near_{int(model)}_{int(dimension)}"
