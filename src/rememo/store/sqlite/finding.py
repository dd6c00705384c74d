"""What recall asks of the file: a scope's timeline, where words stand, which vectors are near."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.protocol import Nearest, Timeline, WordMatch
from rememo.store.sqlite.part import Part
from rememo.store.sqlite.queries import COLUMNS, selects, union
from rememo.store.sqlite.reading import to_record
from rememo.store.sqlite.words import match

_TIMELINE = "number, room, at, speaker, kind, length, importance, trust, fingerprint"


class Finder(Part):
    """The `Finding` half of the store."""

    def timeline(self, filter: Filter, moment: datetime) -> Timeline:
        """Return every record that a filter means, sorted by number."""
        sql, values = union(selects(filter, moment, _TIMELINE))
        rows = sorted(self._database.rows(sql, values))
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * 9
        numbers, rooms, times, speakers, kinds, lengths, importance, trust, fingerprints = columns
        speaker_numbers, speaker_names = _numbered(speakers)
        kind_numbers, kind_names = _numbered(kinds)
        return Timeline(
            numbers=np.array(numbers, np.int64),
            rooms=np.array(_numbered(rooms)[0], np.int32),
            times=np.array(times, np.int64),
            speakers=np.array(speaker_numbers, np.int32),
            kinds=np.array(kind_numbers, np.int8),
            lengths=np.array(lengths, np.int32),
            importance=np.array([0.5 if one is None else one for one in importance], np.float32),
            trust=np.array(trust, np.float32),
            fingerprints=np.array(fingerprints, np.int64),
            speaker_names=speaker_names,
            kind_names=kind_names,
        )

    def words(self, filter: Filter, terms: Sequence[str]) -> list[WordMatch]:
        """Return where each term stands within the filter's scope."""
        with self._database.snapshot() as connection:
            return match(connection, filter.scope, terms, past=filter.known_at is not None)

    def nearest(self, filter: Filter, vector: NDArray[np.float32], limit: int, moment: datetime) -> Nearest:
        """Return the nearest records that a filter means, exactly."""
        inner, values = union(selects(filter, moment, "number"))
        rows = self._database.rows(
            f"SELECT number, vector FROM ({inner})"
            " JOIN vectors ON place = (SELECT model FROM models WHERE current) << 40 | number ORDER BY number",
            values,
        )
        if not rows:
            return Nearest(np.zeros(0, np.int64), np.zeros(0, np.float32))
        numbers = np.array([row[0] for row in rows], np.int64)
        matrix = np.frombuffer(b"".join(row[1] for row in rows), np.float32).reshape(len(rows), -1)
        scores = np.vecdot(matrix, vector)
        best = np.lexsort((numbers, -scores))[:limit]
        return Nearest(numbers[best], scores[best])

    def fetch(self, scope: Scope, numbers: Sequence[int]) -> dict[int, Record]:
        """Return versions by their numbers."""
        found: dict[int, Record] = {}
        with self._database.snapshot() as connection:
            for number in numbers:
                row: Any = connection.execute(
                    f"SELECT {COLUMNS} FROM records WHERE number = ? AND tenant = ?", (number, scope.tenant)
                ).get
                if row is not None:
                    found[number] = to_record(row, scope.tenant)
        return found


def _numbered(values: Sequence[str | None]) -> tuple[list[int], tuple[str, ...]]:
    """Return each name's place in the table of names, -1 for None."""
    places: dict[str | None, int] = {None: -1}
    numbers = [places.setdefault(value, len(places) - 1) for value in values]
    return numbers, tuple(name for name in places if name is not None)
