"""`rememo quarantine`: list, release and delete quarantined records."""

from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, print_json, print_table
from rememo.cli.records import RecordId
from rememo.cli.short_ids import find_id, shorten

Tenant = Annotated[str, typer.Option(help="The tenant.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(help="List, release and delete quarantined records.", no_args_is_help=True)
    group.command("list")(list_)
    group.command()(release)
    group.command()(delete)
    cli.add_typer(group, name="quarantine")


def list_(
    file: FileArgument,
    limit: Annotated[int, typer.Option(help="How many at the most.")] = 100,
    tenant: Tenant = "default",
    json: JsonOption = False,
) -> None:
    """List the records in quarantine, oldest first, with the reasons."""
    with open_memory(file, tenant=tenant) as memory:
        records = memory.quarantine.list(limit=limit)
    if json:
        print_json(records)
        return
    print_table(
        ["id", "when", "kind", "source", "why", "text"],
        [
            [shorten(record.id), record.at, record.kind, record.source, record.quarantine, record.text]
            for record in records
        ],
        whole=1,
    )


def release(
    file: FileArgument,
    id: RecordId,
    by: Annotated[str, typer.Option(help="Who releases it.")],
    tenant: Tenant = "default",
) -> None:
    """Release a record: search finds it, and facts are learned from it."""
    with open_memory(file, tenant=tenant) as memory:
        memory.quarantine.release(find_id(memory, id), by=by)
    console.print(f"{id} is released", markup=False)


def delete(file: FileArgument, id: RecordId, tenant: Tenant = "default") -> None:
    """Delete a quarantined record."""
    with open_memory(file, tenant=tenant) as memory:
        memory.quarantine.delete(find_id(memory, id))
    console.print(f"{id} is deleted", markup=False)
