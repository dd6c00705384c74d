"""How a view of a scope is read from the server."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from rememo.model.record import STATE
from rememo.model.scope import Scope
from rememo.store.postgres.database import Database
from rememo.store.postgres.queries import within
from rememo.store.postgres.session import Session
from rememo.store.postgres.types import to_floats
from rememo.store.scopes import Columns, Stamp

# A fact that holds no more answers no question about the present: its end counts like an expiry.
_END = "CASE WHEN kind = 'fact' AND valid_to IS NOT NULL THEN least(valid_to, expires_at) ELSE expires_at END"
COLUMNS = f"number, room, at, speaker, kind, length, importance, trust, fingerprint, asks, {_END} AS ends"
_STAMP = """SELECT coalesce(number, 0), coalesce(clock, 0), coalesce(epoch, 0),
  coalesce((SELECT model FROM models WHERE current), 0)
FROM (SELECT 1) AS always LEFT JOIN tenants ON tenant = %s"""
_MODEL = "SELECT model, dimension FROM models WHERE current"
_ENDED = "SELECT number FROM records WHERE tenant = %s AND superseded_at > %s"
_VECTORS = "SELECT number, vector FROM vectors WHERE tenant = %s AND model = %s AND number = ANY(%s::bigint[])"
_READ = 2_000
_FEW = 1_000


class ServerState:
    """One consistent state of the store."""

    __slots__ = ("_newest", "_session")

    def __init__(self, session: Session, newest: dict[str, int]) -> None:
        self._session = session
        self._newest = newest

    def stamp(self, tenant: str) -> Stamp:
        """Return what changes whenever something of the tenant does."""
        stamp = Stamp(*self._session.row(_STAMP, (tenant,)))
        self._newest[tenant] = stamp.number
        return stamp

    def dimension(self) -> int:
        """Return how long vectors of the current model are; 0 for no model."""
        return current_model(self._session)[1]

    def ended(self, tenant: str, since: int) -> list[int]:
        """Return the numbers of versions that ended after a system time."""
        return [row[0] for row in self._session.rows(_ENDED, (tenant, since))]

    def read(self, scope: Scope, columns: Columns, start: int, now: int) -> None:
        """Append the current versions of a scope whose numbers are above `start`, in order."""
        inside, values = within(scope)
        if start and self._newest[scope.tenant] - start < _FEW:
            # Only the new ones, by their numbers; the fence keeps the planner from going through the scope instead.
            rows, begun = "(SELECT * FROM records WHERE tenant = %s AND number > %s OFFSET 0) AS added", [scope.tenant]
        else:
            rows, begun = "records", []
        sql = (
            f"SELECT {COLUMNS} FROM {rows} WHERE {inside} AND superseded_at IS NULL"
            f" AND number > %s AND ({_END} IS NULL OR {_END} > %s) AND kind <> '{STATE}'"
        )
        begun += [start] if begun else []
        add_rows(self._session, scope.tenant, columns, self._session.rows(sql, [*begun, *values, start, now]))


class ServerViews:
    """The server as a source of views."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.newest: dict[str, int] = {}
        """The newest number of each tenant, as it was seen last: for guessing how much of it a scope holds."""

    def stamp(self, tenant: str) -> Stamp:
        """Return the stamp of the present state."""
        stamp = Stamp(*self._database.row(_STAMP, (tenant,)))
        self.newest[tenant] = stamp.number
        return stamp

    @contextmanager
    def state(self) -> Generator[ServerState]:
        """Lend one consistent state."""
        with self._database.snapshot() as session:
            yield ServerState(session, self.newest)


def current_model(session: Session) -> tuple[int, int]:
    """Return the number and the dimension of the model in use; zeros for none."""
    return session.row(_MODEL) or (0, 0)


def add_rows(session: Session, tenant: str, columns: Columns, rows: list[Any]) -> None:
    """Append rows of `COLUMNS` with their vectors, which are read in parts: all at once they would weigh too much."""
    rows.sort(key=lambda row: row[0])
    model = current_model(session)[0]
    for first in range(0, len(rows), _READ):
        part = rows[first : first + _READ]
        found = session.rows(_VECTORS, (tenant, model, [row[0] for row in part])) if model else []
        floats = to_floats([blob for _, blob in found]) if found else ()
        blobs = {number: one.tobytes() for (number, _), one in zip(found, floats, strict=True)}
        columns.append([(*row, blobs.get(row[0])) for row in part])
