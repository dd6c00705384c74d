"""Commands that show what was learned: facts, what contradicts, who has to do with whom."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.tree import Tree

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, parse_time, print_json, print_table
from rememo.cli.records import Label, Tenant
from rememo.collections.revisions import UNSURE, Revised


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(facts)
    cli.command()(conflicts)
    cli.command()(revisions)
    cli.command()(graph)


def facts(
    file: FileArgument,
    subject: Annotated[str | None, typer.Option(help="Of whom.")] = None,
    valid_at: Annotated[str | None, typer.Option(help="What held at that moment, such as 2026-05-01.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also what is superseded or retracted.")] = False,
    limit: Annotated[int, typer.Option(help="How many at the most.")] = 100,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """Show what is known of whom: what holds now, or held at a moment."""
    with open_memory(file, tenant=tenant) as memory:
        view = memory.scope(user=user, room=room, agent=agent)
        found = view.facts.list(
            subject=subject, valid_at=parse_time(valid_at, "--valid-at"), current_only=not all, limit=limit
        )
    if json:
        print_json(found)
        return
    head = ["subject", "predicate", "object", "sure", "from", "to", "status"]
    rows = [
        [one.subject, one.predicate, one.object, f"{one.confidence:.2f}", one.valid_from or "", one.valid_to or "",
         one.status] for one in found
    ]  # fmt: skip
    print_table(head, rows)


def conflicts(
    file: FileArgument,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """Show facts that contradict each other and wait to be settled, and revisions that are unsure."""
    with open_memory(file, tenant=tenant) as memory:
        view = memory.scope(user=user, room=room, agent=agent)
        found = view.facts.conflicts()
        unsure = view.revisions.list(max_confidence=UNSURE, decided=False)
    if json:
        print_json([*found, *unsure])
        return
    rows = [
        [one.subject, one.predicate, fact.object, f"{fact.confidence:.2f}", fact.valid_from or "", fact.id]
        for one in found
        for fact in one.facts
    ]
    print_table(["subject", "predicate", "object", "sure", "from", "id"], rows)
    if unsure:
        _print_revisions(unsure)


def revisions(
    file: FileArgument,
    confirm: Annotated[
        tuple[str, str] | None, typer.Option(metavar="ID BY", help="Say that the record BY did replace what ID says.")
    ] = None,
    reject: Annotated[
        tuple[str, str] | None, typer.Option(metavar="ID BY", help="Say that it did not, and ID holds.")
    ] = None,
    unsure: Annotated[bool, typer.Option("--unsure", help="Only those that do not count by themselves.")] = False,
    limit: Annotated[int, typer.Option(help="How many at the most.")] = 100,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """Show which earlier statements later ones are held to have replaced, or decide on one."""
    with open_memory(file, tenant=tenant) as memory:
        view = memory.scope(user=user, room=room, agent=agent)
        if confirm is not None or reject is not None:
            decided = [view.revisions.confirm(*confirm)] if confirm is not None else []
            found = [*decided, *([view.revisions.reject(*reject)] if reject is not None else [])]
        else:
            found = view.revisions.list(max_confidence=UNSURE if unsure else 1.0, limit=limit)
    if json:
        print_json(found)
    else:
        _print_revisions(found)


def _print_revisions(revisions: Sequence[Revised]) -> None:
    rows = [
        [one.wording, one.text, one.reason, f"{one.confidence:.2f}", one.decision, one.id, one.by] for one in revisions
    ]
    print_table(["earlier", "later", "reason", "sure", "decision", "id", "by"], rows)


def graph(
    file: FileArgument,
    entity: Annotated[str, typer.Argument(help="Where to start.")],
    depth: Annotated[int, typer.Option(help="How many steps away.")] = 2,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """Show who has to do with whom around an entity."""
    with open_memory(file, tenant=tenant) as memory:
        found = memory.scope(user=user, room=room, agent=agent).relationships.graph(entity, depth)
    if json:
        print_json(found)
        return
    edges = list(found.edges)
    tree = Tree(escape(entity))
    branches = {entity.casefold(): tree}
    # Each edge is shown once, under whichever of its ends was reached first.
    while near := [one for one in edges if {one.entity.casefold(), one.target.casefold()} & branches.keys()]:
        for one in near:
            edges.remove(one)
            outward = one.entity.casefold() in branches
            start, end = (one.entity, one.target) if outward else (one.target, one.entity)
            label = f"{one.type} → {end}" if outward else f"← {one.type} {end}"
            branch = branches[start.casefold()].add(escape(label))
            branches.setdefault(end.casefold(), branch)
    console.print(tree)
