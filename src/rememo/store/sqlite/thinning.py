"""Thinning: past versions physically removed, with their words and vectors."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.reports import ThinningResult
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.filter_sql import within
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.words import remove, tables
from rememo.store.sqlite.writing import vector_place
from rememo.store.thinning import PastVersion, ThinningBounds, ThinningPlan, plan_thinning

_VERSIONS = """SELECT number, recorded_at, superseded_at, expires_at, deleted FROM records
WHERE tenant = ? AND id = ? ORDER BY version"""
_OPEN_JOBS = """SELECT DISTINCT json_extract(payload, '$.record') FROM jobs
WHERE tenant = ? AND state IN ('waiting', 'running')"""


class SqliteThinning(SqlitePart):
    """The `Thinning` half of the store."""

    def thin(
        self,
        scope: Scope,
        *,
        keep_from: datetime | None,
        forget_before: datetime | None,
        start: str,
        limit: int,
        first: bool,
        dry: bool = False,
    ) -> ThinningResult:
        """Remove old versions of the next `limit` records that have some, by their ids from `start` on."""
        ends = [one for one in (keep_from, forget_before) if one is not None]
        inside, values = within(scope)
        # Found outside of the transaction: only what is decided and done must be inside.
        rows = self._database.rows(
            f"SELECT DISTINCT id FROM records WHERE {inside} AND id > ? AND superseded_at < ? ORDER BY id LIMIT ?",
            [*values, start, to_micros(max(ends)), limit],
        )
        ids = [row[0] for row in rows]
        following = ids[-1] if len(ids) == limit else None
        if not ids:
            return ThinningResult(versions=0, records=0, ids=(), following=None)
        keep = None if keep_from is None else to_micros(keep_from)
        forget = None if forget_before is None else to_micros(forget_before)

        def run(connection: Connection) -> ThinningResult:
            bounds = _bounds(connection, scope.tenant, keep, forget)
            return _thin(connection, scope.tenant, ids, bounds, following, first=first, dry=dry)

        if dry:
            with self._database.snapshot() as connection:
                return run(connection)
        return self._database.write(run)


def _bounds(connection: Connection, tenant: str, keep: int | None, forget: int | None) -> ThinningBounds:
    snapshots = connection.execute("SELECT at FROM snapshots WHERE tenant = ? ORDER BY at", (tenant,)).fetchall()
    newest: int = connection.execute("SELECT ifnull(max(number), 0) FROM records").get
    return ThinningBounds(keep, forget, [row[0] for row in snapshots], newest)


def _thin(
    connection: Connection,
    tenant: str,
    ids: Sequence[str],
    bounds: ThinningBounds,
    following: str | None,
    *,
    first: bool,
    dry: bool,
) -> ThinningResult:
    busy: set[Any] = set()
    if bounds.forget_before is not None:
        busy = {row[0] for row in connection.execute(_OPEN_JOBS, (tenant,))}
    held = {id: [PastVersion(*row) for row in connection.execute(_VERSIONS, (tenant, id))] for id in ids}
    found = plan_thinning(held, bounds, busy)
    if found.gone and not dry:
        _remove(connection, tenant, found)
        if first:
            # Once a run is enough: whoever reads the tenant after this never holds a version that ended before it.
            connection.execute(
                "INSERT INTO tenants (tenant, epoch) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET epoch = epoch + 1",
                (tenant,),
            )
    return found.told(following)


def _remove(connection: Connection, tenant: str, found: ThinningPlan) -> None:
    past = tables(tenant)[1]
    for number in found.gone:
        remove(connection, past, number)
    models = [row[0] for row in connection.execute("SELECT model FROM models")]
    places = [vector_place(model, number) for model in models for number in found.gone]
    connection.execute("DELETE FROM vectors WHERE place IN (SELECT value FROM json_each(?))", (dump_json([*places]),))
    connection.execute(
        "DELETE FROM records WHERE number IN (SELECT value FROM json_each(?))", (dump_json([*found.gone]),)
    )
    connection.executemany(
        "UPDATE records SET superseded_at = ? WHERE number = ?",
        [(end, number) for number, end in found.ends.items()],
    )
