"""What every part of the PostgreSQL store works with."""

from typing import ClassVar

from rememo.model.audit import NewAuditEntry
from rememo.store.drafts import Analysis
from rememo.store.postgres.audit_entries import append_audit_entry
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import DIALECT
from rememo.store.postgres.scope_cache import PostgresScopes
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.vector_index import VectorIndex
from rememo.store.scope_cache import ScopeCache
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.part import SqlPart


class PostgresPart(SqlPart[PostgresDatabase, PostgresCodecs]):
    """The connections, the codecs and the analyser; shared by the store's parts."""

    dialect: ClassVar[SqlDialect] = DIALECT

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        codecs: PostgresCodecs,
        analysis: Analysis,
        cache_bytes: int,
        index_above: int = 0,
    ) -> None:
        super().__init__(database, codecs, analysis)
        self._index = VectorIndex(database, index_above)
        self._views = PostgresScopes(database, codecs.get, self._index)
        self._scopes = ScopeCache(self._views, cache_bytes)

    def _append_audit_entry(self, session: PostgresSession, note: NewAuditEntry) -> None:
        append_audit_entry(session, note)
