"""Past one machine: the tables spread over the nodes of a Citus cluster by their tenant.

All tables of a tenant lie on one node, so that a transaction of a tenant is one of that node. What belongs to no tenant is
small and lies on all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

_FIRST = "tenants"
_LOCAL = frozenset(("migrations",))
"""Tables that are read only when the store is opened: they are not distributed."""
_INSTALLED = "SELECT 1 FROM pg_extension WHERE extname = 'citus'"
_SPREAD = """SELECT relname FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
WHERE relnamespace = %s::regnamespace"""
_TABLES = """SELECT relname, EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant' AND NOT attisdropped)
FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname"""

SIZE = """SELECT coalesce(sum(size), 0)::bigint FROM citus_shard_sizes()
JOIN pg_dist_shard ON pg_dist_shard.shardid = shard_id JOIN pg_class ON pg_class.oid = logicalrelid
WHERE relnamespace = %s::regnamespace"""
"""What a schema's tables weigh on all nodes; its parameter is the schema."""
NODES = """SELECT extversion, (SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards) FROM pg_extension
WHERE extname = 'citus'"""
"""The version of the extension, and how many nodes hold tenants."""
NOT_SPREAD = f"""SELECT relname::text FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')
AND NOT relispartition AND relname <> ALL(ARRAY[{", ".join(map(repr, sorted(_LOCAL)))}])
AND oid NOT IN (SELECT logicalrelid FROM pg_dist_partition) ORDER BY relname"""
"""Tables that should be spread and are not; its parameter is the schema."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is not a part of another."""

    name: str
    of_tenants: bool
    """Whether its rows belong to tenants."""


def spread(schema: str, tables: Sequence[Table]) -> list[sql.Composed]:
    """Return the statements that spread tables over a cluster.

    One is spread first, and all others beside it. Parts of a table go with it. What has no tenant is copied to every node.
    """
    statements: list[sql.Composed] = []
    for table in sorted(tables, key=lambda table: (table.of_tenants, table.name != _FIRST, table.name)):
        if table.name in _LOCAL:
            continue
        name = sql.Literal(f"{schema}.{table.name}")
        if not table.of_tenants:
            statements.append(sql.SQL("SELECT create_reference_table({})").format(name))
        elif table.name == _FIRST:
            statements.append(
                sql.SQL("SELECT create_distributed_table({}, 'tenant', colocate_with => 'none')").format(name)
            )
        else:
            first = sql.Literal(f"{schema}.{_FIRST}")
            statements.append(
                sql.SQL("SELECT create_distributed_table({}, 'tenant', colocate_with => {})").format(name, first)
            )
    return statements


def has_citus(connection: "psycopg.Connection[Any]") -> bool:
    """Whether the database has the extension."""
    return connection.execute(_INSTALLED).fetchone() is not None


def distributed_tables(connection: "psycopg.Connection[Any]", schema: str) -> set[str]:
    """Return the tables of a store that are spread already, parts of them too."""
    if not has_citus(connection):
        return set()
    return {row[0] for row in connection.execute(_SPREAD, (schema,))}


def distribution(connection: "psycopg.Connection[Any]", schema: str) -> list[sql.Composed]:
    """Return the statements that spread the tables of a store that are not spread yet."""
    done = distributed_tables(connection, schema)
    tables = [Table(name, of_tenants) for name, of_tenants in connection.execute(_TABLES, (schema,))]
    return spread(schema, [table for table in tables if table.name not in done])
