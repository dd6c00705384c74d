"""`rememo bench`: measure quality on your own data."""

import json
import os
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from rememo.bench import context as context_bench
from rememo.bench import contradictions as contradiction_bench
from rememo.bench import facts as fact_bench
from rememo.bench import guard as guard_bench
from rememo.bench import qa as qa_bench
from rememo.bench import quality as quality_bench
from rememo.bench import silence as silence_bench
from rememo.bench import speed as speed_bench
from rememo.bench import summaries as summary_bench
from rememo.bench.datasets import Dataset
from rememo.bench.lives import judge as lives_bench
from rememo.bench.lives.doors import DOORS
from rememo.bench.peers import run as peers_bench
from rememo.bench.peers import table as peer_table
from rememo.bench.report import Report
from rememo.cli.output import console
from rememo.cli.progress import progress_bar
from rememo.errors import InvalidInput
from rememo.llm.openai import OpenAICompatible
from rememo.settings import Settings

HeldOut = Annotated[bool, typer.Option("--held-out", help="Only the part that the rules were not tuned on.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the figures there too.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(help="Measure what Rememo finds and learns.", no_args_is_help=True)
    for command in (
        quality, speed, facts, contradictions, lives, silence, guard, summaries, context, qa, peers,
    ):  # fmt: skip
        group.command()(command)
    cli.add_typer(group, name="bench")


def quality(
    path: Annotated[Path, typer.Argument(help="The dataset's file, plain or gzipped.")],
    dataset: Annotated[Dataset, typer.Option(help="Its shape.")] = "jsonl",
    learn: Annotated[bool, typer.Option(help="Learn from what is stored, as memories do.")] = True,
    json_file: JsonFile = None,
) -> None:
    """Measure how much of the evidence recall finds, beside plain words and vectors alone."""
    with progress_bar("asking") as progress:
        report = quality_bench.measure(dataset, path, learn=learn, progress=lambda count: progress(count, None))
    _print_report(report, json_file)


def peers(
    only: Annotated[str, typer.Option(help="Which, with commas between; all unless given.")] = "",
    size: Annotated[int, typer.Option(help="Records to add.")] = 10_000,
    seconds: Annotated[float, typer.Option(help="What each piece of work may take.")] = 60.0,
    data: Annotated[Path | None, typer.Option(help="A dataset to measure quality with.")] = None,
    dataset: Annotated[Dataset, typer.Option(help="Its shape.")] = "jsonl",
    home: Annotated[Path, typer.Option(help="Where the peers are installed.")] = Path(".bench-peers"),
    plot: Annotated[Path | None, typer.Option(help="Draw the figures to a PNG file; needs matplotlib.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Install mem0, Chroma, LangGraph's store and others, give each the same work, and print it side by side."""
    chosen = [name.strip() for name in only.split(",") if name.strip()] or list(peers_bench.PEERS)
    work = peers_bench.Workload(size=size, seconds=seconds, searches=max(1, min(1_000, size)))
    with console.status("measuring") as status:
        report = peers_bench.measure(
            chosen, work, home=home, data=None if data is None else (dataset, data), progress=status.update
        )
    _print_table(peer_table.table(report))
    if plot is not None:
        peer_table.draw(report, plot)
    _write_json(report, json_file)


def speed(
    large: Annotated[
        bool, typer.Option("--large", help="Also 1,000 records in a file of 1,000,000: takes minutes.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the times to a PNG file; needs matplotlib.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure adding and searching at 1,000, 10,000 and 100,000 records in a scope."""
    sizes = [(1_000, 1_000), (10_000, 10_000), (100_000, 100_000), *([(1_000, 1_000_000)] if large else [])]
    with console.status("measuring") as status:
        report = speed_bench.measure(sizes, progress=status.update)
    _print_report(report, json_file)
    if plot is not None:
        report.plot(plot)


def facts(
    path: Annotated[Path, typer.Argument(help="Labelled sentences, JSON Lines.")],
    details: Annotated[bool, typer.Option("--details", help="List what was missed and invented.")] = False,
    held_out: HeldOut = False,
) -> None:
    """Measure the facts found without a model on labelled sentences."""
    scores = fact_bench.measure(path, held_out=held_out or None)
    _print_table(scores.table(details=details))


def contradictions(
    path: Annotated[Path, typer.Argument(help="Labelled lives, JSON Lines.")],
    details: Annotated[bool, typer.Option("--details", help="List what was missed and what ended wrongly.")] = False,
    held_out: HeldOut = False,
) -> None:
    """Measure whether what is said later ends what it contradicts, without a model, on labelled lives."""
    scores = contradiction_bench.measure(path, held_out=held_out or None)
    _print_table(scores.table(details=details))


def lives(
    path: Annotated[Path, typer.Argument(help="Labelled lives, JSON Lines.")],
    door: Annotated[str, typer.Option(help=f"The way in: {', '.join(DOORS)}, or all; several with commas.")] = "python",
    held_out: HeldOut = False,
    together: Annotated[int, typer.Option(min=1, help="Tell so many lives to one memory, as one person's.")] = 1,
    misses: Annotated[
        bool, typer.Option("--misses", help="List the questions that fail, with their first hits.")
    ] = False,
    mem0_python: Annotated[
        Path | None, typer.Option(help="An interpreter that has mem0ai; else that of .peers/mem0.")
    ] = None,
    langgraph_python: Annotated[
        Path | None, typer.Option(help="An interpreter that has rememo[langgraph]; else that of .frameworks/main.")
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure whether questions about what holds now, and what held before, are answered rightly, through every way in."""
    chosen = list(DOORS) if door == "all" else [name.strip() for name in door.split(",") if name.strip()]
    pythons = {"mem0": mem0_python, "langgraph": langgraph_python}
    environments = {name: python for name, python in pythons.items() if python is not None}
    with console.status("telling") as status:
        report = lives_bench.measure(
            path,
            doors=chosen,
            held_out=held_out or None,
            together=together,
            environments=environments,
            progress=status.update,
        )
    _print_table(report.table(misses=misses))
    _write_json(report.to_dict(), json_file)


def silence(
    path: Annotated[Path, typer.Argument(help="The dataset's file, plain or gzipped.")],
    dataset: Annotated[silence_bench.Shape, typer.Option(help="Its shape.")] = "lives",
    held_out: HeldOut = False,
    most: Annotated[int, typer.Option(min=1, help="Questions of either kind that a scope is asked at the most.")] = 200,
    json_file: JsonFile = None,
) -> None:
    """Measure how often a memory speaks where it has an answer, and where it is asked questions about another conversation."""
    with progress_bar("asking") as progress:
        report = silence_bench.measure(
            dataset, path, held_out=held_out or None, most=most, progress=lambda count: progress(count, None)
        )
    _print_report(report, json_file)


def summaries(
    path: Annotated[Path, typer.Argument(help="The dataset's file, plain or gzipped.")],
    dataset: Annotated[Dataset, typer.Option(help="Its shape.")] = "longmemeval",
    json_file: JsonFile = None,
) -> None:
    """Measure what summaries without a model keep of what is asked for later, beside plain ways to shorten."""
    with progress_bar("shortening") as progress:
        report = summary_bench.measure(dataset, path, progress=progress)
    _print_report(report, json_file)


def context(
    path: Annotated[Path, typer.Argument(help="The dataset's file, plain or gzipped.")],
    dataset: Annotated[Dataset, typer.Option(help="Its shape.")] = "jsonl",
    json_file: JsonFile = None,
) -> None:
    """Measure how much of what answers a question stands in its context, beside a plain packing."""
    with progress_bar("asking") as progress:
        report = context_bench.measure(dataset, path, progress=lambda count: progress(count, None))
    _print_report(report, json_file)


def guard(
    path: Annotated[Path, typer.Argument(help="Labelled texts, JSON Lines.")],
    details: Annotated[
        bool, typer.Option("--details", help="List what was missed and what was a false alarm.")
    ] = False,
) -> None:
    """Measure how many attacks are held back, and how many harmless texts with them."""
    _print_table(guard_bench.measure(path).table(details=details))


def qa(
    path: Annotated[Path, typer.Argument(help="The dataset's file, plain or gzipped.")],
    dataset: Annotated[Dataset, typer.Option(help="Its shape.")] = "locomo",
    url: Annotated[
        str | None, typer.Option(help="Where the reader is asked; the setting llm_url unless given.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which model reads; the setting llm_model unless given.")] = None,
    judge_url: Annotated[str | None, typer.Option(help="Where the judge is asked; as the reader unless given.")] = None,
    judge_model: Annotated[str | None, typer.Option(help="Which model judges; the reader unless given.")] = None,
    out: Annotated[Path, typer.Option(help="Where every prompt and answer goes; a run goes on with it.")] = Path(
        "qa.jsonl"
    ),
    ways: Annotated[
        str, typer.Option(help="What the reader is shown: rememo, words (BM25), full.")
    ] = "rememo,words,full",
    budget: Annotated[int, typer.Option(help="Tokens that are shown by rememo and words.")] = 4_000,
    full_tokens: Annotated[int, typer.Option(help="Tokens of the whole conversation at the most.")] = 100_000,
    limit: Annotated[int | None, typer.Option(help="Ask only the first so many questions.")] = None,
    concurrency: Annotated[int, typer.Option(help="How many questions are asked at once.")] = 4,
    json_file: JsonFile = None,
) -> None:
    """Let a model answer a dataset end to end and another judge it, beside BM25 and the whole conversation.

    Keys come from REMEMO_LLM_KEY and, for a judge elsewhere, REMEMO_JUDGE_KEY.
    """
    settings = Settings.load()
    where, which = url or settings.llm_url, model or settings.llm_model
    if not where or not which:
        raise InvalidInput("no reader is set: give --url and --model, or set llm_url and llm_model")
    key = settings.llm_key or None
    with (
        OpenAICompatible(where, which, key, timeout=settings.llm_timeout, concurrency=concurrency) as reader,
        OpenAICompatible(
            judge_url or where, judge_model or which, (os.environ.get("REMEMO_JUDGE_KEY") or None) if judge_url else key,
            timeout=settings.llm_timeout, concurrency=concurrency,
        ) as judge,
        progress_bar("asking") as progress,
    ):  # fmt: skip
        report = qa_bench.measure(
            dataset, path, reader=reader, judge=judge, out=out, budget=budget, full_tokens=full_tokens, limit=limit,
            ways=cast("list[qa_bench.Way]", [way.strip() for way in ways.split(",") if way.strip()]),
            concurrency=concurrency, progress=lambda count: progress(count, None),
        )  # fmt: skip
    _print_report(report, json_file)


def _print_report(report: Report, json_file: Path | None) -> None:
    _print_table(report.table())
    _write_json(report.to_dict(), json_file)


def _print_table(table: str) -> None:
    console.print(table, markup=False, highlight=False, soft_wrap=True)


def _write_json(figures: dict[str, Any], json_file: Path | None) -> None:
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=1))
