"""What every part of the SQLite store works with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rememo.store.protocol import Analyze
from rememo.store.sqlite.database import Database
from rememo.store.sqlite.scopes import ScopeCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What a store must be able to make of a text by itself, when it moves or loads versions."""

    terms: Analyze
    fingerprint: Callable[[Sequence[str]], int]
    asks: Callable[[str], bool]


class Part:
    """The file, the analyser, and the embedding model in use; the store is made of parts that share them."""

    def __init__(self, database: Database, *, analysis: Analysis, cache_bytes: int) -> None:
        self._database = database
        self._analysis = analysis
        self._analyze = analysis.terms
        self._scopes = ScopeCache(database, cache_bytes)
        self._model: int | None = None
