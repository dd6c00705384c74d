"""`rememo bench`: measure quality on your own data."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import Progress

from rememo.bench import facts as fact_bench
from rememo.bench import quality as quality_bench
from rememo.cli.output import console

JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the figures there too.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(help="Measure what Rememo finds and learns.", no_args_is_help=True)
    group.command()(quality)
    group.command()(facts)
    cli.add_typer(group, name="bench")


def quality(
    path: Annotated[Path, typer.Argument(help="The dataset's file, plain or gzipped.")],
    dataset: Annotated[Literal["longmemeval", "locomo", "jsonl"], typer.Option(help="Its shape.")] = "jsonl",
    json_file: JsonFile = None,
) -> None:
    """Measure how much of the evidence recall finds, beside plain words and vectors alone."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("asking", total=None)
        report = quality_bench.measure(dataset, path, progress=lambda done: progress.update(task, completed=done))
    console.print(report.table(), markup=False, highlight=False, soft_wrap=True)
    if json_file is not None:
        json_file.write_text(json.dumps(report.to_dict(), indent=1))


def facts(
    path: Annotated[Path, typer.Argument(help="Labelled sentences, JSON Lines.")],
    details: Annotated[bool, typer.Option("--details", help="List what was missed and invented.")] = False,
) -> None:
    """Measure the facts found without a model on labelled sentences."""
    console.print(fact_bench.measure(path).table(details=details), markup=False, highlight=False, soft_wrap=True)
