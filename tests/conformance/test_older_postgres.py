"""The suites of contents on the PostgreSQL of the distribution: an older release as a rule, and without pgvector."""

from collections.abc import Iterator

import pytest
from tests.conformance.test_postgres import ContentSuite, OnPostgres

from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.testing.postgres import SETTINGS, DatabasePool, StorePool

pytestmark = pytest.mark.requirement("store.postgres")


@pytest.fixture(scope="module")
def databases(debian_postgres: str) -> Iterator[StorePool]:
    """Give databases on a server of the release that the distribution has."""
    with EmbeddedPostgres(settings=SETTINGS, programs=debian_postgres) as server:
        yield DatabasePool(server.url())


class TestOlderPostgres(OnPostgres, ContentSuite):
    """Whatever asks the server for contents holds there too."""
