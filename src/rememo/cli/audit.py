"""`rememo audit`: list, verify and export the audit trail."""

from dataclasses import asdict
from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, errors, parse_time, print_json, print_table
from rememo.cli.store import Target, Tenant
from rememo.errors import InvalidInput
from rememo.model.audit import AuditEntry, AuditHead

Moment = Annotated[str | None, typer.Option(help="An ISO 8601 time; UTC without a zone.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(help="List, verify and export the audit trail.", no_args_is_help=True)
    group.command("list")(list_)
    group.command()(verify)
    group.command()(export)
    cli.add_typer(group, name="audit")


def list_(
    file: FileArgument,
    tenant: Tenant = "default",
    actor: Annotated[str | None, typer.Option(help="Only entries of this actor.")] = None,
    operation: Annotated[str | None, typer.Option(help='Only this operation, such as "write" or "export".')] = None,
    after: Moment = None,
    before: Moment = None,
    limit: Annotated[int, typer.Option(help="Entries at most, the latest.")] = 100,
    json: JsonOption = False,
) -> None:
    """List the audit trail of a tenant, oldest first."""
    with open_memory(file, tenant=tenant) as memory:
        entries = memory.audit.list(
            after=parse_time(after, "--after"),
            before=parse_time(before, "--before"),
            actor=actor,
            operation=operation,
            limit=limit,
        )
    if json:
        print_json(entries)
        return
    head = ["line", "when", "who", "from", "operation", "what", "scope", "flags"]
    print_table(head, [_row(entry) for entry in entries])


def verify(
    file: FileArgument,
    tenant: Tenant = "default",
    head: Annotated[str | None, typer.Option(help="A head that was printed before, as COUNT:HASH.")] = None,
    json: JsonOption = False,
) -> None:
    """Verify that no entry was altered, removed or inserted, and print the head; exit code 1 when one was."""
    with open_memory(file, tenant=tenant) as memory, console.status("checking"):
        check = memory.audit.verify(head=None if head is None else _head(head))
    if json:
        print_json({"ok": check.ok, **asdict(check)})
    else:
        for fault in check.faults:
            errors.print(fault, markup=False)
        if check.ok:
            console.print(f"whole: {check.head.count:,} lines; keep this head elsewhere:")
            console.print(f"{check.head.count}:{check.head.hash}", soft_wrap=True, highlight=False)
    if not check.ok:
        raise typer.Exit(1)


def export(file: FileArgument, target: Target, tenant: Tenant = "default") -> None:
    """Write the audit trail of a tenant to a JSON Lines file."""
    with open_memory(file, tenant=tenant) as memory, console.status("exporting"):
        count = memory.audit.export(target)
    console.print(f"{count:,} lines")


def _row(entry: AuditEntry) -> list[object]:
    counts = ", ".join(f"{name} {value}" for name, value in entry.detail.items())
    bound = {name: value for name, value in asdict(entry.scope).items() if name != "tenant" and value is not None}
    scope = ", ".join(f"{name} {value}" for name, value in bound.items())
    who = entry.actor or ("erased" if "who" in entry.redacted else "")
    origin = " ".join(part for part in (entry.session, entry.address) if part)
    return [entry.number, entry.at, who, origin, entry.operation, counts, scope, ", ".join(entry.flags)]


def _head(text: str) -> AuditHead:
    count, _, hash = text.partition(":")
    if not count.isdecimal() or not hash:
        raise InvalidInput(f"a head looks like COUNT:HASH, as `rememo audit verify` prints it, not {text!r}")
    return AuditHead(count=int(count), hash=hash)
