"""What every part of an SQL store works with."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from rememo.model.audit import NewAuditEntry
from rememo.store.drafts import Analysis
from rememo.store.sql.codecs import SqlCodecs
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.session import SqlDatabase

D = TypeVar("D", bound=SqlDatabase)
C = TypeVar("C", bound=SqlCodecs[Any])


class SqlPart(ABC, Generic[D, C]):
    """The database with its dialect, the codecs and the analyser; shared by the store's parts."""

    dialect: ClassVar[SqlDialect]

    def __init__(self, database: D, codecs: C, analysis: Analysis) -> None:
        self._database = database
        self._codecs = codecs
        self._analysis = analysis
        self._analyze = analysis.terms
        self._begun: dict[int, tuple[str, int]] = {}
        """The models that this process has begun to build: names and dimensions by number."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._database.place

    @abstractmethod
    def _append_audit_entry(self, session: Any, note: NewAuditEntry) -> None:
        """Append an entry to the audit trail, as the last thing of a transaction."""
