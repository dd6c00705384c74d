"""What every part of the SQLite store works with."""

from typing import ClassVar

from rememo.model.audit import NewAuditEntry
from rememo.store.drafts import Analysis
from rememo.store.scope_cache import ScopeCache
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.part import SqlPart
from rememo.store.sqlite.audit_entries import append_audit_entry
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.filter_sql import DIALECT
from rememo.store.sqlite.scope_cache import SqliteScopes


class SqlitePart(SqlPart[SqliteDatabase, SqliteCodecs]):
    """The file, its codecs and the analyser; shared by the store's parts."""

    dialect: ClassVar[SqlDialect] = DIALECT

    def __init__(self, database: SqliteDatabase, *, codecs: SqliteCodecs, analysis: Analysis, cache_bytes: int) -> None:
        super().__init__(database, codecs, analysis)
        self._scopes = ScopeCache(SqliteScopes(database, codecs.get), cache_bytes)

    def _append_audit_entry(self, session: Connection, note: NewAuditEntry) -> None:
        append_audit_entry(session, note)
