"""The memory that an adapter works on: a given one, or one that the adapter opens and closes."""

from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from rememo.adapters.threads import run_in_thread
from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.derived_ids import DerivedId, is_derived
from rememo.model.record import Record
from rememo.model.times import Clock, now
from rememo.recall.embed.protocol import Embedder
from rememo.runtime.closing import Closing

MemorySource = Memory | str | Path
"""A memory, a view of one, or where to open one."""


def derived_id(memory: Memory, name: str) -> DerivedId:
    """Return the record id derived from a name: the same in every process, and keyed where the memory is encrypted."""
    return view_of(memory).engine.ids.derive(memory.bound.tenant, name)  # nobody else may create records under such ids


def derived_name(memory: Memory, id: str) -> str:
    """Return the name that a derived id was made from; any other id unchanged."""
    return view_of(memory).engine.ids.name(memory.bound.tenant, id)


def writable_id(record: Record) -> str:
    """Return the id under which a record that was read can be replaced: a derived id stays derived."""
    return DerivedId(record.id) if is_derived(record.id) else record.id


class MemoryHolder(Closing):
    """Holds a memory or a view of one; a path or an address is opened here and closed with the holder."""

    def __init__(
        self,
        memory: MemorySource,
        *,
        embedder: Embedder | Literal["static"] | None = "static",
        clock: Clock = now,
    ) -> None:
        """Hold a memory; `embedder` and `clock` are for a memory that is opened here."""
        if not isinstance(memory, MemorySource):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(
                f"memory must be a Memory, a view of one, or where to open one, not {type(memory).__name__};"
                " many may open one file, and adapters do not hold up an event loop"
            )
        self._is_given = isinstance(memory, Memory)
        self._memory = memory if isinstance(memory, Memory) else Memory(memory, embedder=embedder, clock=clock)

    def close(self) -> None:
        """Close the memory if it was opened here; a given one stays open."""
        if not self._is_given:
            self._memory.close()

    async def __aenter__(self) -> Self:
        """Return the holder."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the memory if it was opened here, without blocking the event loop."""
        await run_in_thread(self.close)
