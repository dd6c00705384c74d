"""The conformance suite: what every store, and every way to one, must do alike.

A backend's tests inherit it and give one fixture::

    class TestMyStore(MemoryConformance):
        @pytest.fixture
        def open_memory(self, clock, tmp_path):
            ...

Call `pytest.register_assert_rewrite("rememo.testing")` in `conftest.py` before, for failures that say what they compared.
"""

from importlib.util import find_spec

from rememo.errors import MissingExtra

for _needed in ("pytest", "hypothesis"):
    if find_spec(_needed) is None:
        raise MissingExtra(f'the conformance suite needs {_needed}: pip install "rememo[dev]"')

# After the check: these need both.
from rememo.testing.base import OpenMemory, Suite  # noqa: E402
from rememo.testing.clock import ManualClock  # noqa: E402
from rememo.testing.embedders import FailingEmbedder, WordEmbedder  # noqa: E402
from rememo.testing.erasure import EraseSuite  # noqa: E402
from rememo.testing.suite import MemoryConformance  # noqa: E402
from rememo.testing.transfer import BackupSuite  # noqa: E402

__all__ = [
    "BackupSuite",
    "EraseSuite",
    "FailingEmbedder",
    "ManualClock",
    "MemoryConformance",
    "OpenMemory",
    "Suite",
    "WordEmbedder",
]
