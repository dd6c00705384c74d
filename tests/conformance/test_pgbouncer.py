"""The conformance suite through PgBouncer in transaction mode: a real pooler before a real server."""

from collections.abc import Iterator

import pytest
from tests.conformance.test_postgres import OnPostgres

from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.testing import EraseSuite, MemoryConformance
from rememo.testing.pgbouncer import PgBouncer
from rememo.testing.postgres import SETTINGS, DatabasePool, StorePool

pytestmark = pytest.mark.requirement("postgres.pgbouncer")


@pytest.fixture(scope="module")
def databases(pgbouncer: str) -> Iterator[StorePool]:
    """Give databases that are reached through the pooler only."""
    with EmbeddedPostgres(settings=SETTINGS) as server, PgBouncer(server, program=pgbouncer) as pooler:
        yield DatabasePool(server.url(), through=pooler.url)


class TestThroughPgBouncer(OnPostgres, MemoryConformance, EraseSuite):
    machine_runs = 3
