"""`rememo doctor` and `rememo jobs`: diagnose problems, and retry dead jobs."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rememo.cli.memory_location import open_memory, without_password
from rememo.cli.output import FileArgument, JsonOption, console, print_json, print_table
from rememo.cli.records import Tenant
from rememo.errors import RememoError
from rememo.keep.python_bugs import Release, find_python_bugs
from rememo.settings import Settings

if TYPE_CHECKING:
    from rememo.keep.health_check import CheckResult

_EXTRAS: Final = {
    "documents": "pypdf",
    "encrypt": "cryptography",
    "llm": "json_repair",
    "mcp": "mcp",
    "otel": "opentelemetry",
    "postgres": "psycopg",
    "redis": "redis",
    "s3": "obstore",
    "server": "fastapi",
}
_MARKS: Final = {"ok": "[green]ok[/]", "note": "[yellow]note[/]", "bad": "[bold red]bad[/]"}


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(doctor)
    cli.command()(jobs)


def doctor(
    file: FileArgument,
    tenant: Tenant = "default",
    deep: Annotated[bool, typer.Option("--deep", help="Also read the whole store and cross-check its parts.")] = False,
    json: JsonOption = False,
) -> None:
    """Check the store, its jobs, the disk, the embedder and the servers; exit code 1 when something is bad."""
    from rich.markup import escape

    from rememo.engine.view import view_of
    from rememo.keep.health_check import CheckResult, check_health

    findings: list[CheckResult] = []
    missing = [name for name, package in _EXTRAS.items() if find_spec(package) is None]
    installed = ", ".join(name for name in _EXTRAS if name not in missing) or "none"
    findings.append(CheckResult(what="extras", level="ok", said=f"installed: {installed}"))
    findings += _check_python(python_release())
    try:
        # A diagnosis changes nothing: no worker starts here.
        with open_memory(file, tenant=tenant, embedder=None, settings=Settings.load(worker=False)) as memory:
            engine = view_of(memory).engine
            with console.status(f"looking at {escape(without_password(file))}"):
                findings += check_health(engine, tenant, deep=deep)
    except RememoError as error:
        findings.append(CheckResult(what="store", level="bad", said=f"{error.code}: {error}"))
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            console.print(
                f"{_MARKS[finding.level]:>4} [bold]{finding.what}[/]: {escape(finding.said)}", highlight=False
            )
            if finding.mend is not None:
                console.print(f"     {escape(finding.mend)}", highlight=False, style="dim")
    if any(finding.level == "bad" for finding in findings):
        raise typer.Exit(1)


def python_release() -> Release:
    """Return the release of Python that runs this."""
    return sys.version_info[:3]


def _check_python(release: Release) -> "Iterator[CheckResult]":
    from rememo.keep.health_check import CheckResult

    shown_release = ".".join(map(str, release))
    faults = find_python_bugs(release)
    if not faults:
        yield CheckResult(what="python", level="ok", said=shown_release)
    for fault in faults:
        mend = f"install {'.'.join(map(str, fault.fixed))} or newer, unless your distribution has mended it"
        yield CheckResult(what="python", level="note", said=f"{shown_release}: {fault.description}", mend=mend)


def jobs(
    file: FileArgument,
    tenant: Tenant = "default",
    state: Annotated[str | None, typer.Option(help="Only those waiting, running, done or dead.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Retry all dead jobs.")] = False,
    json: JsonOption = False,
) -> None:
    """List the jobs of a tenant, or retry those that are dead."""
    with open_memory(file, tenant=tenant, embedder=None, settings=Settings.load(worker=False)) as memory:
        if retry:
            again = [memory.jobs.retry(job.id) for job in memory.jobs.list("dead")]
            if json:
                print_json({"retried": len(again)})
            else:
                console.print(f"{len(again):,} jobs will be retried")
            return
        listed = memory.jobs.list(state)  # pyright: ignore[reportArgumentType] - one that is none is refused there
    if json:
        print_json(listed)
        return
    rows = [[job.id, job.task, job.state, job.attempts, job.created_at, job.error or ""] for job in listed]
    print_table(["id", "task", "state", "attempts", "created", "error"], rows, whole=1)
