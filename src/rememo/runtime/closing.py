"""What is closed at the end of a `with` block."""

from types import TracebackType
from typing import Self


class Closing:
    """Something with a `close()` that ends a `with` block of it, as `contextlib.closing` would."""

    def close(self) -> None:
        """Release the resources; closing twice is harmless."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
