"""Thinning of a store on a server."""

from collections.abc import Sequence

from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.part import PostgresPart
from rememo.store.postgres.session import PostgresSession
from rememo.store.sql.thinning import SqlThinning

_REMOVE = tuple(
    f"DELETE FROM {table} WHERE tenant = %s AND number = ANY(%s)" for table in ("words", "vectors", "records")
)
# Whoever writes or thins the tenant waits for this row.
_LOCK = "SELECT number FROM tenants WHERE tenant = %s FOR UPDATE"


class PostgresThinning(SqlThinning[PostgresDatabase, PostgresCodecs], PostgresPart):
    """The part of the `RecordRetention` protocol that removes old versions on a server."""

    def _lock_for_thinning(self, session: PostgresSession, tenant: str) -> None:
        session.execute(_LOCK, (tenant,))

    def _number_to_keep(self, _session: PostgresSession, /) -> int:
        """Return 0: numbers are the tenant's own here and never given again."""
        return 0

    def _remove_past(self, session: PostgresSession, tenant: str, numbers: Sequence[int]) -> None:
        for sql in _REMOVE:
            session.execute(sql, (tenant, list(numbers)))
