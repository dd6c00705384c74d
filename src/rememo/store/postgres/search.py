"""What recall asks of the server: a scope's timeline, where words stand, which vectors are near."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rememo.model.filters import Filter
from rememo.model.record import FOUND, Record
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.matches import Nearest, WordMatch
from rememo.store.postgres.encrypted_filters import read_rows
from rememo.store.postgres.filter_sql import RECORD_COLUMNS, select
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.reading import to_record
from rememo.store.postgres.scope_cache import TIMELINE_COLUMNS, add_rows, current_model
from rememo.store.postgres.vectors import column, from_wire
from rememo.store.postgres.words import match
from rememo.store.scope_cache import CachedScope, ScopeColumns
from rememo.store.scope_search import ScopeSearch

_EXACT = """SELECT number, {column}, model FROM vectors
WHERE tenant = %s AND model = (SELECT model FROM models WHERE current) AND number = ANY(%s::bigint[])"""
# In the tenant's own partition, the statement is planned once and not for each set of values.
_FETCH = f"SELECT {RECORD_COLUMNS}, number FROM records_{{part}} WHERE tenant = %s AND number = ANY(%s::bigint[])"

_FEW_OF = 20
"""Of a scope of which no more than one in so many is meant, those are compared one by one."""


class PostgresSearch(ScopeSearch, PostgresPart):
    """The `Finding` half of the store."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._database.place

    def _elsewhen(self, filter: Filter, moment: datetime) -> tuple[int, ScopeColumns]:
        """Read what another time is asked for by, with the model in use; only the present is held ready."""
        wanted = Filter(scope=filter.scope, known_at=filter.known_at, kinds=FOUND)
        sql, values = select(wanted, moment, TIMELINE_COLUMNS)
        if filter.valid_at is None:
            sql = f"SELECT * FROM ({sql}) AS known WHERE ends IS NULL OR ends > %s"
            values.append(to_micros(filter.known_at or moment))
        model, dimension = current_model(self._database)
        columns = ScopeColumns(dimension)
        tenant = filter.scope.tenant
        codec = self._codecs.get(tenant)
        add_rows(self._database, tenant, model, columns, self._database.rows(sql, values), codec=codec)
        return model, columns

    def _numbers(self, filter: Filter, moment: datetime) -> Sequence[int]:
        """Return the numbers of what a filter means."""
        rows = read_rows(
            self._database,
            filter,
            moment,
            lambda meant, numbers: select(meant, moment, "number", numbers),
            self._codecs,
        )
        return [row[0] for row in rows]

    def words(self, filter: Filter, terms: Sequence[str], *, held: int) -> list[WordMatch]:
        """Return where each term stands, at least within the filter's scope."""
        newest = self._views.newest.get(filter.scope.tenant, 0)
        past = filter.known_at is not None
        return match(self._database, filter.scope, terms, past=past, held=held, newest=newest, codecs=self._codecs)

    def _nearest_by_index(
        self, held: CachedScope, filter: Filter, vector: NDArray[np.float32], limit: int, moment: datetime
    ) -> Nearest | None:
        """Return what the server finds by its index, of a scope whose vectors are not held here."""
        if held.columns.dimension:
            return None
        scope, model, timeline = filter.scope, held.stamp.model, held.timeline
        meant = self.eligible(filter, timeline, moment)
        if meant is not None and meant.sum() * _FEW_OF < len(meant):
            numbers = self._index.among(scope.tenant, model, timeline.numbers[meant], vector, limit)
        else:
            numbers = self._search_index(
                scope, model, vector, limit, None if meant is None else timeline.numbers[meant]
            )
        scores = self._exact(scope.tenant, numbers, vector)
        best = np.lexsort((numbers, -scores))[:limit]
        mean, deviation = self._index.background(scope, model, timeline.numbers).of(vector)
        return Nearest(numbers=numbers[best], scores=scores[best], mean=mean, deviation=deviation)

    def _search_index(
        self, scope: Scope, model: int, vector: NDArray[np.float32], limit: int, meant: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Return what the index finds of those that are meant; when they are too few, more is asked for."""
        wanted = limit if meant is None else limit * 2
        while True:
            numbers = self._index.nearest(scope, model, vector, wanted)
            kept = numbers if meant is None else numbers[np.isin(numbers, meant)]
            if len(kept) >= limit or len(numbers) < wanted:
                return kept
            wanted *= 4

    def _exact(self, tenant: str, /, numbers: NDArray[np.int64], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        codec = self._codecs.get(tenant)
        rows = self._database.rows(_EXACT.format(column=column(codec)), (tenant, numbers.tolist()))
        scores = np.zeros(len(numbers), np.float32)
        if rows:
            blobs = from_wire(rows[0][2], [row[:2] for row in rows], codec)
            floats = np.frombuffer(b"".join(blobs.values()), np.float32).reshape(len(blobs), -1)
            known = dict(zip(blobs, floats @ vector, strict=True))
            scores[:] = [known.get(number, 0) for number in numbers.tolist()]
        return scores

    def fetch(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Record]:
        """Return versions by their numbers."""
        codec = self._codecs.get(scope.tenant)
        sql = _FETCH.format(part=self._database.partition(scope.tenant))
        rows = self._database.rows(sql, (scope.tenant, list(numbers)))
        return {row[-1]: to_record(row[:-1], scope.tenant, codec) for row in rows}
