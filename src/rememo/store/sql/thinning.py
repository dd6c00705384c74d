"""Thinning of an SQL store: past versions physically removed, with their words and vectors."""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.reports import ThinningResult
from rememo.store.sql.part import C, D, SqlPart
from rememo.store.sql.session import SqlSession
from rememo.store.thinning import PastVersion, ThinningBounds, plan_thinning

_SNAPSHOTS = "SELECT at FROM snapshots WHERE tenant = ? ORDER BY at"
_END = "UPDATE records SET superseded_at = ? WHERE tenant = ? AND number = ?"


class SqlThinning(SqlPart[D, C]):
    """The part of the `RecordRetention` protocol that removes old versions."""

    @abstractmethod
    def _lock_for_thinning(self, session: Any, tenant: str) -> None:
        """Keep others from writing or thinning a tenant until the transaction ends."""

    @abstractmethod
    def _number_to_keep(self, session: Any, /) -> int:
        """Return the number of the version that must stay, or it would be given again; 0 for none."""

    @abstractmethod
    def _remove_past(self, session: Any, tenant: str, numbers: Sequence[int]) -> None:
        """Remove past versions by their numbers, with their words and vectors."""

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
        tenant = scope.tenant
        keep = None if keep_from is None else to_micros(keep_from)
        forget = None if forget_before is None else to_micros(forget_before)
        inside, values = self.dialect.within(scope)
        # Read outside of the transaction: only what is decided and done must be inside.
        rows = self._database.rows(
            f"SELECT DISTINCT id FROM records WHERE {inside} AND id > ? AND superseded_at < ? ORDER BY id LIMIT ?",
            [*values, start, max(end for end in (keep, forget) if end is not None), limit],
        )
        ids = [row[0] for row in rows]
        following = ids[-1] if len(ids) == limit else None
        if not ids:
            return ThinningResult(versions=0, records=0, ids=(), following=None)

        def run(session: SqlSession) -> ThinningResult:
            if not dry:
                self._lock_for_thinning(session, tenant)
            snapshots = [row[0] for row in session.rows(_SNAPSHOTS, (tenant,))]
            bounds = ThinningBounds(keep, forget, snapshots, self._number_to_keep(session))
            busy = set[str]() if forget is None else self._busy_records(session, tenant)
            plan = plan_thinning(self._past_versions(session, tenant, ids), bounds, busy)
            if plan.gone and not dry:
                self._remove_past(session, tenant, plan.gone)
                for number, end in plan.ends.items():
                    session.execute(_END, (end, tenant, number))
                if first:
                    # Once a run is enough: whoever reads the tenant after this never holds a version that ended before it.
                    session.execute(self.dialect.bump_epoch, (tenant,))
            return plan.to_result(following)

        if dry:
            with self._database.snapshot() as session:
                return run(session)
        return self._database.write(run, repeatable=True)

    def _busy_records(self, session: SqlSession, tenant: str) -> set[str]:
        """Return the ids of records that an open job is about."""
        field = self.dialect.payload_field("record")
        sql = f"SELECT DISTINCT {field} FROM jobs WHERE tenant = ? AND state IN ('waiting', 'running')"
        return {row[0] for row in session.rows(sql, (tenant,))}

    def _past_versions(self, session: SqlSession, tenant: str, ids: Sequence[str]) -> dict[str, list[PastVersion]]:
        sql = (
            "SELECT id, number, recorded_at, superseded_at, expires_at, deleted FROM records"
            f" WHERE tenant = ? AND {self.dialect.any_of('id')} ORDER BY id, version"
        )
        versions: dict[str, list[PastVersion]] = {}
        for id, *times in session.rows(sql, (tenant, self.dialect.array(ids))):
            versions.setdefault(id, []).append(PastVersion(*times))
        return versions
