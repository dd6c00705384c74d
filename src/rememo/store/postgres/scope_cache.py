"""How a view of a scope is read from the server."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rememo.model.scope import Scope
from rememo.store.filter_sql import SEARCHED
from rememo.store.postgres.codecs import PostgresCodec
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import within
from rememo.store.postgres.vector_index import VectorIndex
from rememo.store.postgres.vectors import column, from_wire
from rememo.store.scope_cache import ScopeColumns, Stamp

# A fact that holds no more answers no question about the present: its end counts like an expiry.
_END = "CASE WHEN kind = 'fact' AND valid_to IS NOT NULL THEN least(valid_to, expires_at) ELSE expires_at END"
TIMELINE_COLUMNS = f"number, room, at, speaker, kind, length, importance, trust, fingerprint, asks, {_END} AS ends"
_SPEAKER = TIMELINE_COLUMNS.split(", ").index("speaker")
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
class PostgresStamp(Stamp):
    """What must be equal for a view to be unchanged, and what saves a question."""

    ended: int
    """The system time at which a version of the tenant ended last."""


class PostgresScopeState:
    """The state of a tenant at a stamp, however much is written meanwhile.

    Versions never change but for their end, and numbers and system times rise in the order of commits: so what was there
    at a stamp can be told by them, and no transaction is needed that would take longer to begin than to read.
    """

    __slots__ = ("_codec_of", "_database", "_index", "_stamp")

    def __init__(
        self, database: PostgresDatabase, stamp: Stamp, codec_of: Callable[[str], PostgresCodec], index: VectorIndex
    ) -> None:
        self._database = database
        self._stamp = stamp
        self._codec_of = codec_of
        self._index = index

    def stamp(self, _tenant: str, /) -> Stamp:
        """Return its stamp."""
        return self._stamp

    def dimension(self, scope: Scope, /) -> int:
        """Return how long vectors of the current model are; 0 for no model, and where the server is asked for the nearest."""
        if not self._codec_of(scope.tenant).encrypted and self._index.serves(scope, self._stamp.model):
            return 0
        return self._database.value(_DIMENSION, (self._stamp.model,)) or 0

    def ended(self, tenant: str, since: int) -> list[int]:
        """Return the numbers of versions that ended after a system time."""
        if isinstance(self._stamp, PostgresStamp) and self._stamp.ended <= since:
            return []
        return [row[0] for row in self._database.rows(_ENDED, (tenant, since, self._stamp.clock))]

    def read(self, scope: Scope, columns: ScopeColumns, start: int, now: int) -> None:
        """Append the current versions of a scope whose numbers are above `start`, in order."""
        tenant, newest = scope.tenant, self._stamp.number
        model = self._stamp.model if columns.dimension else 0
        if start == newest:
            return
        codec = self._codec_of(tenant)
        inside, values = within(scope)
        inside += f" AND ({_END} IS NULL OR {_END} > %s) AND {SEARCHED} AND quarantine IS NULL"
        values.append(now)
        clock = self._stamp.clock
        if start and newest - start < _FEW:
            sql = f"SELECT {TIMELINE_COLUMNS}, {_OWN_VECTOR} FROM {_ADDED} WHERE {inside} AND (superseded_at IS NULL OR superseded_at > %s)"
            sql = f"{sql} ORDER BY number".format(part=self._database.partition(tenant), column=column(codec))
            rows = self._database.rows(sql, [tenant, model, tenant, start, newest, *values, clock])
            blobs = from_wire(model, [(row[0], row[-1]) for row in rows if row[-1] is not None], codec)
            columns.append([(*_with_speaker(row[:-1], codec), blobs.get(row[0])) for row in rows])
            return
        new = f"SELECT {TIMELINE_COLUMNS} FROM records WHERE {inside} AND number > %s AND number <= %s"
        rows = self._database.rows(
            f"{new} AND superseded_at IS NULL UNION ALL {new} AND superseded_at > %s",
            [*values, start, newest, *values, start, newest, clock],
        )
        add_rows(self._database, tenant, model, columns, rows, codec=codec)


class PostgresScopes:
    """The server as a source of views."""

    def __init__(
        self, database: PostgresDatabase, codec_of: Callable[[str], PostgresCodec], index: VectorIndex
    ) -> None:
        self._database = database
        self._codec_of = codec_of
        self._index = index
        self.newest: dict[str, int] = {}
        """The newest number of each tenant, as it was seen last: for guessing how much of it a scope holds."""

    def stamp(self, tenant: str) -> Stamp:
        """Return the stamp of the present state."""
        stamp = PostgresStamp(*self._database.row(_STAMP, (tenant,)))
        if len(self.newest) > _MOST_TENANTS:
            self.newest.clear()
        self.newest[tenant] = stamp.number
        return stamp

    @contextmanager
    def state(self, stamp: Stamp) -> Generator[PostgresScopeState]:
        """Lend the state of a stamp."""
        yield PostgresScopeState(self._database, stamp, self._codec_of, self._index)


def current_model(database: PostgresDatabase) -> tuple[int, int]:
    """Return the number and the dimension of the model in use; zeros for none."""
    return database.row(_MODEL) or (0, 0)


def add_rows(
    database: PostgresDatabase,
    tenant: str,
    model: int,
    columns: ScopeColumns,
    rows: list[Any],
    *,
    codec: PostgresCodec,
) -> None:
    """Append rows of `TIMELINE_COLUMNS` with their vectors, which are read in parts: all at once they would weigh too much."""
    rows.sort(key=lambda row: row[0])
    for first in range(0, len(rows), _READ):
        part = rows[first : first + _READ]
        sql = _VECTORS.format(column=column(codec))
        vectors = database.rows(sql, (tenant, model, [row[0] for row in part])) if model else []
        blobs = from_wire(model, vectors, codec)
        columns.append([(*_with_speaker(row, codec), blobs.get(row[0])) for row in part])


def _with_speaker(row: Sequence[Any], codec: PostgresCodec) -> Sequence[Any]:
    """Return a row of `TIMELINE_COLUMNS` with the speaker's name decrypted."""
    if not codec.encrypted:
        return row
    return (*row[:_SPEAKER], codec.decode_name(row[_SPEAKER]), *row[_SPEAKER + 1 :])
