"""Classes whose objects are closed at the end of a `with` block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """Something with a `close()` that ends a `with` block of it, as `contextlib.closing` would."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources; closing twice is harmless."""

    def __enter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
