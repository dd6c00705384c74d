"""Calling workers in other processes: what a store on a server may be able to do."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable


class Subscription(Protocol):
    """A line on which calls are heard until it is closed."""

    @property
    def connected(self) -> bool:
        """Whether the line is open now; while it is not, calls are missed and jobs must be looked for."""
        ...

    def close(self) -> None:
        """Hear no more; closing twice is harmless."""
        ...


@runtime_checkable
class WorkerNotifier(Protocol):
    """Tells workers that there are jobs. A call may be lost: they look by themselves now and then."""

    def call(self) -> None:
        """Tell all who listen, soon and without waiting for it; many calls in a short time are one."""
        ...

    def listen(self, heard: Callable[[], None]) -> Subscription:
        """Call a function whenever there may be jobs: from another thread, and at once when a lost line is back."""
        ...
