"""`rememo spend`: the usage and cost of language models."""

from dataclasses import asdict
from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, print_json, print_table
from rememo.cli.records import Tenant
from rememo.settings import Settings


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(spend)


def spend(
    file: FileArgument,
    tenant: Tenant = "default",
    days: Annotated[int, typer.Option(help="How many days back, today included.")] = 30,
    backlog: Annotated[
        bool, typer.Option("--backlog", help="Also estimate the cost of pending messages, without calling a model.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the usage of language models by day and purpose, and today's remaining budget."""
    with open_memory(file, tenant=tenant, embedder=None, settings=Settings.load(worker=False)) as memory:
        spending = memory.spending(days=days, backlog=backlog)
    if json:
        print_json({**asdict(spending), "left": spending.left, "tokens": spending.tokens, "cost": spending.cost})
        return
    if spending.entries:
        print_table(
            ["day", "purpose", "calls", "requests", "failed", "refused", "read", "written", "cost"],
            [
                [entry.day.isoformat(), entry.operation, entry.calls, entry.requests, entry.failed, entry.refused,
                 f"{entry.prompt:,}", f"{entry.completion:,}", f"{entry.cost:.4f}"]
                for entry in spending.entries
            ],
            whole=2,
        )  # fmt: skip
    console.print(f"{spending.tokens:,} tokens, cost {spending.cost:.4f}", highlight=False)
    left = "no ceiling" if spending.left is None else f"{spending.left:,} of {spending.ceiling:,} left"
    console.print(f"today: {spending.today:,} tokens, {left}", highlight=False)
    if (waits := spending.backlog) is not None:
        console.print(
            f"waiting: {waits.messages:,} messages in {waits.calls:,} calls, at most {waits.prompt:,} tokens read and"
            f" {waits.completion:,} written, cost {waits.cost:.4f}",
            highlight=False,
        )
