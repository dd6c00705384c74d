"""`rememo archive`: records that retention policies archived before removing them."""

from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, print_json, print_table
from rememo.cli.store import Tenant


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(help="Records that retention policies archived before removing them.", no_args_is_help=True)
    group.command("list")(list_)
    group.command()(restore)
    group.command()(search)
    cli.add_typer(group, name="archive")


def list_(
    file: FileArgument,
    tenant: Tenant = "default",
    user: Annotated[str | None, typer.Option(help="Only archives with records of this user.")] = None,
    json: JsonOption = False,
) -> None:
    """List the archives of a tenant, oldest first."""
    with open_memory(file, tenant=tenant) as memory:
        entries = memory.archive.list(user=user)
    if json:
        print_json(entries)
        return
    # No more than fits beside a name, which begins with its time and is what `restore` takes.
    print_table(
        ["name", "policy", "records"], [[entry.name, entry.policy, entry.records] for entry in entries], whole=1
    )


def restore(
    file: FileArgument, name: Annotated[str, typer.Argument(help="The archive's name.")], tenant: Tenant = "default"
) -> None:
    """Restore everything in an archive; repeating it is harmless."""
    with open_memory(file, tenant=tenant) as memory, console.status("restoring"):
        restored = memory.archive.restore(name)
    console.print(f"{restored.records:,} records are back, {restored.present:,} were there already")


def search(
    file: FileArgument,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    tenant: Tenant = "default",
    limit: Annotated[int, typer.Option(help="Results at most.")] = 10,
    json: JsonOption = False,
) -> None:
    """Find archived records by their words."""
    with open_memory(file, tenant=tenant) as memory:
        hits = memory.archive.search(query, limit=limit)
    if json:
        print_json([{"archive": hit.archive, "score": hit.score, "record": hit.record} for hit in hits])
        return
    rows = [[hit.archive, f"{hit.score:.2f}", hit.record.kind, hit.record.at, hit.record.text] for hit in hits]
    print_table(["archive", "score", "kind", "when", "text"], rows)
