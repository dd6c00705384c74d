"""What every part of the SQLite store works with."""

from collections.abc import Callable, Sequence

from rememo.store.protocol import Analyze
from rememo.store.sqlite.database import Database


class Part:
    """The file, the analyser, and the embedding model in use; the store is made of parts that share them."""

    def __init__(self, database: Database, *, analyze: Analyze, fingerprint: Callable[[Sequence[str]], int]) -> None:
        self._database = database
        self._analyze = analyze
        self._fingerprint = fingerprint
        self._model: int | None = None
