"""The commands by name: which module holds each, and how `rememo --help` groups them.

A command is imported when it is called: what the others need is not loaded. So the overview has to know them without
importing them; a test compares it with their docstrings.
"""

import sys
from collections.abc import Iterable
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, Final, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand

from rememo._version import __version__
from rememo.cli.memory_location import default_argument
from rememo.errors import RememoError


class Command(NamedTuple):
    """One command, or a group of them, as the overview shows it."""

    module: str
    panel: str
    help: str


_DAILY: Final = "Remember and find"
_LEARNED: Final = "Facts and models"
_SERVING: Final = "Serve and run"
_MOVING: Final = "Import, export and backup"
_UPKEEP: Final = "Checks and upkeep"
_SAFETY: Final = "Erasure, encryption and audit"
_MEASURES: Final = "Measurements"
_CONTEXT: Final = {"help_option_names": ["--help", "-h"]}

COMMANDS: Final = {
    "add": Command("records", _DAILY, "Remember a text and print its id."),
    "search": Command("records", _DAILY, "Search for a question, best hits first."),
    "context": Command("records", _DAILY, "Print what a model would be shown for a question."),
    "ask": Command("records", _DAILY, "Answer a question from memory and cite the records; exit code 1 when memory has no answer."),
    "list": Command("records", _DAILY, "List the latest records, oldest first."),
    "show": Command("records", _DAILY, "Show one record."),
    "history": Command("records", _DAILY, "Show every version of a record, oldest first."),
    "forget": Command("records", _DAILY, "Forget a record, and what was learned from it: it is no longer found; `erase` removes it for good."),
    "chat": Command("chat", _DAILY, "Talk to a memory: it keeps what you say, learns facts, and answers with what it remembers."),
    "demo": Command("demo", _DAILY, "Watch a memory remember, find, learn, correct itself and travel in time."),
    "facts": Command("knowledge", _DAILY, "List facts: the current ones, or those valid at a time."),
    "conflicts": Command("knowledge", _LEARNED, "List open conflicts between facts, and uncertain revisions."),
    "revisions": Command("knowledge", _LEARNED, "List which earlier statements were replaced by later ones, or decide on one."),
    "graph": Command("knowledge", _LEARNED, "Show the relationships around an entity."),
    "spend": Command("spend", _LEARNED, "Show the usage of language models by day and purpose, and today's remaining budget."),
    "reembed": Command("store", _LEARNED, "Change the embedding model: new vectors are built beside the old ones and swapped in when complete; resumable."),
    "serve": Command("serve", _SERVING, "Serve a memory over HTTP until interrupted; requests in progress are finished first."),
    "mcp": Command("mcp", _SERVING, "Serve a memory to an assistant over stdio (MCP) until it hangs up."),
    "worker": Command("worker", _SERVING, "Run the jobs of all tenants of a store until interrupted; any number of workers can run side by side."),
    "jobs": Command("doctor", _SERVING, "List the jobs of a tenant, or retry those that are dead."),
    "keys": Command("keys", _SERVING, "Manage the API keys of a server."),
    "import": Command("importing", _MOVING, "Import an export of Rememo, or data of other systems; repeating it is harmless."),
    "export": Command("store", _MOVING, "Write everything of a tenant to a JSON Lines file; the export of an encrypted store is encrypted."),
    "copy": Command("copy", _MOVING, "Copy everything of all tenants into another store, and check that both are alike; interrupted, do it again."),
    "backup": Command("store", _MOVING, "Copy the whole file, all tenants, while others write."),
    "restore": Command("store", _MOVING, "Restore a backup into a new file, after checking it; the backup is not changed."),
    "archive": Command("archive", _MOVING, "Records that retention policies archived before removing them."),
    "doctor": Command("doctor", _UPKEEP, "Check the store, its jobs, the disk, the embedder and the servers; exit code 1 when something is bad."),
    "stats": Command("store", _UPKEEP, "Show record counts of a tenant, and the size of the file."),
    "verify": Command("store", _UPKEEP, "Verify the integrity of the store; exit code 1 when it is damaged."),
    "repair": Command("store", _UPKEEP, "Recover what is readable of a damaged file into a new one; the damaged one is not changed."),
    "maintain": Command("store", _UPKEEP, "Reclaim expired records, and run the tenant's retention policies; exit code 1 when one was refused or failed."),
    "migrate": Command("migrate", _UPKEEP, "Migrate a store to the present schema, while others use it."),
    "index": Command("migrate", _UPKEEP, "Build the vector indexes of very large scopes on a PostgreSQL server, without blocking writes."),
    "erase": Command("store", _SAFETY, "Erase a user, room, agent, records or a whole tenant for good, and verify it; exit code 1 when something is left."),
    "audit": Command("audit", _SAFETY, "List, verify and export the audit trail."),
    "quarantine": Command("quarantine", _SAFETY, "List, release and delete quarantined records."),
    "encryption": Command("encryption", _SAFETY, "Manage the master key and the data keys of an encrypted store."),
    "bench": Command("bench", _MEASURES, "Measure what Rememo finds and learns."),
}  # fmt: skip

