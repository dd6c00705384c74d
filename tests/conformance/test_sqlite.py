"""The conformance suite on SQLite: one file, and a store that lives in memory only."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from rememo import Keyring, Memory, Settings
from rememo.recall.embed.protocol import Embedder
from rememo.testing import BackupSuite, EraseSuite, ManualClock, MemoryConformance, OpenMemory
from rememo.testing.base import STANDARD_EMBEDDER

# Nobody pulls the plug during these tests; what survives that is shown elsewhere.
FAST = Settings(durability="fast")


class TestSqliteFile(MemoryConformance, BackupSuite, EraseSuite):
    encryption: ClassVar[Keyring | None] = None

    @pytest.fixture
    def open_memory(self, clock: ManualClock, tmp_path: Path) -> Iterator[OpenMemory]:  # pyright: ignore[reportIncompatibleMethodOverride] - fixtures may yield
        opened: list[Memory] = []

        def open_file(
            name: str = "memory",
            *,
            tenant: str = "default",
            embedder: Embedder | None = STANDARD_EMBEDDER,
            settings: Settings | None = None,
        ) -> Memory:
            path = Path(name) if Path(name).is_absolute() else tmp_path / f"{name}.db"
            memory = Memory(
                path,
                tenant=tenant,
                embedder=embedder,
                encryption=self.encryption,
                settings=settings or FAST,
                clock=clock,
            )
            opened.append(memory)
            return memory

        yield open_file
        for memory in opened:
            memory.close()


@pytest.mark.requirement("encrypt.content")
class TestEncryptedSqliteFile(TestSqliteFile):
    """Everything holds with every content encrypted, and long ones compressed."""

    encryption: ClassVar[Keyring | None] = Keyring(bytes(range(32)))
    machine_runs = 10


class TestSqliteInMemory(MemoryConformance, EraseSuite):
    reopens: ClassVar[bool] = False
    machine_runs = 10

    @pytest.fixture
    def open_memory(self, clock: ManualClock) -> Iterator[OpenMemory]:  # pyright: ignore[reportIncompatibleMethodOverride] - fixtures may yield
        opened: list[Memory] = []

        def open_in_memory(
            name: str = "memory",
            *,
            tenant: str = "default",
            embedder: Embedder | None = STANDARD_EMBEDDER,
            settings: Settings | None = None,
        ) -> Memory:
            memory = Memory(":memory:", tenant=tenant, embedder=embedder, settings=settings or FAST, clock=clock)
            opened.append(memory)
            return memory

        yield open_in_memory
        for memory in opened:
            memory.close()
