"""`rememo migrate` and `rememo index`: schema migrations, and vector indexes of PostgreSQL."""

from typing import TYPE_CHECKING, Annotated

import typer

from rememo.cli.memory_location import existing_location, open_memory, without_password
from rememo.cli.output import FileArgument, JsonOption, console, errors, print_json
from rememo.errors import InvalidInput
from rememo.settings import Settings

if TYPE_CHECKING:
    from rememo.store.migrations import MigrationPlan

DryRun = Annotated[bool, typer.Option("--plan", help="Only show what would be done, with its SQL.")]
Contract = Annotated[
    bool, typer.Option("--contract", help="Remove what only older releases need; none of them may run any more.")
]
Security = Annotated[bool, typer.Option("--row-level-security", help="Isolate tenants by row-level security policies.")]
Grant = Annotated[str | None, typer.Option(help="Grant this role access to the tables.")]
Citus = Annotated[bool, typer.Option("--citus", help="Distribute the tables over a Citus cluster by tenant.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(migrate)
    cli.command()(index)


def migrate(
    file: FileArgument,
    plan: DryRun = False,
    contract: Contract = False,
    row_level_security: Security = False,
    grant: Grant = None,
    citus: Citus = False,
    json: JsonOption = False,
) -> None:
    """Migrate a store to the present schema, while others use it."""
    from rememo.engine.opening import migrate_store
    from rememo.store.migrations import MigrationOptions

    options = MigrationOptions(contract=contract, row_level_security=row_level_security, grant=grant, citus=citus)
    migration_plan = migrate_store(existing_location(file), options, dry=plan)
    if json:
        print_json(_to_json(migration_plan))
        return
    for step in migration_plan.steps:
        console.print(f"{step.name} ({step.phase})", markup=False, highlight=False)
        if plan:
            console.print(step.sql, markup=False, highlight=False, soft_wrap=True)
    if plan:
        for statement in migration_plan.statements:
            console.print(f"{statement};", markup=False, highlight=False, soft_wrap=True)
    elif migration_plan.statements:
        console.print(f"{len(migration_plan.statements):,} statements beside the migrations; --plan shows them before")
    for step in migration_plan.waiting:
        console.print(f"{step.name} waits for --contract", markup=False, highlight=False)
    for note in migration_plan.notes:
        errors.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    done = bool(migration_plan.steps or migration_plan.statements)
    ending = ("would be done" if plan else "done") if done else "is up to date"
    console.print(
        f"{migration_plan.place}: {ending}" if done else f"{migration_plan.place} {ending}",
        markup=False,
        highlight=False,
    )


def index(file: FileArgument, json: JsonOption = False) -> None:
    """Build the vector indexes of very large scopes on a PostgreSQL server, without blocking writes."""
    from rememo.engine.view import view_of
    from rememo.store.protocol.maintenance import IndexBuilding

    with open_memory(file, embedder=None, settings=Settings.load(worker=False)) as memory:
        store = view_of(memory).engine.store
        if not isinstance(store, IndexBuilding):
            raise InvalidInput(f"{without_password(file)} needs no index: in a file, vectors are compared whole")
        with console.status("building"):
            names = store.build_index()
    if json:
        print_json(names)
    else:
        console.print(", ".join(names) or "no scope is large enough; the setting `index_above` says how large")


def _to_json(plan: "MigrationPlan") -> dict[str, object]:
    return {
        "place": plan.place,
        "steps": [{"name": step.name, "phase": step.phase, "sql": step.sql} for step in plan.steps],
        "waiting": [step.name for step in plan.waiting],
        "statements": plan.statements,
        "notes": plan.notes,
    }
