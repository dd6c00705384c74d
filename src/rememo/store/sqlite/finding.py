"""What recall asks of the file: a scope's timeline, where words stand, which vectors are near."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rememo.errors import EmbeddingMismatch
from rememo.model.check import dump_json
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.protocol import Nearest, Timeline, WordMatch
from rememo.store.sqlite.part import Part
from rememo.store.sqlite.queries import COLUMNS, selects, union
from rememo.store.sqlite.reading import to_record
from rememo.store.sqlite.scopes import COLUMNS as TIMELINE_COLUMNS
from rememo.store.sqlite.scopes import Columns, add_rows
from rememo.store.sqlite.words import match

_SPARE = 50  # how many more than asked for are scored exactly, since rounding may have changed their order


class Finder(Part):
    """The `Finding` half of the store."""

    def timeline(self, filter: Filter, moment: datetime) -> Timeline:
        """Return every record of a filter's scope, as it is or as it was known."""
        if filter.known_at is None and filter.valid_at is None:
            return self._scopes.get(filter.scope, moment).timeline
        return self._elsewhen(filter, moment)[0]

    def _elsewhen(self, filter: Filter, moment: datetime) -> tuple[Timeline, Columns]:
        """Read what another time is asked for by; only the present is held ready."""
        wanted = Filter(scope=filter.scope, known_at=filter.known_at)
        sql, values = union(selects(wanted, moment, TIMELINE_COLUMNS))
        if filter.valid_at is None:
            sql = f"SELECT * FROM ({sql}) WHERE ends IS NULL OR ends > ?"
            values.append(to_micros(filter.known_at or moment))
        with self._database.snapshot() as connection:
            columns = Columns(connection.execute("SELECT dimension FROM models WHERE current").get or 0)
            add_rows(connection, columns, connection.execute(sql, values).fetchall())
        return columns.timeline(), columns

    def eligible(self, filter: Filter, timeline: Timeline, moment: datetime) -> NDArray[np.bool_] | None:
        """Return which entries of its scope's timeline a filter means; None when all are meant."""
        if filter.selects_everything:
            return None
        if filter.conditions or filter.ids is not None or filter.valid_at or filter.pinned is not None:
            sql, values = union(selects(filter, moment, "number"))
            numbers = [row[0] for row in self._database.rows(sql, values)]
            return np.isin(timeline.numbers, np.array(numbers, np.int64))
        meant = np.ones(len(timeline.numbers), np.bool_)
        if filter.kinds:
            wanted = [place for place, name in enumerate(timeline.kind_names) if name in filter.kinds]
            meant &= np.isin(timeline.kinds, wanted)
        # Times are held in milliseconds; where the borders lie within one, the file must tell.
        for border, before in ((filter.after, False), (filter.before, True)):
            if border is not None:
                micros = to_micros(border)
                inside = timeline.times < micros // 1000 if before else timeline.times > micros // 1000
                meant &= inside | (
                    (timeline.times == micros // 1000) & self._at_border(filter, timeline, moment, micros)
                )
        return meant

    def _at_border(self, filter: Filter, timeline: Timeline, moment: datetime, micros: int) -> NDArray[np.bool_]:
        near = timeline.times == micros // 1000
        if not near.any():
            return near
        sql, values = union(selects(filter, moment, "number"))
        numbers = [row[0] for row in self._database.rows(sql, values)]
        return near & np.isin(timeline.numbers, np.array(numbers, np.int64))

    def words(self, filter: Filter, terms: Sequence[str], *, held: int) -> list[WordMatch]:
        """Return where each term stands, at least within the filter's scope."""
        with self._database.snapshot() as connection:
            return match(connection, filter.scope, terms, past=filter.known_at is not None, held=held)

    def nearest(
        self, filter: Filter, vector: NDArray[np.float32], limit: int, moment: datetime, *, exact: bool = False
    ) -> Nearest:
        """Return the nearest records that a filter means."""
        if filter.known_at is None and filter.valid_at is None:
            held = self._scopes.get(filter.scope, moment)
            timeline, vectors = held.timeline, held.vectors
        else:
            timeline, columns = self._elsewhen(filter, moment)
            vectors = columns.vectors()
        if self._database.value("SELECT model FROM models WHERE current") != self._model:
            # Another process has changed the model since this one was opened.
            raise EmbeddingMismatch(
                f"{self._database.path} has vectors of another model by now; open the memory again with its embedder"
            )
        products, unit = vectors.products(vector)
        eligible = self.eligible(filter, timeline, moment)
        if eligible is None and vectors.complete:
            places, near, known = None, products, products
        else:
            places = np.flatnonzero(vectors.embedded if eligible is None else vectors.embedded & eligible)
            near, known = products[places], products[vectors.embedded]
        wanted = limit + _SPARE if exact else limit
        best = np.arange(len(near))
        if wanted < len(near):
            best = np.argpartition(near, len(near) - wanted)[len(near) - wanted :]
        numbers = timeline.numbers[best if places is None else places[best]]
        scores = (near[best] * unit).astype(np.float32)
        if exact:
            scores = self._exact(numbers, vector)
        best = np.lexsort((numbers, -scores))[:limit]
        return Nearest(
            numbers=numbers[best],
            scores=scores[best],
            mean=float(known.mean()) * unit if len(known) else 0.0,
            deviation=float(known.std()) * unit if len(known) else 0.0,
        )

    def _exact(self, numbers: NDArray[np.int64], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = np.zeros(len(numbers), np.float32)
        with self._database.snapshot() as connection:
            model = connection.execute("SELECT model FROM models WHERE current").get or 0
            for place, number in enumerate(numbers.tolist()):
                blob = connection.execute("SELECT vector FROM vectors WHERE place = ?", (model << 40 | number,)).get
                scores[place] = 0 if blob is None else np.dot(np.frombuffer(blob, np.float32), vector)
        return scores

    def fetch(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Record]:
        """Return versions by their numbers."""
        # The plus keeps SQLite from going through the whole tenant instead of the few numbers.
        rows = self._database.rows(
            f"SELECT {COLUMNS}, number FROM records WHERE number IN (SELECT value FROM json_each(?)) AND +tenant = ?",
            (dump_json(list(numbers)), scope.tenant),
        )
        return {row[-1]: to_record(row[:-1], scope.tenant) for row in rows}
