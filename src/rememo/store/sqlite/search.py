"""What recall asks of the file: a scope's timeline, where words stand, which vectors are near."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rememo.model.check import dump_json
from rememo.model.filters import Filter
from rememo.model.record import FOUND, Record
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.matches import WordMatch
from rememo.store.scope_cache import ScopeColumns
from rememo.store.scope_search import ScopeSearch
from rememo.store.sqlite.filter_sql import RECORD_COLUMNS, selects, union
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.reading import to_record
from rememo.store.sqlite.scope_cache import TIMELINE_COLUMNS, add_rows
from rememo.store.sqlite.words import match
from rememo.store.sqlite.writing import vector_place


class SqliteSearch(ScopeSearch, SqlitePart):
    """The `Finding` half of the store."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._database.path

    def _elsewhen(self, filter: Filter, moment: datetime) -> tuple[int, ScopeColumns]:
        """Read what another time is asked for by, with the model in use; only the present is held ready."""
        wanted = Filter(scope=filter.scope, known_at=filter.known_at, kinds=FOUND)
        sql, values = union(selects(wanted, moment, TIMELINE_COLUMNS))
        if filter.valid_at is None:
            sql = f"SELECT * FROM ({sql}) WHERE ends IS NULL OR ends > ?"
            values.append(to_micros(filter.known_at or moment))
        with self._database.snapshot() as connection:
            model, dimension = connection.execute("SELECT model, dimension FROM models WHERE current").get or (0, 0)
            columns = ScopeColumns(dimension)
            rows = connection.execute(sql, values).fetchall()
            add_rows(connection, columns, rows, self._codecs.get(filter.scope.tenant))
        return model, columns

    def _numbers(self, filter: Filter, moment: datetime) -> Sequence[int]:
        """Return the numbers of what a filter means."""
        self._codecs.get(filter.scope.tenant)
        sql, values = union(selects(filter, moment, "number"))
        return [row[0] for row in self._database.rows(sql, values)]

    def words(self, filter: Filter, terms: Sequence[str], *, held: int) -> list[WordMatch]:
        """Return where each term stands, at least within the filter's scope."""
        with self._database.snapshot() as connection:
            # In the same state: terms are looked up by every key that there is in it.
            blind_indexes = self._codecs.get(filter.scope.tenant).blind_indexes
            return match(
                connection,
                filter.scope,
                terms,
                past=filter.known_at is not None,
                held=held,
                blind_indexes=blind_indexes,
            )

    def _exact(self, tenant: str, /, numbers: NDArray[np.int64], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        scores, codec = np.zeros(len(numbers), np.float32), self._codecs.get(tenant)
        with self._database.snapshot() as connection:
            model = connection.execute("SELECT model FROM models WHERE current").get or 0
            for place, number in enumerate(numbers.tolist()):
                where = vector_place(model, number)
                blob = connection.execute("SELECT vector FROM vectors WHERE place = ?", (where,)).get
                blob = codec.decode_vector(where, blob)
                scores[place] = 0 if blob is None else np.dot(np.frombuffer(blob, np.float32), vector)
        return scores

    def fetch(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Record]:
        """Return versions by their numbers."""
        codec = self._codecs.get(scope.tenant)
        # The plus keeps SQLite from going through the whole tenant instead of the few numbers.
        rows = self._database.rows(
            f"SELECT {RECORD_COLUMNS}, number FROM records WHERE number IN (SELECT value FROM json_each(?)) AND +tenant = ?",
            (dump_json(list(numbers)), scope.tenant),
        )
        return {row[-1]: to_record(row[:-1], scope.tenant, codec) for row in rows}
