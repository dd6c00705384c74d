"""A memory with a clock of its own."""

from collections.abc import Iterator

import pytest

from rememo import Memory
from rememo.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, clock=clock) as memory:
        yield memory
