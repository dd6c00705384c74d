"""Commands on records: add, search, context, ask, list, show, history and forget."""

from collections.abc import Sequence
from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, errors, escape_control, print_json, print_table
from rememo.cli.short_ids import find_id, shorten
from rememo.errors import InvalidInput

Tenant = Annotated[str, typer.Option(help="The tenant.")]
Label = Annotated[str | None, typer.Option(help="Only records with this label.")]
Limit = Annotated[int, typer.Option(help="How many at the most.")]
RecordId = Annotated[str, typer.Argument(help="The record's id, whole or as `rememo search` prints it.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(add)
    cli.command()(search)
    cli.command()(context)
    cli.command()(ask)
    cli.command("list")(list_)
    cli.command()(show)
    cli.command()(history)
    cli.command()(forget)


def add(
    file: FileArgument,
    text: Annotated[str, typer.Argument(help="What to remember.")],
    kind: Annotated[str, typer.Option(help="What it is.")] = "note",
    tenant: Tenant = "default",
    user: Annotated[str | None, typer.Option(help="Whose it is.")] = None,
    room: Annotated[str | None, typer.Option(help="The conversation that it belongs to.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that it belongs to.")] = None,
    learn: Annotated[bool, typer.Option("--learn/--no-learn", help="Whether facts are learned from it.")] = True,
) -> None:
    """Remember a text and print its id."""
    if not text.strip():
        raise InvalidInput("there is nothing to remember: the text is empty")
    with open_memory(file, make=True, tenant=tenant) as memory:
        receipt = memory.scope(user=user, room=room, agent=agent).add(text, kind=kind, learn=learn)
        console.print(receipt.id, markup=False)


def search(
    file: FileArgument,
    query: Annotated[str, typer.Argument(help="The question.")],
    limit: Limit = 10,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the score of each hit.")] = False,
    json: JsonOption = False,
) -> None:
    """Search for a question, best hits first."""
    with open_memory(file, tenant=tenant) as memory:
        hits = memory.scope(user=user, room=room, agent=agent).search(query, limit=limit, explain=explain)
    if json:
        print_json(hits)
        return
    head = ["id", "score", "when", "kind", "status", "text", *(["why"] if explain else [])]
    rows: list[list[object]] = []
    for hit in hits:
        why = ", ".join(f"{name} {part:.2f}" for name, part in hit.reasons.items() if part)
        record = hit.record
        row: list[object] = [shorten(record.id), f"{hit.score:.2f}", record.at, record.kind, hit.status, record.text]
        rows.append([*row, why] if explain else row)
    print_table(head, rows, whole=1)


def context(
    file: FileArgument,
    query: Annotated[str, typer.Argument(help="The question.")],
    max_tokens: Annotated[int, typer.Option(help="Tokens at the most.")] = 1_500,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
) -> None:
    """Print what a model would be shown for a question."""
    with open_memory(file, tenant=tenant) as memory:
        made = memory.scope(user=user, room=room, agent=agent).context(query, max_tokens=max_tokens)
    console.print(escape_control(made.text), markup=False, highlight=False, soft_wrap=True)


def ask(
    file: FileArgument,
    question: Annotated[str, typer.Argument(help="The question.")],
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    words: Annotated[bool, typer.Option("--words", help="Answer with the text of records, without a model.")] = False,
    json: JsonOption = False,
) -> None:
    """Answer a question from memory and cite the records; exit code 1 when memory has no answer."""
    with open_memory(file, tenant=tenant) as memory:
        answer = memory.scope(user=user, room=room, agent=agent).ask(question, model=not words)
    if json:
        print_json(answer)
    else:
        console.print(escape_control(answer.text), markup=False, highlight=False, soft_wrap=True)
        if answer.citations:
            console.print(
                f"from {', '.join(map(shorten, answer.citations))}", style="dim", markup=False, soft_wrap=True
            )
        if answer.fallback is not None:
            errors.print(f"without the model: {escape_control(answer.fallback)}", markup=False)
    if not answer.found:
        raise typer.Exit(1)


def list_(
    file: FileArgument,
    kind: Annotated[str | None, typer.Option(help="Only records of this kind, such as message or note.")] = None,
    limit: Limit = 20,
    tenant: Tenant = "default",
    user: Label = None,
    room: Label = None,
    agent: Label = None,
    json: JsonOption = False,
) -> None:
    """List the latest records, oldest first."""
    with open_memory(file, tenant=tenant) as memory:
        records = memory.scope(user=user, room=room, agent=agent).list(kind=kind, limit=limit)
    if json:
        print_json(records)
        return
    rows: Sequence[Sequence[object]] = [
        [shorten(record.id), record.at, record.kind, record.scope.user or "", record.scope.room or "", record.text]
        for record in records
    ]
    print_table(["id", "when", "kind", "user", "room", "text"], rows, whole=1)


def show(file: FileArgument, id: RecordId, tenant: Tenant = "default", json: JsonOption = False) -> None:
    """Show one record."""
    with open_memory(file, tenant=tenant) as memory:
        record = memory.get(find_id(memory, id))
    if json:
        print_json(record)
        return
    print_table(
        ["field", "value"], [[name, value] for name, value in record.to_dict().items() if value not in (None, {})]
    )


def history(file: FileArgument, id: RecordId, tenant: Tenant = "default", json: JsonOption = False) -> None:
    """Show every version of a record, oldest first."""
    with open_memory(file, tenant=tenant) as memory:
        versions = memory.history(find_id(memory, id))
    if json:
        print_json(versions)
        return
    rows = [
        [version.version, version.recorded_at, version.superseded_at or "current", version.text] for version in versions
    ]
    print_table(["version", "known from", "until", "text"], rows)


def forget(
    file: FileArgument,
    id: RecordId,
    tenant: Tenant = "default",
) -> None:
    """Forget a record, and what was learned from it: it is no longer found; `erase` removes it for good."""
    with open_memory(file, tenant=tenant) as memory:
        record = memory.get(find_id(memory, id))
        memory.delete(record.id)
    console.print(f"forgotten: {escape_control(record.text)}", markup=False, highlight=False, soft_wrap=True)
