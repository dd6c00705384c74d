"""What every suite stands on: one abstract fixture that opens stores."""

from collections.abc import Iterable
from typing import ClassVar, Protocol

import pytest
from hypothesis import HealthCheck, settings

from rememo.memory import Memory
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.recall.embed.protocol import Embedder
from rememo.settings import Settings
from rememo.testing.clock import ManualClock
from rememo.testing.embedders import WordEmbedder

STANDARD_EMBEDDER = WordEmbedder()


class OpenMemory(Protocol):
    """Opens a store by name: the same name is the same store, another name another, empty one.

    A store may be open several times at once, and what was written is there when it is opened again.
    Everything is read by the suite's clock. The fixture closes what is still open when the test ends.
    """

    def __call__(
        self,
        name: str = "memory",
        *,
        tenant: str = "default",
        embedder: Embedder | None = STANDARD_EMBEDDER,
        settings: Settings | None = None,
    ) -> Memory:
        """Open it."""
        ...


class Suite:
    """A backend's test class inherits from suites and gives `open_memory`."""

    reopens: ClassVar[bool] = True
    """Whether a store can be opened again; one that lives in a single process's memory cannot."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        """Tell the time of everything that `open_memory` opens."""
        return ManualClock()

    @pytest.fixture
    def open_memory(self, clock: ManualClock) -> OpenMemory:
        """Give what opens a store of the backend under test."""
        raise NotImplementedError(f"{type(self).__name__} must give the fixture open_memory")

    @pytest.fixture
    def memory(self, open_memory: OpenMemory) -> Memory:
        """Open one store."""
        return open_memory()

    def need_reopening(self) -> None:
        """Skip what a store without a file cannot show."""
        if not self.reopens:
            pytest.skip("this store lives in one process's memory and cannot be opened again")


def examples(count: int) -> settings:
    """Bound a property test; a suite is inherited by several classes, each with fixtures of its own."""
    return settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=[
            HealthCheck.differing_executors,
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
    )


def texts(records: Iterable[Record | Hit]) -> list[str]:
    """Return what each says, in order."""
    return [record.text for record in records]


def ids(records: Iterable[Record | Hit]) -> list[str]:
    """Return the id of each, in order."""
    return [record.id for record in records]
