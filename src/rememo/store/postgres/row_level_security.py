"""Row-level security: the server itself keeps tenants apart, whatever a statement forgets.

Every transaction says whose it is (`rememo.tenant`), or that it works for the whole store (`rememo.everywhere`). One that
says neither is refused, so that nothing looks empty that is not.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from rememo.store.postgres.tenant_guard import current_tenant

TENANT_SETTING = "rememo.tenant"
_EVERYWHERE = "rememo.everywhere"
POLICY = "rememo_tenant"
_CONDITION = "(tenant = current_setting('rememo.tenant') OR current_setting('rememo.everywhere', true) = 'on')"
_SECURED = "SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass"
# Partitions are tables of their own: whoever names one passes the policies of the whole.
_OPEN_TABLES = """SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant' AND NOT attisdropped
WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')
  AND (NOT relrowsecurity OR NOT relforcerowsecurity
    OR NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid AND polname = %s))
ORDER BY relname"""
_ROLE = "SELECT rolsuper, rolsuper OR rolbypassrls, rolname FROM pg_roles WHERE rolname = current_user"
# Without it, the index of words is passed over: the server fears that the comparison could tell of rows behind the policy.
# It compares words byte by byte and tells nothing.
_LEAKPROOF = "SELECT proleakproof FROM pg_proc WHERE oid = 'pg_catalog.arraycontains(anyarray,anyarray)'::regprocedure"
MAKE_LEAKPROOF = sql.SQL("ALTER FUNCTION pg_catalog.arraycontains(anyarray, anyarray) LEAKPROOF")
_GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT {rights} ON ALL TABLES IN SCHEMA {schema} TO {role}",
    # For the tables of later migrations.
    "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT {rights} ON TABLES TO {role}",
)
_RIGHTS = "SELECT, INSERT, UPDATE, DELETE"
_MAINTAINABLE = 170_000
"""Servers from this version on let others than the owner vacuum a table, which an erasure does."""


def tenant_settings() -> dict[str, str]:
    """Return what tells a transaction whose rows it may reach."""
    tenant = current_tenant()
    reach = ("", "on") if tenant is None else (tenant, "")
    return dict(zip((TENANT_SETTING, _EVERYWHERE), reach, strict=True))


def has_row_level_security(connection: "psycopg.Connection[Any]", schema: str) -> bool:
    """Whether the store of a schema has row-level security."""
    row = connection.execute(_SECURED, (f"{schema}.records",)).fetchone()
    return row is not None and row[0]


def policy_statements(connection: "psycopg.Connection[Any]", schema: str) -> list[sql.Composed | sql.SQL]:
    """Return the statements that put a wall around each table that still has none."""
    tables = [row[0] for row in connection.execute(_OPEN_TABLES, (schema, POLICY))]
    return [statement for table in tables for statement in _table_policy(schema, table)]


def _table_policy(schema: str, table: str) -> Sequence[sql.Composed]:
    names = {"table": sql.Identifier(schema, table), "policy": sql.Identifier(POLICY), "condition": sql.SQL(_CONDITION)}
    return [
        sql.SQL(text).format(**names)
        for text in (
            "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
            "DROP POLICY IF EXISTS {policy} ON {table}",
            "CREATE POLICY {policy} ON {table} USING {condition} WITH CHECK {condition}",
        )
    ]


def grant_statements(schema: str, role: str, *, version: int) -> list[sql.Composed | sql.SQL]:
    """Return the statements that let a role read and write a store that it does not own, on a server of some version."""
    rights = _RIGHTS + (", MAINTAIN" if version >= _MAINTAINABLE else "")
    names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role), "rights": sql.SQL(rights)}
    return [sql.SQL(text).format(**names) for text in _GRANTS]


def leakproof_state(connection: "psycopg.Connection[Any]") -> tuple[bool, bool]:
    """Return whether words are found slowly behind policies, and whether this role may change that."""
    quick = connection.execute(_LEAKPROOF).fetchone()
    superuser = connection.execute(_ROLE).fetchone()
    return not (quick and quick[0]), bool(superuser and superuser[0])


def bypassing_role(connection: "psycopg.Connection[Any]") -> str | None:
    """Return the name of this role if policies do not hold it, else None."""
    row = connection.execute(_ROLE).fetchone()
    return row[2] if row is not None and row[1] else None
