"""Tables named with the schema they are in.

Statements name tables alone, as those that all SQL stores share must. The schema is put before them here, so no connection is
asked to look for them: a pooler such as PgBouncer would not hand that on.
"""

import re
from functools import lru_cache
from typing import Final, LiteralString, cast

TABLES: Final = (
    "audit", "erased", "erasures", "floors", "jobs", "keys", "kv", "models", "progress", "records", "snapshots",
    "tenants", "trails", "vault", "vectors", "words",
)  # fmt: skip
"""Every table that statements name."""
_PLACES: Final = ("FROM", "JOIN", "INTO", "UPDATE", "COPY", "TABLE", "ON", "VACUUM")
_NAMED: Final = re.compile(rf"\b({'|'.join(_PLACES)})\s+({'|'.join(TABLES)})(_\d\d)?\b(?!\.)")


def table_name(schema: str, name: str) -> str:
    """Return a table, or an index, as statements name it."""
    return f'"{schema}".{name}'


@lru_cache(maxsize=4_096)
def to_statement(schema: str, sql: str) -> LiteralString:
    """Return a statement as the driver runs it: tables with their schema, and the driver's own sign for a value."""
    named = _NAMED.sub(lambda found: f'{found[1]} "{schema}".{found[2]}{found[3] or ""}', sql)
    return cast("LiteralString", named.replace("?", "%s"))
