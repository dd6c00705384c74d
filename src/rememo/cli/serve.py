"""`rememo serve`: a memory for many programs, over HTTP."""

import logging
import logging.handlers
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from rememo.cli.memory_location import default_location, open_memory, resolve_location, without_password
from rememo.cli.output import console, errors
from rememo.errors import InvalidInput, MissingExtra, StorageError

if TYPE_CHECKING:
    from rememo.memory import Memory

LogFormat = Literal["text", "json"]
_log = logging.getLogger("rememo.serve")
_SWITCH_SECONDS: Final = 0.001
"""The interpreter's thread switch interval."""
_MOST_WORKERS: Final = 4
_MOST_HELD_BACK: Final = 1_000
"""Log lines that wait until the addresses are printed."""
_CPU_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
_WORKER: Final = "from rememo.cli.serve import run_worker; run_worker()"
_LONGEST_FOLDER: Final = 80
"""Bytes of a folder's path that leave room for a socket's name: the system allows about a hundred for both."""


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(serve)


def serve(
    file: Annotated[
        str | None,
        typer.Argument(help="The memory's file, made if it is not there; else what REMEMO_URL says, else rememo.db."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; other than loopback only with keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes any that is free.")] = 8765,
    origin: Annotated[
        list[str] | None, typer.Option(help="An allowed origin of browser requests (CORS); may be repeated.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second of one key at most.")] = None,
    max_body: Annotated[int, typer.Option(help="The largest body, in bytes.")] = 16 * 2**20,
    max_import: Annotated[int, typer.Option(help="The largest import, in bytes.")] = 4 * 2**30,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that answer requests; as many as there are cores, at most 4.")
    ] = None,
    threads: Annotated[int, typer.Option(help="Calls that run concurrently in each worker.")] = 4,
    queue: Annotated[int, typer.Option(help="Calls that wait for a thread of a worker; further ones get 503.")] = 128,
    streams: Annotated[int, typer.Option(help="Concurrent change streams.")] = 100,
    root_path: Annotated[
        str, typer.Option(help="The path prefix under which a proxy publishes the server, such as /memory.")
    ] = "",
    maintain: Annotated[
        str,
        typer.Option(help='How often to run the retention policies, such as "15m" or "1h"; "never" turns it off.'),
    ] = "1h",
    postgres: Annotated[
        Literal["embedded"] | None,
        typer.Option(help="Try the production store: starts a PostgreSQL server that is gone when you stop."),
    ] = None,
    log: Annotated[LogFormat, typer.Option(help="How log lines are written: text, or JSON for programs.")] = "text",
    traces: Annotated[
        bool, typer.Option("--traces", help="Make OpenTelemetry spans; run it under opentelemetry-instrument.")
    ] = False,
) -> None:
    """Serve a memory over HTTP until interrupted; requests in progress are finished first."""
    for package in ("fastapi", "jinja2", "prometheus_client", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtra(f'serving needs {package}: pip install "rememo[server]"')
    from rememo.model.times import to_seconds
    from rememo.observe.traces import trace
    from rememo.serve.auth import ApiKeys
    from rememo.serve.listen import listen
    from rememo.serve.loopback import is_loopback
    from rememo.serve.service import ServerOptions

    options: dict[str, Any] = {
        "rate": rate, "max_body": max_body, "max_import": max_import, "threads": threads, "queue": queue, "streams": streams,
        "transfers": 16, "connections": 1_000, "origins": origin or [], "traces": traces, "root_path": root_path, "warm": True,
    }  # fmt: skip
    ServerOptions(**options)  # what is out of range is refused before anything is opened
    with ExitStack() as stack:
        if postgres is not None:
            file = _own_server(file, stack)
        elif file is None:
            file = default_location()
        count = _count_workers(workers, file)
        config: dict[str, Any] = {
            "file": file, "options": options, "log": log, "maintain": None if maintain == "never" else maintain,
        }  # fmt: skip
        held_back = logging.handlers.MemoryHandler(_MOST_HELD_BACK, logging.WARNING, _log_lines(config))
        _set_up_logging(held_back)
        if traces and count > 1:
            trace().stop()  # what the workers will need is missed here already
        with open_memory(file, make=True) as memory, listen(host, port) as listening:
            to_seconds(maintain, "maintain") if config["maintain"] is not None else None
            is_locked = ApiKeys(memory).any()
            named = "-" if "://" in file else file
            if not is_locked and not is_loopback(host):
                raise InvalidInput(
                    f"there are no keys yet, and {host} can be reached from elsewhere: make one with"
                    f" `rememo keys add {named}`, or listen on 127.0.0.1"
                )
            name = f"[{host}]" if ":" in host else host
            address = f"http://{name}:{listening.getsockname()[1]}"

            def announce() -> None:
                console.print(
                    f"dashboard: {address}\nAPI: {address}/docs (its routes are below /v1)\n"
                    f"serving {without_password(file)}{f' with {count} workers' if count > 1 else ''}; Ctrl+C stops it",
                    soft_wrap=True,
                    markup=False,
                )
                if not is_locked:
                    errors.print(
                        "there are no keys: whoever is on this machine may read and write;"
                        f" `rememo keys add {named}` makes the first, and from then on every request needs one",
                        soft_wrap=True, markup=False,
                    )  # fmt: skip
                held_back.flush()
                held_back.flushLevel = logging.NOTSET

            if count == 1:
                _serve_memory(memory, config, listening, announce)
            else:
                memory.close()  # the workers open it themselves
                if not _supervise(config, count, listening, announce):
                    raise StorageError("the workers of the server cannot run; what they said stands above")
    console.print("stopped; everything is stored" if postgres is None else "stopped; the server is gone")


def run_worker() -> None:
    """Serve as one of several workers: the program that a supervisor starts."""
    from rememo.serve.supervisor import read_config, report_ready, stop_with_supervisor

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is for the supervisor
    config = read_config()
    for name, value in config["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _set_up_logging(_log_lines(config))
    orphaned = threading.Event()

    def clean_up() -> None:
        orphaned.set()
        if config["metrics"]:
            shutil.rmtree(config["metrics"], ignore_errors=True)

    # The protocol is named: asyncio sends small answers without delay only on sockets that say they are TCP.
    with (
        socket.socket(config["family"], socket.SOCK_STREAM, socket.IPPROTO_TCP, config["socket"]) as listening,
        open_memory(config["file"], make=True) as memory,
    ):
        # A supervisor that was killed leaves its folder behind.
        stop_with_supervisor(clean_up)
        _serve_memory(memory, config, listening, report_ready)
    if orphaned.is_set():
        clean_up()  # again: another worker may have begun to answer there meanwhile


def _count_workers(wanted: int | None, file: str) -> int:
    """Return how many processes serve a memory; raises `InvalidInput` where there can be only one."""
    from rememo.engine.opening import file_of
    from rememo.serve.supervisor import can_share_sockets
    from rememo.store.sqlite.connection import MEMORY

    only_one = (
        "a memory that lives in one process" if file_of(resolve_location(file)) == MEMORY
        else None if can_share_sockets() else "Windows, where processes cannot share a socket"
    )  # fmt: skip
    if only_one is None:
        return wanted or min(_count_cores(), _MOST_WORKERS)
    if (wanted or 1) > 1:
        raise InvalidInput(f"--workers {wanted} is not possible on {only_one}; leave it out")
    return 1


def _count_cores() -> int:
    """Return how many processors this process may use, also in a container that has a part of the machine's."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no such file, or "max": no quota
        quota, period = map(int, _CPU_QUOTA.read_text(encoding="ascii").split())
        cores = min(cores, max(1, -(-quota // period)))
    return cores


def _log_lines(config: Mapping[str, Any]) -> logging.Handler:
    """Return what writes log lines on standard error in the format that was asked for."""
    from rememo.observe.logs import JsonLines

    lines = logging.StreamHandler()
    lines.setFormatter(
        JsonLines() if config["log"] == "json" else logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    )
    return lines


def _set_up_logging(lines: logging.Handler) -> None:
    logging.basicConfig(level=logging.WARNING, handlers=[lines])
    logging.getLogger("rememo.serve").setLevel(logging.INFO)


def _supervise(config: Mapping[str, Any], count: int, listening: socket.socket, ready: Callable[[], None]) -> bool:
    """Serve with several processes until interrupted; False when they cannot run."""
    from rememo.serve.shared_limits import SharedLimits, make_shared_file
    from rememo.serve.supervisor import Supervisor

    options = config["options"]
    descriptor = make_shared_file(streams=options["streams"], transfers=options["transfers"])
    limits = SharedLimits(descriptor)
    # They find the packages that this process found, however it was started: not those of the folder they are started in.
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    # A core is busy with a worker of its own: several threads of one that multiply arrays would wait for each other.
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    supervisor = Supervisor(
        [sys.executable, "-P", "-c", _WORKER], count, listening, [descriptor], environment, limits.forget, ready
    )
    with closing(limits), ExitStack() as stack:
        return supervisor.run(
            {
                **config, "socket": listening.fileno(), "family": listening.family, "shared": descriptor,
                "metrics": _metrics_folder(stack), "environment": {"PYTHONPATH": os.environ.get("PYTHONPATH")},
            }
        )  # fmt: skip


def _metrics_folder(stack: ExitStack) -> str | None:
    """Return a new folder for the sockets of metrics that is removed with the stack; None where there can be none."""
    for place in (None, "/tmp", "/var/tmp"):  # noqa: S108 - a new folder is made there with mkdtemp
        with suppress(OSError):
            if len(os.fsencode(place or tempfile.gettempdir())) <= _LONGEST_FOLDER:
                return stack.enter_context(tempfile.TemporaryDirectory(prefix="rememo-", dir=place))
    _log.warning("there is no place for temporary files: /metrics tells of one worker at a time")
    return None


def _serve_memory(
    memory: "Memory", config: Mapping[str, Any], listening: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve a memory in this process until interrupted; `ready` is called when it accepts requests."""
    from rememo.observe.traces import trace
    from rememo.serve.app import create_app
    from rememo.serve.maintenance import MaintenanceThread
    from rememo.serve.server import Server
    from rememo.serve.service import ServerOptions
    from rememo.serve.shared_limits import SharedLimits
    from rememo.serve.worker_metrics import WorkerMetrics

    # A short call hands the interpreter on at every statement, and among long ones waits for all of them each time.
    sys.setswitchinterval(_SWITCH_SECONDS)
    if config["options"]["traces"]:
        trace()
    index, metrics, shared = (config.get(name) for name in ("index", "metrics", "shared"))
    app = create_app(
        memory,
        ServerOptions(**config["options"]),
        shared=None if shared is None else SharedLimits(shared),
        workers=None if metrics is None else WorkerMetrics(Path(metrics), str(os.getpid())),
    )
    server = Server(app, ready)
    # Of several workers the first one keeps the memory in order.
    with MaintenanceThread(memory, None if index else config["maintain"]):
        # Also for the moments in which the server does not look after signals itself: at its start, and when it has ended
        # and raises the one that stopped it again.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _signal, _frame: server.stop())
        if index is None and hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, _stop_on_hangup(server.stop))
        server.run(sockets=[listening])


def _stop_on_hangup(stop: Callable[[], None]) -> Callable[[int, object], None]:
    """Return a signal handler that stops a server whose terminal was closed; one process cannot replace itself."""
    from rememo.serve.supervisor import has_terminal

    had_terminal = has_terminal()

    def handle(_signal: int, _frame: object) -> None:
        if had_terminal and not has_terminal():
            stop()

    return handle


def _own_server(file: str | None, stack: ExitStack) -> str:
    """Start a PostgreSQL server that ends with the stack, and return its address."""
    from rememo.store.postgres.embedded import EmbeddedPostgres

    if file is not None:
        raise InvalidInput("give a file or --postgres embedded, not both")
    url = stack.enter_context(EmbeddedPostgres()).url()
    errors.print("a PostgreSQL server was started for this; it and all it holds are gone when you stop", soft_wrap=True)
    return url
