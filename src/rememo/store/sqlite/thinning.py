"""Thinning of a file."""

from collections.abc import Sequence

from rememo.store.sql.thinning import SqlThinning
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.words import remove, tables
from rememo.store.sqlite.writing import vector_place

_REMOVE_VECTORS = "DELETE FROM vectors WHERE place IN (SELECT value FROM json_each(?))"
_REMOVE_RECORDS = "DELETE FROM records WHERE number IN (SELECT value FROM json_each(?))"


class SqliteThinning(SqlThinning[SqliteDatabase, SqliteCodecs], SqlitePart):
    """The part of the `RecordRetention` protocol that removes old versions of a file."""

    def _lock_for_thinning(self, session: Connection, tenant: str) -> None:
        """Nothing to do: the transaction holds the whole file."""

    def _number_to_keep(self, session: Connection, /) -> int:
        return session.value("SELECT max(number) FROM records") or 0

    def _remove_past(self, session: Connection, tenant: str, numbers: Sequence[int]) -> None:
        past = tables(tenant)[1]
        for number in numbers:
            remove(session, past, number)
        models = [row[0] for row in session.rows("SELECT model FROM models")]
        places = [vector_place(model, number) for model in models for number in numbers]
        session.execute(_REMOVE_VECTORS, (self.dialect.array(places),))
        session.execute(_REMOVE_RECORDS, (self.dialect.array(numbers),))
