"""The command line application, and its error output: one line and an exit code."""

import sys
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from rememo._version import __version__
from rememo.cli import (
    archive,
    audit,
    bench,
    chat,
    copy,
    demo,
    doctor,
    importing,
    keys,
    knowledge,
    mcp,
    migrate,
    quarantine,
    records,
    serve,
    spend,
    store,
    worker,
)
from rememo.cli.output import errors
from rememo.errors import RememoError

cli = typer.Typer(
    no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, help="Memory for AI agents."
)
for group in (
    demo, records, knowledge, chat, store, importing, migrate, copy, doctor, archive, audit, quarantine, worker, serve, mcp, keys,
    spend, bench,
):  # fmt: skip
    group.add_to(cli)


def _version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@cli.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Memory for AI agents: one file that remembers, finds and never loses."""


def app() -> None:
    """Run a command; an error of Rememo's, or of the system's, is one line on standard error and exit code 1."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, TextIOWrapper):
            # Characters that the output's encoding lacks are escaped instead of failing the command.
            output.reconfigure(errors="backslashreplace")
    try:
        cli()
    except RememoError as error:
        _exit_with_error(error.code, error)
    except OSError as error:
        _exit_with_error("system", error)


def _exit_with_error(code: str, error: Exception) -> NoReturn:
    errors.print(f"[bold red]{code}[/]: ", end="")
    errors.print(str(error), markup=False, highlight=False, soft_wrap=True)
    sys.exit(1)
