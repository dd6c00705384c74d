"""`rememo worker`: run background jobs in a process of its own."""

import signal
import threading
from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory, without_password
from rememo.cli.output import FileArgument, console
from rememo.engine.view import view_of
from rememo.errors import ReadOnlyStore
from rememo.jobs.heartbeat import LEASE_SECONDS
from rememo.jobs.worker import Worker

Lease = Annotated[float, typer.Option(min=0.1, help="Seconds after which the jobs of a dead worker are taken over.")]
Once = Annotated[bool, typer.Option("--once", help="Run the due jobs, then exit.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(worker)


def worker(file: FileArgument, once: Once = False, lease: Lease = LEASE_SECONDS) -> None:
    """Run the jobs of all tenants of a store until interrupted; any number of workers can run side by side."""
    with open_memory(file, make=True) as memory:
        engine = view_of(memory).engine
        if engine.is_read_only():
            raise ReadOnlyStore(f"{without_password(file)} is read-only: run the worker where it can be written")
        working = Worker(engine, lease=lease)
        if once:
            console.print(f"{working.run_until_idle(timeout=3_600):,} jobs done")
            return
        over = threading.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda _signal, _frame: over.set())
        working.start(listen=True)
        console.print("working; interrupt to stop")
        over.wait()
        working.stop(30)
