"""The memory that an adapter works on: one that it was given, or one that it opened and so closes."""

from pathlib import Path
from types import TracebackType
from typing import Self

from rememo.memory import Memory


class Opening:
    """Holds a memory, or a view of one; a path or an address is opened, and closed with what holds it."""

    def __init__(self, memory: Memory | str | Path) -> None:
        self._given = isinstance(memory, Memory)
        self._memory = memory if isinstance(memory, Memory) else Memory(memory)

    def close(self) -> None:
        """Let go of the memory; one that was given stays open."""
        if not self._given:
            self._memory.close()

    def __enter__(self) -> Self:
        """Return the holder itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the memory."""
        self.close()
