"""What the parts that all SQL stores share do with a connection. A `?` stands for a value; values are parameters."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Values = Sequence[Any] | Mapping[str, Any]


class SqlSession(Protocol):
    """One connection while it is lent, inside a transaction."""

    def execute(self, sql: str, values: Any = (), /) -> Any:
        """Run a statement."""
        ...

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Return all rows of a statement."""
        ...

    def row(self, sql: str, values: Values = ()) -> Any:
        """Return the first row of a statement, or None."""
        ...

    def value(self, sql: str, values: Values = ()) -> Any:
        """Return the first column of the first row, or None."""
        ...

    def changed(self, sql: str, values: Values = ()) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def stream(self, sql: str, values: Values, size: int) -> Iterable[Any]:
        """Give the rows of a long answer without holding all of them: about `size` at once."""
        ...


class SqlDatabase(Protocol):
    """The connections to one store."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        ...

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Return all rows of one query."""
        ...

    def row(self, sql: str, values: Values = ()) -> Any:
        """Return the first row of one query, or None."""
        ...

    def value(self, sql: str, values: Values = ()) -> Any:
        """Return the first column of the first row of one query, or None."""
        ...

    def snapshot(self) -> AbstractContextManager[Any]:
        """Lend a session in one consistent state for several reads."""
        ...

    def write(self, run: Callable[[Any], T], *, repeatable: bool = False) -> T:
        """Run a function with a session inside a transaction; when it returns, its changes are durable.

        One whose second run does no harm is `repeatable`: it is run again where its commit was lost with the connection.
        """
        ...
