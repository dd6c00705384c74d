"""Thinning: past versions physically removed, with their words and vectors."""

from datetime import datetime

from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.postgres.filter_sql import within
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import Session
from rememo.store.reports import ThinningResult
from rememo.store.thinning import PastVersion, ThinningBounds, plan_thinning

_VERSIONS = """SELECT id, number, recorded_at, superseded_at, expires_at, deleted FROM records
WHERE tenant = %s AND id = ANY(%s) ORDER BY id, version"""
_SNAPSHOTS = "SELECT at FROM snapshots WHERE tenant = %s ORDER BY at"
_BUSY = """SELECT DISTINCT payload::json ->> 'record' FROM jobs
WHERE tenant = %s AND state IN ('waiting', 'running')"""
_GONE = tuple(
    f"DELETE FROM {table} WHERE tenant = %s AND number = ANY(%s)" for table in ("words", "vectors", "records")
)
_END = "UPDATE records SET superseded_at = %s WHERE tenant = %s AND number = %s"
# Whoever writes or thins the tenant waits for this row.
_TAKE = "SELECT number FROM tenants WHERE tenant = %s FOR UPDATE"
_EPOCH = "UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s"


class PostgresThinning(PostgresPart):
    """The thinning half of the store."""

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
        keep = None if keep_from is None else to_micros(keep_from)
        forget = None if forget_before is None else to_micros(forget_before)
        inside, values = within(scope)
        rows = self._database.rows(
            f"SELECT DISTINCT id FROM records WHERE {inside} AND id > %s AND superseded_at < %s ORDER BY id LIMIT %s",
            [*values, start, max(one for one in (keep, forget) if one is not None), limit],
        )
        ids = [row[0] for row in rows]
        following = ids[-1] if len(ids) == limit else None
        if not ids:
            return ThinningResult(versions=0, records=0, ids=(), following=None)

        def run(session: Session) -> ThinningResult:
            if not dry:
                session.value(_TAKE, (scope.tenant,))
            # Numbers are the tenant's own here and never given again: none must stay for their sake.
            snapshots = [row[0] for row in session.rows(_SNAPSHOTS, (scope.tenant,))]
            return _thin(
                session, scope.tenant, ids, ThinningBounds(keep, forget, snapshots, 0), following, first=first, dry=dry
            )

        if dry:
            with self._database.snapshot() as session:
                return run(session)
        return self._database.write(run, repeatable=True)


def _thin(
    session: Session,
    tenant: str,
    ids: list[str],
    bounds: ThinningBounds,
    following: str | None,
    *,
    first: bool,
    dry: bool,
) -> ThinningResult:
    held: dict[str, list[PastVersion]] = {}
    for id, *rest in session.rows(_VERSIONS, (tenant, ids)):
        held.setdefault(id, []).append(PastVersion(*rest))
    busy = {row[0] for row in session.rows(_BUSY, (tenant,))} if bounds.forget_before is not None else set[str]()
    found = plan_thinning(held, bounds, busy)
    if found.gone and not dry:
        for sql in _GONE:
            session.execute(sql, (tenant, found.gone))
        for number, end in found.ends.items():
            session.execute(_END, (end, tenant, number))
        if first:
            session.execute(_EPOCH, (tenant,))
    return found.told(following)
