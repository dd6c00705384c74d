"""The conformance suite on PostgreSQL: a real server, a database for each store."""

from collections.abc import Iterator
from typing import ClassVar

import pytest

from rememo import Keyring, Memory, Settings
from rememo.recall.embed.protocol import Embedder
from rememo.testing import EraseSuite, ManualClock, MemoryConformance, OpenMemory, Suite
from rememo.testing.audit import AuditSuite
from rememo.testing.base import STANDARD_EMBEDDER
from rememo.testing.batches import BatchSuite, KeySuite
from rememo.testing.derived_ids import DerivedIdSuite
from rememo.testing.filters import FilterSuite
from rememo.testing.history import HistorySuite
from rememo.testing.integrity import IntegritySuite
from rememo.testing.key_values import KeyValueSuite
from rememo.testing.postgres import StorePool
from rememo.testing.quarantine import QuarantineSuite
from rememo.testing.records import ChangeSuite, RecordSuite
from rememo.testing.rollback import RollbackSuite
from rememo.testing.search import SearchSuite
from rememo.testing.similar import SimilarSuite
from rememo.testing.transfer import TransferSuite

# Nobody pulls the plug during these tests; what survives that is shown elsewhere. Later work is done when it is waited for:
# a worker of its own may have a job in its hands just when a test looks at it.
FAST = Settings(durability="fast", worker=False)


class OnPostgres(Suite):
    """Gives memories on a server."""

    encryption: ClassVar[Keyring | None] = None

    @pytest.fixture
    def open_memory(self, clock: ManualClock, databases: StorePool) -> Iterator[OpenMemory]:  # pyright: ignore[reportIncompatibleMethodOverride] - fixtures may yield
        opened: list[Memory] = []
        names: dict[str, str] = {}

        def open_database(
            name: str = "memory",
            *,
            tenant: str = "default",
            embedder: Embedder | None = STANDARD_EMBEDDER,
            settings: Settings | None = None,
        ) -> Memory:
            if name not in names:
                if name.startswith("machine-"):
                    # The state machine is done with a store when it asks for the next.
                    give_back()
                names[name] = databases.lend()
            url = databases.url(names[name])
            memory = Memory(
                url,
                tenant=tenant,
                embedder=embedder,
                encryption=self.encryption,
                settings=settings or FAST,
                clock=clock,
            )
            opened.append(memory)
            return memory

        def give_back() -> None:
            while opened:
                opened.pop().close()
            while names:
                databases.take_back(names.popitem()[1])

        yield open_database
        give_back()


class TestPostgres(OnPostgres, MemoryConformance, EraseSuite):
    # Copies of a server are made by its own tools, so BackupSuite is not for it: tests/integration/test_postgres.py
    # shows what `backup` says instead.
    machine_runs = 15


class ContentSuite(
    RecordSuite,
    ChangeSuite,
    FilterSuite,
    HistorySuite,
    RollbackSuite,
    BatchSuite,
    KeySuite,
    KeyValueSuite,
    SearchSuite,
    SimilarSuite,
    TransferSuite,
    DerivedIdSuite,
    IntegritySuite,
    QuarantineSuite,
    AuditSuite,
    EraseSuite,
):
    """Whatever reads or writes contents, names, words or vectors."""


# The other suites ask nothing that a key changes, and what a state machine would find is found by the one on an encrypted file:
# rules and keys are the same code.
@pytest.mark.requirement("encrypt.content")
class TestEncryptedPostgres(OnPostgres, ContentSuite):
    """Everything holds with every content encrypted."""

    encryption: ClassVar[Keyring | None] = Keyring(bytes(range(32)))
