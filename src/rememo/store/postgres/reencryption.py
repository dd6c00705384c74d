"""Re-encrypting the data of a store on a server."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rememo.model.scope import Scope
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import DIALECT
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.tenant_guard import guard_tenants
from rememo.store.postgres.vectors import from_wire, to_wire
from rememo.store.postgres.words import index_terms
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.reencryption import SqlReencryption

_WORDS = "UPDATE words SET terms = %s WHERE tenant = %s AND number = %s"
_VECTORS = "SELECT model, number, sealed FROM vectors WHERE tenant = %s AND number = ANY(%s::bigint[])"
_SET_VECTOR = "UPDATE vectors SET sealed = %s WHERE tenant = %s AND model = %s AND number = %s"


@guard_tenants(store_wide=frozenset(("tenants",)))
class PostgresReencryption(SqlReencryption[PostgresDatabase, PostgresCodecs]):
    """The `Reencryption` protocol on a schema of a PostgreSQL database."""

    dialect: ClassVar[SqlDialect] = DIALECT

    def _reencrypt_vectors(
        self, session: PostgresSession, tenant: str, numbers: Sequence[int], codec: PostgresCodec, /
    ) -> None:
        for model, number, encrypted in session.rows(_VECTORS, (tenant, list(numbers))):
            vector = np.frombuffer(from_wire(model, [(number, encrypted)], codec)[number], np.float32)
            session.execute(_SET_VECTOR, (to_wire(vector, model, number, codec), tenant, model, number))

    def _index_words(
        self,
        session: PostgresSession,
        scope: Scope,
        number: int,
        terms: Sequence[str],
        codec: PostgresCodec,
        _current: bool,
        /,
    ) -> None:
        session.execute(_WORDS, (index_terms(scope, terms, codec.blind_index), scope.tenant, number))
