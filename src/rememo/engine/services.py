"""Services: who works for an engine, and lives in the packages above it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rememo.engine.pending_extraction import ExtractionWorker
from rememo.model.job import NewJob
from rememo.model.receipt import Receipt
from rememo.model.scope import Scope
from rememo.recall.rerank.protocol import Reranker
from rememo.store.writes import Written

if TYPE_CHECKING:
    from rememo.engine.engine import Engine


class Runner(ExtractionWorker, Protocol):
    """Runs the jobs of an engine."""

    def wake(self) -> None:
        """Look for jobs at once."""
        ...

    def follow(self, receipt: Receipt, timeout: float, *, tenant: str) -> Receipt:
        """Return the receipt once its jobs are done; raises `JobFailed`."""
        ...

    def after(self, written: Written, reach: Scope | None = None) -> Sequence[NewJob]:
        """Return the jobs that a change of a record causes; they change nothing outside of `reach`."""
        ...

    def stop(self, timeout: float = 5.0) -> bool:
        """Finish what is begun and do no more."""
        ...


class Closeable(Protocol):
    """What holds connections."""

    def close(self) -> None:
        """Let go of them."""
        ...


class Composing(Protocol):
    """Composes the states of an engine."""

    def stop(self) -> None:
        """Run nothing more."""
        ...

    def sweep(self) -> int:
        """Forget what is too old; returns how many."""
        ...

    def forget(self) -> None:
        """Forget every state that is kept."""
        ...


class Modelling(Protocol):
    """Asks the language model of an engine."""

    def stop(self) -> None:
        """End what is being asked, and ask no more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineServices:
    """The services around an engine; workers and composers are made when they are first needed."""

    worker: "Callable[[Engine], Runner] | None" = None
    """Makes who does its jobs; without one there are none."""
    composer: "Callable[[Engine], Composing] | None" = None
    """Makes who composes states."""
    models: "Callable[[Engine], Modelling | None] | None" = None
    """Makes who asks its language model, if it has one."""
    reranker: Reranker | None = None
    owned: Sequence[Closeable] = ()
    """What was opened for the engine, and is closed with it."""


NO_SERVICES = EngineServices()
"""An engine alone: it stores and finds, and learns nothing."""
