"""What recall asks of the server: a scope's timeline, where words stand, which vectors are near."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rememo.model.filters import Filter
from rememo.model.record import FOUND, Record
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.finding import ViewFinder
from rememo.store.postgres.meaning import read_rows
from rememo.store.postgres.part import Part
from rememo.store.postgres.queries import COLUMNS, select
from rememo.store.postgres.reading import to_record
from rememo.store.postgres.scopes import COLUMNS as TIMELINE_COLUMNS
from rememo.store.postgres.scopes import add_rows, current_model
from rememo.store.postgres.vectors import column, from_wire
from rememo.store.postgres.words import match
from rememo.store.protocol import WordMatch
from rememo.store.scopes import Columns

_EXACT = """SELECT number, {column}, model FROM vectors
WHERE tenant = %s AND model = (SELECT model FROM models WHERE current) AND number = ANY(%s::bigint[])"""
# In the tenant's own partition, the statement is planned once and not for each set of values.
_FETCH = f"SELECT {COLUMNS}, number FROM records_{{part}} WHERE tenant = %s AND number = ANY(%s::bigint[])"


class Finder(ViewFinder, Part):
    """The `Finding` half of the store."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._database.place

    def _elsewhen(self, filter: Filter, moment: datetime) -> tuple[int, Columns]:
        """Read what another time is asked for by, with the model in use; only the present is held ready."""
        wanted = Filter(scope=filter.scope, known_at=filter.known_at, kinds=FOUND)
        sql, values = select(wanted, moment, TIMELINE_COLUMNS)
        if filter.valid_at is None:
            sql = f"SELECT * FROM ({sql}) AS known WHERE ends IS NULL OR ends > %s"
            values.append(to_micros(filter.known_at or moment))
        model, dimension = current_model(self._database)
        columns = Columns(dimension)
        tenant = filter.scope.tenant
        contents = self._safe.contents(tenant)
        add_rows(self._database, tenant, model, columns, self._database.rows(sql, values), contents=contents)
        return model, columns

    def _numbers(self, filter: Filter, moment: datetime) -> Sequence[int]:
        """Return the numbers of what a filter means."""
        rows = read_rows(
            self._database,
            filter,
            moment,
            lambda meant, numbers: select(meant, moment, "number", numbers),
            self._safe,
        )
        return [row[0] for row in rows]

    def words(self, filter: Filter, terms: Sequence[str], *, held: int) -> list[WordMatch]:
        """Return where each term stands, at least within the filter's scope."""
        newest = self._views.newest.get(filter.scope.tenant, 0)
        past = filter.known_at is not None
        return match(self._database, filter.scope, terms, past=past, held=held, newest=newest, safe=self._safe)

    def _exact(self, tenant: str, /, numbers: NDArray[np.int64], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        contents = self._safe.contents(tenant)
        found = self._database.rows(_EXACT.format(column=column(contents)), (tenant, numbers.tolist()))
        scores = np.zeros(len(numbers), np.float32)
        if found:
            blobs = from_wire(found[0][2], [row[:2] for row in found], contents)
            floats = np.frombuffer(b"".join(blobs.values()), np.float32).reshape(len(blobs), -1)
            known = dict(zip(blobs, floats @ vector, strict=True))
            scores[:] = [known.get(number, 0) for number in numbers.tolist()]
        return scores

    def fetch(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Record]:
        """Return versions by their numbers."""
        contents = self._safe.contents(scope.tenant)
        sql = _FETCH.format(part=self._database.partition(scope.tenant))
        rows = self._database.rows(sql, (scope.tenant, list(numbers)))
        return {row[-1]: to_record(row[:-1], scope.tenant, contents) for row in rows}
