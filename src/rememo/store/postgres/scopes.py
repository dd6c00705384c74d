"""How a view of a scope is read from the server."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rememo.model.scope import Scope
from rememo.store.postgres.database import Database
from rememo.store.postgres.nearness import NearIndex
from rememo.store.postgres.queries import within
from rememo.store.postgres.safe import ServerContents
from rememo.store.postgres.vectors import column, from_wire
from rememo.store.queries import SEARCHED
from rememo.store.scopes import Columns, Stamp

# A fact that holds no more answers no question about the present: its end counts like an expiry.
_END = "CASE WHEN kind = 'fact' AND valid_to IS NOT NULL THEN least(valid_to, expires_at) ELSE expires_at END"
COLUMNS = f"number, room, at, speaker, kind, length, importance, trust, fingerprint, asks, {_END} AS ends"
_SPEAKER = COLUMNS.split(", ").index("speaker")
_STAMP = """SELECT coalesce(number, 0), coalesce(clock, 0), coalesce(epoch, 0),
  coalesce((SELECT model FROM models WHERE current), 0), coalesce(ended, 0)
FROM (SELECT 1) AS always LEFT JOIN tenants ON tenant = %s"""
_MODEL = "SELECT model, dimension FROM models WHERE current"
_DIMENSION = "SELECT dimension FROM models WHERE model = %s"
_ENDED = "SELECT number FROM records WHERE tenant = %s AND superseded_at > %s AND superseded_at <= %s"
_VECTORS = "SELECT number, {column} FROM vectors WHERE tenant = %s AND model = %s AND number = ANY(%s::bigint[])"
# Only the new ones, by their numbers; the fence keeps the planner from going through the scope instead.
_ADDED = "(SELECT * FROM records_{part} WHERE tenant = %s AND number > %s AND number <= %s OFFSET 0) AS added"
_OWN_VECTOR = (
    "(SELECT {column} FROM vectors_{part} AS held WHERE tenant = %s AND model = %s AND held.number = added.number)"
)
_READ = 2_000
_FEW = 1_000
_MOST_TENANTS = 100_000


@dataclass(frozen=True, slots=True)
class ServerStamp(Stamp):
    """What must be equal for a view to be unchanged, and what saves a question."""

    ended: int
    """The system time at which a version of the tenant ended last."""


class ServerState:
    """The state of a tenant at a stamp, however much is written meanwhile.

    Versions never change but for their end, and numbers and system times rise in the order of commits: so what was there
    at a stamp can be told by them, and no transaction is needed that would take longer to begin than to read.
    """

    __slots__ = ("_contents", "_database", "_index", "_stamp")

    def __init__(
        self, database: Database, stamp: Stamp, contents: Callable[[str], ServerContents], index: NearIndex
    ) -> None:
        self._database = database
        self._stamp = stamp
        self._contents = contents
        self._index = index

    def stamp(self, _tenant: str, /) -> Stamp:
        """Return its stamp."""
        return self._stamp

    def dimension(self, scope: Scope, /) -> int:
        """Return how long vectors of the current model are; 0 for no model, and where the server is asked for the nearest."""
        if not self._contents(scope.tenant).sealed and self._index.serves(scope, self._stamp.model):
            return 0
        return self._database.value(_DIMENSION, (self._stamp.model,)) or 0

    def ended(self, tenant: str, since: int) -> list[int]:
        """Return the numbers of versions that ended after a system time."""
        if isinstance(self._stamp, ServerStamp) and self._stamp.ended <= since:
            return []
        return [row[0] for row in self._database.rows(_ENDED, (tenant, since, self._stamp.clock))]

    def read(self, scope: Scope, columns: Columns, start: int, now: int) -> None:
        """Append the current versions of a scope whose numbers are above `start`, in order."""
        tenant, newest = scope.tenant, self._stamp.number
        model = self._stamp.model if columns.dimension else 0
        if start == newest:
            return
        contents = self._contents(tenant)
        inside, values = within(scope)
        inside += f" AND ({_END} IS NULL OR {_END} > %s) AND {SEARCHED} AND quarantine IS NULL"
        values.append(now)
        clock = self._stamp.clock
        if start and newest - start < _FEW:
            sql = f"SELECT {COLUMNS}, {_OWN_VECTOR} FROM {_ADDED} WHERE {inside} AND (superseded_at IS NULL OR superseded_at > %s)"
            sql = f"{sql} ORDER BY number".format(part=self._database.partition(tenant), column=column(contents))
            rows = self._database.rows(sql, [tenant, model, tenant, start, newest, *values, clock])
            blobs = from_wire(model, [(row[0], row[-1]) for row in rows if row[-1] is not None], contents)
            columns.append([(*_named(row[:-1], contents), blobs.get(row[0])) for row in rows])
            return
        new = f"SELECT {COLUMNS} FROM records WHERE {inside} AND number > %s AND number <= %s"
        rows = self._database.rows(
            f"{new} AND superseded_at IS NULL UNION ALL {new} AND superseded_at > %s",
            [*values, start, newest, *values, start, newest, clock],
        )
        add_rows(self._database, tenant, model, columns, rows, contents=contents)


class ServerViews:
    """The server as a source of views."""

    def __init__(self, database: Database, contents: Callable[[str], ServerContents], index: NearIndex) -> None:
        self._database = database
        self._contents = contents
        self._index = index
        self.newest: dict[str, int] = {}
        """The newest number of each tenant, as it was seen last: for guessing how much of it a scope holds."""

    def stamp(self, tenant: str) -> Stamp:
        """Return the stamp of the present state."""
        stamp = ServerStamp(*self._database.row(_STAMP, (tenant,)))
        if len(self.newest) > _MOST_TENANTS:
            self.newest.clear()
        self.newest[tenant] = stamp.number
        return stamp

    @contextmanager
    def state(self, stamp: Stamp) -> Generator[ServerState]:
        """Lend the state of a stamp."""
        yield ServerState(self._database, stamp, self._contents, self._index)


def current_model(database: Database) -> tuple[int, int]:
    """Return the number and the dimension of the model in use; zeros for none."""
    return database.row(_MODEL) or (0, 0)


def add_rows(
    database: Database, tenant: str, model: int, columns: Columns, rows: list[Any], *, contents: ServerContents
) -> None:
    """Append rows of `COLUMNS` with their vectors, which are read in parts: all at once they would weigh too much."""
    rows.sort(key=lambda row: row[0])
    for first in range(0, len(rows), _READ):
        part = rows[first : first + _READ]
        sql = _VECTORS.format(column=column(contents))
        found = database.rows(sql, (tenant, model, [row[0] for row in part])) if model else []
        blobs = from_wire(model, found, contents)
        columns.append([(*_named(row, contents), blobs.get(row[0])) for row in part])


def _named(row: Sequence[Any], contents: ServerContents) -> Sequence[Any]:
    """Return a row of `COLUMNS` with the speaker's name as it was told."""
    if not contents.sealed:
        return row
    return (*row[:_SPEAKER], contents.get_name(row[_SPEAKER]), *row[_SPEAKER + 1 :])
