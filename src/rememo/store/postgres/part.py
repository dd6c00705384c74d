"""What every part of the PostgreSQL store works with."""

from rememo.store.drafts import Analysis
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.scope_cache import PostgresScopes
from rememo.store.postgres.vector_index import VectorIndex
from rememo.store.scope_cache import ScopeCache


class PostgresPart:
    """The connections, how contents are kept, and the analyser; shared by the store's parts."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        codecs: PostgresCodecs,
        analysis: Analysis,
        cache_bytes: int,
        index_above: int = 0,
    ) -> None:
        self._database = database
        self._codecs = codecs
        self._analysis = analysis
        self._analyze = analysis.terms
        self._index = VectorIndex(database, index_above)
        self._views = PostgresScopes(database, codecs.get, self._index)
        self._scopes = ScopeCache(self._views, cache_bytes)
        self._begun: dict[int, tuple[str, int]] = {}
        """The models that this process has begun to build: names and dimensions by number."""
