"""What every part of the SQLite store works with."""

from rememo.store.drafts import Analysis
from rememo.store.scope_cache import ScopeCache
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.scope_cache import SqliteScopes


class SqlitePart:
    """The file, how its contents are kept, and the analyser; shared by the store's parts."""

    def __init__(self, database: SqliteDatabase, *, codecs: SqliteCodecs, analysis: Analysis, cache_bytes: int) -> None:
        self._database = database
        self._codecs = codecs
        self._analysis = analysis
        self._analyze = analysis.terms
        self._begun: dict[int, tuple[str, int]] = {}
        """The models that this process has begun to build: names and dimensions by number."""
        self._scopes = ScopeCache(SqliteScopes(database, codecs.get), cache_bytes)
