"""`rememo worker`: run background jobs in a process of its own."""

import signal
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from rememo.cli.memory_location import open_memory, without_password
from rememo.cli.output import FileArgument, console
from rememo.cli.progress import polled_progress
from rememo.errors import ReadOnlyStore

if TYPE_CHECKING:
    from rememo.engine.engine import Engine

Lease = Annotated[float, typer.Option(min=0.1, help="Seconds after which the jobs of a dead worker are taken over.")]
Once = Annotated[bool, typer.Option("--once", help="Run the due jobs, then exit.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(worker)


def worker(file: FileArgument, once: Once = False, lease: Lease = 60.0) -> None:
    """Run the jobs of all tenants of a store until interrupted; any number of workers can run side by side."""
    from rememo.engine.view import view_of
    from rememo.jobs.worker import Worker

    with open_memory(file, make=True) as memory:
        engine = view_of(memory).engine
        if engine.is_read_only():
            raise ReadOnlyStore(f"{without_password(file)} is read-only: run the worker where it can be written")
        working = Worker(engine, lease=lease)
        if once:
            waiting = _count_open(engine)
            with polled_progress("working", waiting, lambda: max(0, waiting - _count_open(engine))):
                count = working.run_until_idle(timeout=24 * 3_600)
            console.print(f"{count:,} jobs done")
            return
        over = threading.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda _signal, _frame: over.set())
        working.start(listen=True)
        console.print("working; interrupt to stop")
        over.wait()
        working.stop(30)


def _count_open(engine: "Engine") -> int:
    """Return how many jobs of all tenants are not done yet."""
    jobs = engine.store.health().jobs
    return jobs.get("waiting", 0) + jobs.get("running", 0)
