"""Commands on learned knowledge: facts, conflicts, revisions and the relationship graph."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, parse_time, print_json, print_table
from rememo.cli.records import Label, Tenant
from rememo.cli.short_ids import find_id, shorten

if TYPE_CHECKING:
    from rememo.collections.revisions import Revised


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(facts)
    cli.command()(conflicts)
    cli.command()(revisions)
    cli.command()(graph)


def facts(
    file: FileArgument,
    subject: Annotated[str | None, typer.Option(help="Only facts of this subject.")] = None,
    valid_at: Annotated[str | None, typer.Option(help="Only facts valid at this time, such as 2026-05-01.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also what is superseded or retracted.")] = False,
    limit: Annotated[int, typer.Option(help="How many at the most.")] = 100,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """List facts: the current ones, or those valid at a time."""
    with open_memory(file, tenant=tenant) as memory:
        view = memory.scope(user=user, room=room, agent=agent)
        listed = view.facts.list(
            subject=subject, valid_at=parse_time(valid_at, "--valid-at"), current_only=not all, limit=limit
        )
    if json:
        print_json(listed)
        return
    head = ["id", "subject", "predicate", "object", "confidence", "from", "to", "status"]
    rows = [
        [shorten(fact.id), fact.subject, fact.predicate, fact.object, f"{fact.confidence:.2f}", fact.valid_from or "", fact.valid_to or "",
         fact.status] for fact in listed
    ]  # fmt: skip
    print_table(head, rows, whole=1)


def conflicts(
    file: FileArgument,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """List open conflicts between facts, and uncertain revisions."""
    from rememo.collections.revisions import UNSURE

    with open_memory(file, tenant=tenant) as memory:
        view = memory.scope(user=user, room=room, agent=agent)
        open_conflicts = view.facts.conflicts()
        unsure = view.revisions.list(max_confidence=UNSURE, decided=False)
    if json:
        print_json([*open_conflicts, *unsure])
        return
    rows = [
        [
            conflict.subject,
            conflict.predicate,
            fact.object,
            f"{fact.confidence:.2f}",
            fact.valid_from or "",
            shorten(fact.id),
        ]
        for conflict in open_conflicts
        for fact in conflict.facts
    ]
    print_table(["subject", "predicate", "object", "confidence", "from", "id"], rows)
    if unsure:
        _print_revisions(unsure)


def revisions(
    file: FileArgument,
    confirm: Annotated[
        tuple[str, str] | None, typer.Option(metavar="ID BY", help="Confirm that the record BY replaced the record ID.")
    ] = None,
    reject: Annotated[
        tuple[str, str] | None, typer.Option(metavar="ID BY", help="Reject that BY replaced ID: ID is still current.")
    ] = None,
    unsure: Annotated[bool, typer.Option("--unsure", help="Only uncertain ones, which need a decision.")] = False,
    limit: Annotated[int, typer.Option(help="How many at the most.")] = 100,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """List which earlier statements were replaced by later ones, or decide on one."""
    from rememo.collections.revisions import UNSURE

    with open_memory(file, tenant=tenant) as memory:
        view = memory.scope(user=user, room=room, agent=agent)
        if confirm is not None or reject is not None:
            decided = [view.revisions.confirm(*(find_id(memory, id) for id in confirm))] if confirm else []
            revised = [*decided, *([view.revisions.reject(*(find_id(memory, id) for id in reject))] if reject else [])]
        else:
            revised = view.revisions.list(max_confidence=UNSURE if unsure else 1.0, limit=limit)
    if json:
        print_json(revised)
    else:
        _print_revisions(revised)


def _print_revisions(revisions: "Sequence[Revised]") -> None:
    rows = [
        [
            revision.wording,
            revision.text,
            revision.reason,
            f"{revision.confidence:.2f}",
            revision.decision,
            shorten(revision.id),
            shorten(revision.by),
        ]
        for revision in revisions
    ]
    print_table(["earlier", "later", "reason", "confidence", "decision", "id", "by"], rows)


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
    """Show the relationships around an entity."""
    from rich.markup import escape
    from rich.tree import Tree

    with open_memory(file, tenant=tenant) as memory:
        neighbourhood = memory.scope(user=user, room=room, agent=agent).relationships.graph(entity, depth)
    if json:
        print_json(neighbourhood)
        return
    edges = list(neighbourhood.edges)
    tree = Tree(escape(entity))
    branches = {entity.casefold(): tree}
    # Each edge is shown once, under whichever of its ends was reached first.
    while near := [edge for edge in edges if {edge.entity.casefold(), edge.target.casefold()} & branches.keys()]:
        for edge in near:
            edges.remove(edge)
            outward = edge.entity.casefold() in branches
            start, end = (edge.entity, edge.target) if outward else (edge.target, edge.entity)
            label = f"{edge.type} → {end}" if outward else f"← {edge.type} {end}"
            branch = branches[start.casefold()].add(escape(label))
            branches.setdefault(end.casefold(), branch)
    console.print(tree)
