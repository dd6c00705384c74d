"""How a view of a scope is read from the file."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.store.cipher.codec import FieldCodec
from rememo.store.filter_sql import SEARCHED
from rememo.store.scope_cache import ScopeColumns, Stamp
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.filter_sql import within

# A fact that holds no more answers no question about the present: its end counts like an expiry.
_END = "CASE WHEN kind = 'fact' AND valid_to IS NOT NULL THEN min(valid_to, ifnull(expires_at, valid_to)) ELSE expires_at END"
TIMELINE_COLUMNS = f"number, room, at, speaker, kind, length, importance, trust, fingerprint, asks, {_END} AS ends"
_SPEAKER = TIMELINE_COLUMNS.split(", ").index("speaker")
_READ = 2_000
_STAMP = (
    "SELECT ifnull((SELECT max(number) FROM records), 0),"
    " ifnull((SELECT recorded_at FROM records ORDER BY number DESC LIMIT 1), 0),"
    " ifnull((SELECT clock FROM tenants WHERE tenant = ?1), 0), ifnull((SELECT epoch FROM tenants WHERE tenant = ?1), 0),"
    " ifnull((SELECT model FROM models WHERE current), 0)"
)


class SqliteScopeState:
    """One consistent state of the file."""

    __slots__ = ("_codec_of", "_connection")

    def __init__(self, connection: Connection, codec_of: Callable[[str], FieldCodec]) -> None:
        self._connection = connection
        self._codec_of = codec_of

    def stamp(self, tenant: str) -> Stamp:
        """Return what changes whenever something of the tenant does."""
        return _stamp(self._connection.execute(_STAMP, (tenant,)).get)

    def dimension(self, _scope: Scope, /) -> int:
        """Return how long vectors of the current model are; 0 for no model."""
        return self._connection.execute("SELECT dimension FROM models WHERE current").get or 0

    def ended(self, tenant: str, since: int) -> list[int]:
        """Return the numbers of versions that ended after a system time."""
        rows = self._connection.execute(
            "SELECT number FROM records WHERE tenant = ? AND superseded_at > ?", (tenant, since)
        )
        return [row[0] for row in rows]

    def read(self, scope: Scope, columns: ScopeColumns, start: int, now: int) -> None:
        """Append the current versions of a scope whose numbers are above `start`, in order."""
        inside, values = within(scope)
        sql = (
            f"SELECT {TIMELINE_COLUMNS} FROM records"
            f" WHERE number > ? AND {inside} AND superseded_at IS NULL AND (ends IS NULL OR ends > ?)"
            f" AND {SEARCHED} AND quarantine IS NULL"
        )
        rows = self._connection.execute(sql, [start, *values, now]).fetchall()
        add_rows(self._connection, columns, rows, self._codec_of(scope.tenant))


class SqliteScopes:
    """The file as a source of views."""

    def __init__(self, database: SqliteDatabase, codec_of: Callable[[str], FieldCodec]) -> None:
        self._database = database
        self._codec_of = codec_of

    def stamp(self, tenant: str) -> Stamp:
        """Return the stamp of the present state."""
        return _stamp(self._database.row(_STAMP, (tenant,)))

    @contextmanager
    def state(self, _stamp: Stamp, /) -> Generator[SqliteScopeState]:
        """Lend one consistent state: that of the stamp, or a later one."""
        with self._database.snapshot() as connection:
            yield SqliteScopeState(connection, self._codec_of)


def _stamp(row: Any) -> Stamp:
    number, newest, clock, epoch, model = row
    return Stamp(number, max(newest, clock), epoch, model)


def add_rows(connection: Connection, columns: ScopeColumns, rows: list[Any], codec: FieldCodec) -> None:
    """Append rows of `TIMELINE_COLUMNS` with their vectors, which are read in parts: all at once they would weigh too much."""
    rows.sort(key=itemgetter(0))
    model = connection.execute("SELECT model FROM models WHERE current").get or 0
    for first in range(0, len(rows), _READ):
        part = rows[first : first + _READ]
        blobs: list[Any] = connection.execute(
            "SELECT vector FROM json_each(?) AS wanted LEFT JOIN vectors ON place = ? | wanted.value ORDER BY wanted.key",
            (dump_json([row[0] for row in part]), model << 40),
        ).fetchall()
        if codec.encrypted:
            opened = codec.decode_vectors([model << 40 | row[0] for row in part], [blob for (blob,) in blobs])
            name = codec.decode_name
            part = [(*row[:_SPEAKER], name(row[_SPEAKER]), *row[_SPEAKER + 1 :]) for row in part]
            blobs = [(blob,) for blob in opened]
        columns.append([(*row, *blob) for row, blob in zip(part, blobs, strict=True)])
