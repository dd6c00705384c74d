"""The conformance suites on a file with its short-term state on a Redis server, wherever key-value state matters."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from rememo import Memory, Settings
from rememo.recall.embed.protocol import Embedder
from rememo.settings import SHORT_TERM
from rememo.testing import EraseSuite, ManualClock, OpenMemory
from rememo.testing.audit import AuditSuite
from rememo.testing.base import STANDARD_EMBEDDER
from rememo.testing.concurrency import ConcurrencySuite
from rememo.testing.expiry import ExpirySuite
from rememo.testing.integrity import ClosedSuite
from rememo.testing.key_values import KeyValueSuite
from rememo.testing.redis import RedisPrefixes
from rememo.testing.scopes import IsolationSuite
from rememo.testing.transfer import TransferSuite
from rememo.testing.working import FlowSuite

FAST = Settings(durability="fast", worker=False)


class TestRedis(
    KeyValueSuite,
    FlowSuite,
    TransferSuite,
    AuditSuite,
    ExpirySuite,
    EraseSuite,
    IsolationSuite,
    ClosedSuite,
    ConcurrencySuite,
):
    """Suites that touch no key-value state are those of the store beside."""

    holds: ClassVar[tuple[str, ...]] = ("kv", "flows", "caches")

    # A server ends values by itself, and each write sweeps versions of some that have ended: other steps than a store's.
    test_what_has_expired_is_reclaimed_by_going_on_writing = None  # pyright: ignore[reportAssignmentType] - not collected
    test_writing_reclaims_in_small_steps_and_not_all_the_time = None  # pyright: ignore[reportAssignmentType] - likewise

    @pytest.fixture
    def open_memory(self, clock: ManualClock, tmp_path: Path, places: RedisPrefixes) -> Iterator[OpenMemory]:  # pyright: ignore[reportIncompatibleMethodOverride] - fixtures may yield
        opened: list[Memory] = []
        urls: dict[str, str] = {}

        def open_file(
            name: str = "memory",
            *,
            tenant: str = "default",
            embedder: Embedder | None = STANDARD_EMBEDDER,
            settings: Settings | None = None,
        ) -> Memory:
            path = Path(name) if Path(name).is_absolute() else tmp_path / f"{name}.db"
            url = urls.setdefault(name, places.lend())
            settings = (settings or FAST).but(kv=url, kv_holds=self.holds)
            memory = Memory(path, tenant=tenant, embedder=embedder, settings=settings, clock=clock)
            opened.append(memory)
            return memory

        yield open_file
        for memory in opened:
            memory.close()


class TestRedisHoldsAll(AuditSuite, EraseSuite):
    """Everything that a server can hold is on it."""

    holds: ClassVar[tuple[str, ...]] = SHORT_TERM
    open_memory = TestRedis.open_memory
