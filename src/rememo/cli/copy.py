"""`rememo copy`: copy a whole store into another, from a file to a server or back."""

from pathlib import Path
from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory, resolve_location, without_password
from rememo.cli.output import JsonOption, console, errors, escape_control, print_json
from rememo.errors import InvalidInput
from rememo.settings import Settings

Place = Annotated[
    str, typer.Argument(help="A file, an address such as postgresql://…, or - for the one in REMEMO_URL.")
]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(copy)


def copy(
    source: Place,
    target: Place,
    model: Annotated[
        str, typer.Option(help='The target\'s embedding model: "static", "fastembed:NAME", "openai:NAME" and so on.')
    ] = "static",
    json: JsonOption = False,
) -> None:
    """Copy everything of all tenants into another store, and check that both are alike; interrupted, do it again."""
    from rich.markup import escape
    from rich.progress import Progress

    from rememo.engine.embedders import embedder_by_name
    from rememo.engine.opening import file_of
    from rememo.engine.view import view_of
    from rememo.keep.copy import copy as copy_store

    files = file_of(resolve_location(source)), file_of(resolve_location(target))
    if resolve_location(source) == resolve_location(target) or (
        all(files) and len({Path(file).resolve() for file in files if file}) == 1
    ):
        raise InvalidInput("source and target are the same; copy into another store")
    quiet = Settings.load(worker=False)
    with (
        open_memory(source, embedder=None, settings=quiet) as old,
        open_memory(target, make=True, embedder=embedder_by_name(model), settings=quiet) as new,
        Progress(console=errors, transient=True, disable=json or not errors.is_terminal) as progress,
    ):
        engines = view_of(old).engine, view_of(new).engine
        tasks: dict[str, object] = {}

        def tell(tenant: str, seen: int) -> None:
            if tenant not in tasks:
                versions = engines[0].store.stats(tenant, engines[0].now()).versions
                tasks[tenant] = progress.add_task(f"copying {escape(escape_control(tenant))}", total=versions)
            progress.update(tasks[tenant], completed=seen)  # pyright: ignore[reportArgumentType] - rich's own number

        report = copy_store(*engines, tell)
    if json:
        print_json(report)
        return
    new_ones = report.new
    console.print(
        f"{report.versions:,} versions of {report.tenants:,} tenants are in {without_password(target)}, alike in both;"
        f" new were {new_ones.versions:,} versions, {new_ones.snapshots:,} snapshots, {new_ones.keys:,} keys and"
        f" {new_ones.jobs:,} jobs. The audit trail stays where it was written.",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
