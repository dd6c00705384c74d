"""What every part of the PostgreSQL store works with."""

from rememo.store.postgres.database import Database
from rememo.store.postgres.nearness import NearIndex
from rememo.store.postgres.safe import ServerSafe
from rememo.store.postgres.scopes import ServerViews
from rememo.store.protocol import Analysis
from rememo.store.scopes import ScopeCache


class Part:
    """The connections, how contents are kept, and the analyser; shared by the store's parts."""

    def __init__(
        self, database: Database, *, safe: ServerSafe, analysis: Analysis, cache_bytes: int, index_above: int = 0
    ) -> None:
        self._database = database
        self._safe = safe
        self._analysis = analysis
        self._analyze = analysis.terms
        self._index = NearIndex(database, index_above)
        self._views = ServerViews(database, safe.contents, self._index)
        self._scopes = ScopeCache(self._views, cache_bytes)
        self._begun: dict[int, tuple[str, int]] = {}
        """The models that this process has begun to build: names and dimensions by number."""