OVERVIEW: Final = f"""\
Rememo {__version__}: memory for AI agents.

  rememo add "I moved to Lisbon in May."      remember something
  rememo search "Where do I live?"            find it again
  rememo context "Where do I live?"           what a model would be shown
  rememo chat                                 talk to a memory
  rememo serve                                HTTP API and dashboard

The memory is the file rememo.db in this folder, or what REMEMO_URL says, or a FILE before the other arguments.
A tour: rememo demo. All commands: rememo --help.
"""


class MemoryCommand(TyperCommand):
    """A command whose first argument, FILE, may be left out: the number of arguments tells."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        required = [param.name for param in self.params if param.param_type_name == "argument" and param.required]
        self._required = required if required[:1] == ["file"] else []
        if self._required:
            self.params[0].required = False  # as its help says

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the default location in front where there is one too few."""
        if self._required and not set(ctx.help_option_names) & set(args):
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
            if sum(isinstance(given.get(str(name)), str) for name in self._required) < len(self._required):
                args = [default_argument(), *args]
        return super().parse_args(ctx, args)


def _make_app() -> typer.Typer:
    cli = typer.Typer(
        add_completion=True, pretty_exceptions_enable=False, rich_markup_mode="rich", context_settings=_CONTEXT
    )
    cli.callback()(options)
    return cli


def make_cli(modules: Iterable[str] | None = None) -> typer.Typer:
    """Return the application with the commands of some modules, or of all."""
    cli = _make_app()
    for module in dict.fromkeys(command.module for command in COMMANDS.values()) if modules is None else modules:
        import_module(f"rememo.cli.{module}").add_to(cli)
    for command in cli.registered_commands:
        if command.callback is not None:
            name = command.name or command.callback.__name__.replace("_", "-")
            command.rich_help_panel = COMMANDS[name].panel
            command.cls = MemoryCommand
    for group in cli.registered_groups:
        group.rich_help_panel = COMMANDS[str(group.name)].panel
        for command in group.typer_instance.registered_commands if group.typer_instance is not None else ():
            command.cls = MemoryCommand
    return cli


def make_overview() -> typer.Typer:
    """Return an application that knows what its commands are called, and nothing more: for `rememo --help`."""
    cli = _make_app()
    for name, command in COMMANDS.items():
        cli.command(name, help=command.help, rich_help_panel=command.panel)(_do_nothing)
    return cli


def run(cli: typer.Typer) -> None:
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


def _do_nothing() -> None:
    """Stand for a command in the overview."""


def _print_version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


def options(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    """Memory for AI agents: one file that remembers, finds and never loses.

    FILE is optional everywhere: else the address in REMEMO_URL, else rememo.db in this folder.
    """


def _exit_with_error(code: str, error: Exception) -> NoReturn:
    from rememo.cli.output import errors

    errors.print(f"[bold red]{code}[/]: ", end="")
    errors.print(str(error), markup=False, highlight=False, soft_wrap=True)
    sys.exit(1)
