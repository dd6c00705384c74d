"""Re-encrypting the data of a file."""

from collections.abc import Sequence
from typing import ClassVar

from rememo.model.scope import Scope
from rememo.store.cipher.codec import FieldCodec
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.reencryption import SqlReencryption
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.filter_sql import DIALECT
from rememo.store.sqlite.words import MOST_STAGED, index_line, move, remove, stage, tables
from rememo.store.sqlite.writing import vector_place

_VECTOR = "SELECT vector FROM vectors WHERE place = ?"
_SET_VECTOR = "UPDATE vectors SET vector = ? WHERE place = ?"


class SqliteReencryption(SqlReencryption[SqliteDatabase, SqliteCodecs]):
    """The `Reencryption` protocol on a SQLite file."""

    dialect: ClassVar[SqlDialect] = DIALECT

    def _reencrypt_vectors(
        self, session: Connection, _tenant: str, numbers: Sequence[int], codec: FieldCodec, /
    ) -> None:
        models = [model for (model,) in session.rows("SELECT model FROM models")]
        for place in (vector_place(model, number) for number in numbers for model in models):
            vector = codec.decode_vector(place, session.value(_VECTOR, (place,)))
            if vector is not None:
                session.execute(_SET_VECTOR, (codec.encode_vector(vector, place), place))

    def _index_words(  # noqa: PLR0917 - a version is that much
        self, session: Connection, scope: Scope, number: int, terms: Sequence[str], codec: FieldCodec, current: bool, /
    ) -> None:
        table = tables(scope.tenant)[0 if current else 1]
        remove(session, table, number)
        stage(session, table, number, index_line(scope, terms, codec.blind_index))

    def _end_step(self, session: Connection) -> None:
        if session.value("SELECT count(*) FROM staged") >= MOST_STAGED:
            move(session)
