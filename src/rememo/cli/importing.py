"""`rememo import`: import an export of Rememo, or data of other systems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rememo.cli.memory_location import open_memory, without_password
from rememo.cli.output import FileArgument, JsonOption, console, errors, print_json, print_table
from rememo.cli.progress import progress_bar
from rememo.cli.records import Tenant
from rememo.errors import InvalidInput
from rememo.settings import Settings

if TYPE_CHECKING:
    from rememo.imports import ImportReport
    from rememo.memory import Memory

_OWN: Final = "rememo"
SOURCES: Final = (
    "chatgpt-export",
    "claude-export",
    "hindsight",
    "jsonl",
    "langgraph",
    "letta",
    "mem0",
    "openai-agents",
)
"""The names of `rememo.imports.SOURCES`: an import of that package takes longer than the help of this command may."""
_CHUNK: Final = 2**20


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command("import")(import_)


def import_(
    file: FileArgument,
    path: Annotated[Path, typer.Argument(help="The file to import.")],
    source: Annotated[
        str, typer.Option("--from", help=f"Where it comes from: {_OWN} (an export of ours), {', '.join(SOURCES)}.")
    ] = _OWN,
    user: Annotated[str | None, typer.Option(help="Whose it is.")] = None,
    room: Annotated[str | None, typer.Option(help="The room that all of it goes to.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent it belongs to.")] = None,
    tenant: Tenant = "default",
    learn: Annotated[
        bool, typer.Option("--learn/--no-learn", help="Whether facts are learned from messages and notes.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Import an export of Rememo, or data of other systems; repeating it is harmless."""
    if source == _OWN:
        if user or room or agent or not learn:
            raise InvalidInput(
                "an export of Rememo brings its own labels; --user, --room, --agent and --no-learn are for --from"
            )
        _import_export(file, path, tenant, json=json)
        return
    if source not in SOURCES:
        raise InvalidInput(f"nothing can be imported from {source!r}; say --from {_OWN}, {', '.join(SOURCES)}")
    # An import is not a flood, however large; its texts are checked by the guard all the same.
    settings = Settings.load(worker=False, guard_flood=0)
    with open_memory(file, make=True, tenant=tenant, settings=settings) as memory:
        done = _import_with_progress(
            memory.scope(user=user, room=room, agent=agent), path, source, learn=learn, quiet=json
        )
    if json:
        print_json(done)
    else:
        _print_report(done, file)


def _import_export(file: str, path: Path, tenant: str, *, json: bool) -> None:
    from rememo.engine.view import view_of
    from rememo.keep.import_file import import_file
    from rememo.working.import_checks import check_entry

    with (
        open_memory(file, make=True, tenant=tenant) as memory,
        progress_bar("importing", quiet=json) as progress,
    ):
        twice = 2 * _count_lines(path)  # every line is checked before the first is stored
        done = import_file(
            view_of(memory).engine, memory.bound, path, check_entry, lambda passed: progress(passed, twice)
        )
    if json:
        print_json(done)
        return
    console.print(
        f"{done.versions:,} new versions, {done.keys:,} keys, {done.snapshots:,} snapshots, {done.jobs:,} jobs"
    )


def _import_with_progress(memory: "Memory", path: Path, source: str, *, learn: bool, quiet: bool) -> "ImportReport":
    from rememo.imports import import_from

    with progress_bar("importing", bytes=True, quiet=quiet) as progress:
        return import_from(memory, path, source, learn=learn, progress=progress)


def _count_lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
    except OSError:
        return 0  # the import says why


def _print_report(done: "ImportReport", file: str) -> None:
    rows = [(kind, f"{done.added.get(kind, 0):,}", f"{done.known.get(kind, 0):,}") for kind in _kinds(done)]
    print_table(["what", "new", "there already"], rows)
    if done.left_out:
        print_table(["left out", "count"], [(reason, f"{count:,}") for reason, count in done.left_out.items()])
    if done.taken_back:
        console.print(
            f"{done.taken_back:,} messages were taken back: they were edited, or asked for again, since they were imported",
            markup=False,
        )
    for problem in done.problems:
        errors.print(problem, markup=False, highlight=False, soft_wrap=True)
    if done.quarantined:
        console.print(
            f"{done.quarantined:,} were quarantined; see: rememo quarantine list {without_password(file)}", markup=False
        )
    if done.jobs:
        console.print(
            f"{done.jobs:,} messages and notes wait to be learned from: rememo worker {without_password(file)} --once",
            markup=False,
        )


def _kinds(done: "ImportReport") -> list[str]:
    return sorted({*done.added, *done.known}) or ["nothing"]
