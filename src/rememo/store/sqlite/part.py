"""What every part of the SQLite store works with."""

from rememo.store.protocol import Analysis
from rememo.store.scopes import ScopeCache
from rememo.store.sqlite.database import Database
from rememo.store.sqlite.safe import Safe
from rememo.store.sqlite.scopes import FileViews


class Part:
    """The file, how its contents are kept, and the analyser; shared by the store's parts."""

    def __init__(self, database: Database, *, safe: Safe, analysis: Analysis, cache_bytes: int) -> None:
        self._database = database
        self._safe = safe
        self._analysis = analysis
        self._analyze = analysis.terms
        self._begun: dict[int, tuple[str, int]] = {}
        """The models that this process has begun to build: names and dimensions by number."""
        self._scopes = ScopeCache(FileViews(database, safe.contents), cache_bytes)
