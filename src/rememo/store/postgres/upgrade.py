"""`rememo migrate` on a server: the steps that are due, and what is wished for beside them."""

from typing import Any, LiteralString, cast

import psycopg

from rememo.errors import InvalidInput, StorageError
from rememo.store.migrations import MigrationOptions, MigrationPlan
from rememo.store.postgres.address import PostgresAddress
from rememo.store.postgres.citus import distributed_tables, distribution, has_citus
from rememo.store.postgres.connector import Connector
from rememo.store.postgres.errors import translate
from rememo.store.postgres.migrate import hold, migrate, patiently, plan, settle
from rememo.store.postgres.row_level_security import (
    MAKE_LEAKPROOF,
    bypassing_role,
    grant_statements,
    has_row_level_security,
    leakproof_state,
    policy_statements,
)

_DISTRIBUTES = "SELECT create_"
_NO_CITUS = (
    "{place} has not the extension citus; install it on all nodes, add it to shared_preload_libraries"
    " and run CREATE EXTENSION citus"
)


def upgrade(
    address: PostgresAddress, wishes: MigrationOptions, *, dry: bool = False, wait: float = 30.0
) -> MigrationPlan:
    """Do to a store on a server what is due and what is wished for, or only tell it; returns what was done."""
    try:
        connector = Connector(address, {}, name="rememo migrate")
        with connector.first() as connection:
            return _Upgrade(connection, address, wishes, wait, pooled=connector.pooled).run(dry=dry)
    except psycopg.Error as error:
        raise translate(error, address.shown) from error


class _Upgrade:
    def __init__(
        self,
        connection: "psycopg.Connection[Any]",
        address: PostgresAddress,
        wishes: MigrationOptions,
        wait: float,
        *,
        pooled: bool,
    ) -> None:
        self._connection, self._pooled = connection, pooled
        self._schema, self._place = address.schema, address.shown
        self._wishes, self._wait = wishes, wait

    def run(self, *, dry: bool) -> MigrationPlan:
        self._check()
        if dry:
            return self._report()
        if self._wishes.citus and not has_citus(self._connection):
            raise StorageError(_NO_CITUS.format(place=self._place))
        steps = migrate(self._connection, self._schema, self._place, self._wishes, wait=self._wait, pooled=self._pooled)
        statements, notes = self._extras()
        self._do(statements)
        return MigrationPlan(
            place=self._place, steps=steps.steps, waiting=steps.waiting, statements=statements, notes=notes
        )

    def _report(self) -> MigrationPlan:
        """Tell what would be done; where there is nothing yet, it is made and undone to see what it would be."""
        due = plan(self._connection, self._schema, self._place, self._wishes)
        with self._connection.transaction() as undone:
            if due.steps and not self._exists():
                steps = [step for step in due.steps if not step.one_by_one]
                migrate(self._connection, self._schema, self._place, wait=self._wait, steps=steps)
            statements, notes = self._extras() if self._exists() else ((), ())
            if self._wishes.citus and not has_citus(self._connection):
                notes = (*notes, _NO_CITUS.format(place=self._place))
            raise psycopg.Rollback(undone)
        return MigrationPlan(
            place=self._place, steps=due.steps, waiting=due.waiting, statements=statements, notes=notes
        )

    def _exists(self) -> bool:
        row = self._connection.execute("SELECT to_regclass(%s)", (f"{self._schema}.records",)).fetchone()
        return row is not None and row[0] is not None

    def _check(self) -> None:
        wishes, exists = self._wishes, self._exists()
        walled = wishes.row_level_security or (exists and has_row_level_security(self._connection, self._schema))
        spread = wishes.citus or (exists and bool(distributed_tables(self._connection, self._schema)))
        if walled and spread:
            raise InvalidInput(
                "a store cannot have both row-level security and Citus: its nodes would not know whose transaction it is"
            )
        if wishes.grant is not None:
            role = self._connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (wishes.grant,)).fetchone()
            if role is None:
                raise InvalidInput(f"there is no role {wishes.grant!r} on {self._place}; run CREATE ROLE first")

    def _extras(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the statements for what is wished beside the steps, and what somebody else has to see to."""
        connection, notes = self._connection, list[str]()
        statements = [*(distribution(connection, self._schema) if self._wishes.citus else ())]
        if self._wishes.row_level_security:
            statements += policy_statements(connection, self._schema)
            slow, allowed = leakproof_state(connection)
            if slow and allowed:
                statements.append(MAKE_LEAKPROOF)
            elif slow:
                statement = MAKE_LEAKPROOF.as_string(connection)
                notes.append(f"searches by words read a whole tenant until a superuser has run here: {statement}")
            if (role := bypassing_role(connection)) is not None:
                notes.append(
                    f"no policy holds the role {role}: let programs connect as another one, made ready by --grant"
                )
        if self._wishes.grant is not None:
            statements += grant_statements(self._schema, self._wishes.grant, version=connection.info.server_version)
        return tuple(statement.as_string(connection) for statement in statements), tuple(notes)

    def _do(self, statements: tuple[str, ...]) -> None:
        if not statements:
            return
        # Each table is spread by itself, so that one who is interrupted goes on where it was.
        for statement in statements:
            if statement.startswith(_DISTRIBUTES):
                with self._connection.transaction():
                    settle(self._connection, self._schema, self._wait)
                    self._connection.execute(cast("LiteralString", statement))

        def run() -> bool:
            hold(self._connection, self._schema, self._wait)
            for statement in statements:
                if not statement.startswith(_DISTRIBUTES):
                    self._connection.execute(cast("LiteralString", statement))
            return True

        patiently(self._connection, run, self._wait)
