"""`rememo mcp`: an MCP server over stdio.

It starts before the rest of Rememo is imported, because clients wait for the handshake.
"""

import logging
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from rememo.cli.memory_location import default_location, open_memory, resolve_location
from rememo.errors import InvalidInput, MissingExtra, RememoError

if TYPE_CHECKING:
    from rememo.memory import Memory


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(mcp)


def run_alone() -> None:
    """Run this command without importing the others."""
    cli = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    cli.command()(mcp)
    try:
        cli(args=sys.argv[2:], prog_name="rememo mcp")
    except RememoError as error:
        sys.exit(f"{error.code}: {error}")


def mcp(
    file: Annotated[
        str | None,
        typer.Argument(
            help="The memory: a file, made if it is not there, postgresql://… or a server's http(s)://…; else what"
            " REMEMO_URL says, else rememo.db."
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Whose memory it is.")] = None,
    room: Annotated[str | None, typer.Option(help="The conversation, chat or project.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent; leave it out to share with others.")] = None,
    tenant: Annotated[str, typer.Option(help="The tenant.")] = "default",
    key: Annotated[str | None, typer.Option(help="The key for a server, unless REMEMO_KEY holds it.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer nothing that writes.")] = False,
    compat: Annotated[
        Literal["graph"] | None,
        typer.Option(help="graph: the nine tools of the reference knowledge-graph memory server instead."),
    ] = None,
) -> None:
    """Serve a memory to an assistant over stdio (MCP) until it hangs up."""
    for package in ("mcp", "anyio"):
        if find_spec(package) is None:
            raise MissingExtra(f'this needs {package}: pip install "rememo[mcp]"')
    where = default_location() if file is None else resolve_location(file)
    remote = where.startswith(("http://", "https://"))
    if key is not None and not remote:
        raise InvalidInput("--key is for a server; give its address (http://… or https://…) instead of a file")
    from rememo.model.scope import Scope
    from rememo.serve.mcp.stdio import BackgroundMemory, serve_stdio

    labels = {"user": user, "room": room, "agent": agent}
    Scope().narrow(tenant=tenant, **labels)  # invalid labels are reported at once

    def opened() -> "Memory":
        if remote:
            from rememo.client import Client

            return cast(
                "Memory", Client(where, key or os.environ.get("REMEMO_KEY"), tenant=tenant).scope(**labels)
            )  # it has the same methods
        # Clients start this without a shell, so `~` is not expanded yet.
        path = str(Path(where).expanduser()) if where.startswith("~") else where
        return open_memory(path, make=True, tenant=tenant).scope(**labels)

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    opening = BackgroundMemory(opened)
    try:
        serve_stdio(
            opening,
            read_only=read_only,
            bound=frozenset(name for name, value in labels.items() if value is not None),
            graph=compat == "graph",
        )
    except KeyboardInterrupt:
        pass  # the usual way to stop it at a terminal
    finally:
        opening.close()
