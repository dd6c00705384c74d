"""Commands on a whole store: export, backup, restore, erase, verify, repair, re-embed, statistics, maintenance."""

import os
import shutil
from dataclasses import asdict
from functools import partial
from getpass import getuser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from rememo.cli.memory_location import load_keyring, open_memory, resolve_location, without_password
from rememo.cli.output import FileArgument, JsonOption, console, errors, join_counts, print_json, print_table
from rememo.cli.progress import part_size, polled_progress, progress_bar
from rememo.cli.short_ids import find_id
from rememo.errors import AlreadyExists, Corrupt, IncompatibleStore, InvalidInput, KeyMismatch, NotFound
from rememo.model.scope import DEFAULT_TENANT, LABELS, Scope
from rememo.settings import Settings

Tenant = Annotated[str, typer.Option(help="The tenant.")]
Target = Annotated[Path, typer.Argument(help="The new file to write.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(export)
    cli.command()(backup)
    cli.command()(restore)
    cli.command()(erase)
    cli.command()(verify)
    cli.command()(repair)
    cli.command()(reembed)
    cli.command()(stats)
    cli.command()(maintain)


def export(
    file: FileArgument,
    target: Target,
    tenant: Tenant = "default",
    plain: Annotated[bool, typer.Option("--plain", help="Export plaintext from an encrypted store.")] = False,
) -> None:
    """Write everything of a tenant to a JSON Lines file; the export of an encrypted store is encrypted."""
    from rememo.engine.view import view_of
    from rememo.keep.export import export as export_scope

    with open_memory(file, tenant=tenant) as memory, progress_bar("exporting") as progress:
        versions = memory.stats().versions
        exported = export_scope(
            view_of(memory).engine,
            memory.bound,
            target,
            plain=plain,
            progress=lambda count: progress(count, versions),
        )
    console.print(
        f"{exported.versions:,} versions, {exported.keys:,} keys, {exported.snapshots:,} snapshots, {exported.jobs:,} jobs"
    )


def backup(file: FileArgument, target: Target) -> None:
    """Copy the whole file, all tenants, while others write."""
    with open_memory(file) as memory:
        stats = memory.stats()
        total = stats.file_bytes - stats.free_bytes
        with polled_progress("copying", total, lambda: part_size(target), bytes=True):
            memory.backup(target)
    console.print(f"{target} holds the whole of {without_password(file)}", markup=False)


def restore(backup: Annotated[str, typer.Argument(help="The backup.")], target: Target) -> None:
    """Restore a backup into a new file, after checking it; the backup is not changed."""
    from rememo.files import create_file
    from rememo.keep.keyring import VARIABLE
    from rememo.store.sql.verify import VERIFY_PROGRESS

    source = _local_file(backup, "restore")
    if target.exists():
        raise AlreadyExists(f"{target} is there already; restore into a new file")
    log = source.with_name(source.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise InvalidInput(
            f"{source} is a memory in use, no backup: {log.name} holds what is not in it; `rememo backup` it"
        )
    try:
        # A folder of its own: no conflict with existing files or concurrent restores.
        with TemporaryDirectory(prefix=f"{target.name}.", dir=target.parent) as folder:
            part = Path(folder) / target.name
            create_file(part, Settings.load().file_permissions)
            with polled_progress("copying", source.stat().st_size, lambda: part.stat().st_size, bytes=True):
                shutil.copyfile(source, part)
            # The copy is opened, not the backup: opening a file writes to it.
            with (
                progress_bar("checking") as progress,
                open_memory(str(part), embedder=None, settings=Settings.load(worker=False)) as memory,
            ):
                VERIFY_PROGRESS.set(progress)
                check = memory.verify()
            if check.faults:
                raise Corrupt(f"{source} is damaged: {check.faults[0]}; take another backup, or `rememo repair` it")
            os.link(part, target)
    except KeyMismatch as error:
        raise KeyMismatch(f"{source} needs its master key in {VARIABLE} to be checked") from error
    except IncompatibleStore as error:
        raise IncompatibleStore(f"{source} is no backup of a memory, or of a newer Rememo") from error
    except FileExistsError as error:
        raise AlreadyExists(f"{target} is there already; restore into a new file") from error
    except OSError as error:
        raise InvalidInput(f"{source} could not be copied to {target}: {error.strerror}") from error
    console.print(f"{target} is what {source} was: {join_counts(check.checked)}", markup=False, highlight=False)


def erase(
    file: FileArgument,
    user: Annotated[str | None, typer.Option(help="Everything of this user.")] = None,
    room: Annotated[str | None, typer.Option(help="Everything of this room.")] = None,
    agent: Annotated[str | None, typer.Option(help="Everything of this agent.")] = None,
    id: Annotated[
        list[str] | None,
        typer.Option(help="This record, by its whole id or its short one; may be given several times."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="The whole tenant, which --tenant must name then.")
    ] = False,
    tenant: Annotated[str | None, typer.Option(help="The tenant; `default` unless given.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Erase a user, room, agent, records or a whole tenant for good, and verify it; exit code 1 when something is left."""
    from rememo.keep.erasure_targets import make_target

    if everything and tenant is None:
        raise InvalidInput(
            "--everything erases a whole tenant, so name it: add --tenant NAME (a memory that never named one has the"
            " tenant `default`); nothing was erased"
        )
    with open_memory(file, tenant=DEFAULT_TENANT if tenant is None else tenant) as memory:
        whole = tenant if everything else None
        ids = [find_id(memory, given) for given in id or ()] or None
        named = make_target(memory.bound, user=user, room=room, agent=agent, tenant=whole, ids=ids).named
        target_text = ", ".join(f"{name} {value}" for name, value in named.items())
        run = partial(memory.erase, user=user, room=room, agent=agent, tenant=whole, ids=ids)
        if not (yes or dry_run):
            counts_text = join_counts(run(dry_run=True).counts) or "nothing"
            # With --json the prompt goes to standard error.
            if not typer.confirm(
                f"Erase {target_text} from {without_password(file)} ({counts_text})? Nothing brings it back.", err=json
            ):
                raise typer.Exit(1)
        with console.status("erasing"), memory.acting(actor=f"cli:{getuser()}"):
            receipt = run(dry_run=dry_run)
    if json:
        print_json({"ok": receipt.ok, **asdict(receipt), "digest": receipt.digest})
    else:
        removed = "would be removed" if dry_run else "removed"
        print_table([removed, "count"], [[name, f"{count:,}"] for name, count in receipt.counts.items()])
        if dry_run:
            return
        console.print(f"searched: {join_counts(receipt.checked)}")
        for copy in (*receipt.backups, *receipt.archives, *receipt.beyond):
            errors.print(f"may still hold it: {copy}", markup=False)
        for left in receipt.leftovers:
            errors.print(f"still there: {left}", markup=False)
        console.print(f"receipt {receipt.digest}", highlight=False, soft_wrap=True)
    if not receipt.ok:
        raise typer.Exit(1)


def verify(file: FileArgument, json: JsonOption = False) -> None:
    """Verify the integrity of the store; exit code 1 when it is damaged."""
    from rememo.store.sql.verify import VERIFY_PROGRESS

    with open_memory(file) as memory, progress_bar("checking", quiet=json) as progress:
        VERIFY_PROGRESS.set(progress)
        check = memory.verify()
    if json:
        print_json({"ok": check.ok, **asdict(check)})
    elif check.ok:
        console.print(f"sound: {join_counts(check.checked)}")
    else:
        for fault in (*check.faults, *check.missing_vectors):
            errors.print(fault, markup=False)
        if check.faults:
            errors.print(f"run: rememo repair {without_password(file)} NEW_FILE", markup=False)
        if check.missing_vectors:
            errors.print(
                f"run: rememo reembed {without_password(file)} MODEL, with the model that it has", markup=False
            )
    if not json:
        if check.owed_vectors:
            errors.print(f"{check.owed_vectors:,} vectors are owed: a worker makes them", markup=False)
        for what in check.unchecked:
            errors.print(f"not checked: {what}", markup=False)
    if not check.ok:
        raise typer.Exit(1)


def _local_file(address: str, verb: str) -> Path:
    """Return the file of a location; raises for servers and missing files, without showing a password."""
    from rememo.engine.opening import file_of

    path = file_of(resolve_location(address))
    if path is None:
        raise InvalidInput(f"{without_password(address)} is no file: a server's own tools {verb} what it holds")
    if not Path(path).is_file():
        raise NotFound(f"there is no file {path}; check its name")
    return Path(path)


def repair(file: FileArgument, target: Target) -> None:
    """Recover what is readable of a damaged file into a new one; the damaged one is not changed."""
    from rememo.engine.opening import repair_file

    with console.status("reading what can be read"):
        report = repair_file(str(_local_file(file, "repair")), str(target), encryption=load_keyring())
    print_table(["what", "saved"], [[name, f"{count:,}"] for name, count in report.recovered.items()])
    for loss in report.lost:
        errors.print(loss, markup=False)


def reembed(
    file: FileArgument,
    model: Annotated[
        str, typer.Argument(help='"static", "fastembed:NAME", "sentence-transformers:NAME" or "openai:NAME".')
    ],
    url: Annotated[str | None, typer.Option(help="The endpoint's address, for openai: models.")] = None,
    dimension: Annotated[
        int | None, typer.Option(help="The length of its vectors, for openai: models; else it is asked.")
    ] = None,
) -> None:
    """Change the embedding model: new vectors are built beside the old ones and swapped in when complete; resumable."""
    from rememo.engine.embedders import embedder_by_name

    embedder = embedder_by_name(model, url=url, dimension=dimension)
    with open_memory(file, embedder=None) as memory, progress_bar(f"embedding by {embedder.name}") as progress:
        count = memory.reembed(embedder, progress=progress)
    console.print(f"{count:,} versions have vectors of {embedder.name}", markup=False)
    if model != Settings.load().embedder:
        console.print(f"open it with REMEMO_EMBEDDER={model} from now on, or embedder={model!r}", markup=False)


def stats(file: FileArgument, tenant: Tenant = "default", json: JsonOption = False) -> None:
    """Show record counts of a tenant, and the size of the file."""
    with open_memory(file, tenant=tenant) as memory:
        counts = memory.stats()
    if json:
        print_json(counts)
        return
    rows = [[name, value] for name, value in asdict(counts).items() if value is not None]
    print_table(["what", "count"], rows)


def maintain(
    file: FileArgument,
    tenant: Tenant = "default",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    json: JsonOption = False,
) -> None:
    """Reclaim expired records, and run the tenant's retention policies; exit code 1 when one was refused or failed."""
    with open_memory(file, tenant=tenant) as memory:
        report = memory.maintain(dry_run=dry_run)
    if json:
        print_json(report)
    else:
        console.print("nothing was reclaimed: a dry run" if dry_run else f"{report.reclaimed:,} reclaimed")
        if report.runs:
            rows = [
                [
                    run_report.policy,
                    run_report.does,
                    _describe_scope(run_report.scope),
                    run_report.found,
                    run_report.refused or run_report.done,
                ]
                for run_report in report.runs
            ]
            print_table(["policy", "does", "where", "found", "done"], rows)
        for run_report in report.runs:
            if run_report.failed:
                errors.print(f"{run_report.policy} stopped: {run_report.failed}", markup=False)
    if not report.ok:
        raise typer.Exit(1)


def _describe_scope(scope: Scope) -> str:
    labels = {name: getattr(scope, name) for name in LABELS}
    return " ".join(f"{name}={label}" for name, label in labels.items() if label is not None) or "everywhere"
