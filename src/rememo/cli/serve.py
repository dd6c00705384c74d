"""`rememo serve`: a memory for many programs, over HTTP."""

import logging
import signal
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Annotated, Literal

import typer

from rememo.cli.memory_location import default_location, open_memory, without_password
from rememo.cli.output import console, errors
from rememo.errors import InvalidInput, MissingExtra
from rememo.observe.logs import JsonLines
from rememo.observe.traces import trace

LogFormat = Literal["text", "json"]
_SWITCH_SECONDS = 0.001
"""The interpreter's thread switch interval."""


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
    threads: Annotated[int, typer.Option(help="Calls that run concurrently.")] = 4,
    queue: Annotated[int, typer.Option(help="Calls that wait for a thread; further ones get 503.")] = 128,
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
    from rememo.serve.app import create_app  # noqa: PLC0415 - the extra may not be installed
    from rememo.serve.listen import listen  # noqa: PLC0415 - the same
    from rememo.serve.loopback import is_loopback  # noqa: PLC0415 - the same
    from rememo.serve.maintenance import MaintenanceThread  # noqa: PLC0415 - the same
    from rememo.serve.server import Server  # noqa: PLC0415 - the same
    from rememo.serve.service import ServerOptions  # noqa: PLC0415 - the same

    # A short call hands the interpreter on at every statement, and among long ones waits for all of them each time.
    sys.setswitchinterval(_SWITCH_SECONDS)
    options = ServerOptions(
        rate=rate, max_body=max_body, max_import=max_import, threads=threads, queue=queue, streams=streams,
        origins=origin or (),
        traces=traces, root_path=root_path, warm=True,
    )  # fmt: skip
    lines = logging.StreamHandler()
    lines.setFormatter(
        JsonLines() if log == "json" else logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    )
    logging.basicConfig(level=logging.WARNING, handlers=[lines])
    logging.getLogger("rememo.serve").setLevel(logging.INFO)
    if traces:
        trace()
    with ExitStack() as stack:
        if postgres is not None:
            file = _own_server(file, stack)
        elif file is None:
            file = default_location()
        memory = stack.enter_context(open_memory(file, make=True))
        named = "-" if "://" in file else file
        app = create_app(memory, options)
        locked = app.state.service.keys.any()
        if not locked and not is_loopback(host):
            raise InvalidInput(
                f"there are no keys yet, and {host} can be reached from elsewhere: make one with"
                f" `rememo keys add {named}`, or listen on 127.0.0.1"
            )
        upkeep = MaintenanceThread(memory, None if maintain == "never" else maintain)
        with listen(host, port) as listening, upkeep:
            name = f"[{host}]" if ":" in host else host
            address = f"http://{name}:{listening.getsockname()[1]}"
            console.print(
                f"dashboard: {address}\nAPI: {address}/openapi.json (its routes are below /v1)\n"
                f"serving {without_password(file)}; Ctrl+C stops it",
                soft_wrap=True,
                markup=False,
            )
            if not locked:
                errors.print(
                    "there are no keys: whoever is on this machine may read and write;"
                    f" `rememo keys add {named}` makes the first, and from then on every request needs one",
                    soft_wrap=True, markup=False,
                )  # fmt: skip
            # The server re-raises the signal that stopped it to the previous handler: nothing is left to do then.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda _signal, _frame: None)
            Server(app).run(sockets=[listening])
    console.print("stopped; everything is stored" if postgres is None else "stopped; the server is gone")


def _own_server(file: str | None, stack: ExitStack) -> str:
    """Start a PostgreSQL server that ends with the stack, and return its address."""
    from rememo.store.postgres.embedded import EmbeddedServer  # noqa: PLC0415 - not on every system

    if file is not None:
        raise InvalidInput("give a file or --postgres embedded, not both")
    url = stack.enter_context(EmbeddedServer()).url()
    errors.print("a PostgreSQL server was started for this; it and all it holds are gone when you stop", soft_wrap=True)
    return url
