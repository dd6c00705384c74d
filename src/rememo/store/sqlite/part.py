"""What every part of the SQLite store works with."""

from rememo.store.protocol import Analysis
from rememo.store.scopes import ScopeCache
from rememo.store.sqlite.database import Database
from rememo.store.sqlite.scopes import FileViews


class Part:
    """The file, the analyser, and the embedding model in use; the store is made of parts that share them."""

    def __init__(self, database: Database, *, analysis: Analysis, cache_bytes: int) -> None:
        self._database = database
        self._analysis = analysis
        self._analyze = analysis.terms
        self._scopes = ScopeCache(FileViews(database), cache_bytes)
        self._model: int | None = None
