"""What every part of the PostgreSQL store works with."""

from rememo.store.postgres.database import Database
from rememo.store.postgres.scopes import ServerViews
from rememo.store.protocol import Analysis
from rememo.store.scopes import ScopeCache


class Part:
    """The connections, the analyser, and the embedding model in use; the store is made of parts that share them."""

    def __init__(self, database: Database, *, analysis: Analysis, cache_bytes: int) -> None:
        self._database = database
        self._analysis = analysis
        self._analyze = analysis.terms
        self._views = ServerViews(database)
        self._scopes = ScopeCache(self._views, cache_bytes)
        self._model: int | None = None
