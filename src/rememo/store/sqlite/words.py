"""Words of records in FTS5, and how they are asked for.

A row of the index is a line of terms: each term of the text once, `term^2` when it stands twice and `term^3` when it
stands three times or more, and one label term for every combination of the record's scope labels. A search is then
`label AND term`: the scope is applied by the index itself, whichever labels a view is bound to.
"""

import zlib
from base64 import b32encode
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import product

import numpy as np

from rememo.model.scope import Scope
from rememo.store.protocol import WordMatch
from rememo.store.sqlite.connection import Connection

BUCKETS = 16
MOST_COUNTED = 3


@lru_cache(maxsize=4096)
def tables(tenant: str) -> tuple[str, str]:
    """Return the tables of a tenant's bucket: for current versions and for past ones."""
    bucket = zlib.crc32(tenant.encode()) % BUCKETS
    return f"words_{bucket:02}", f"past_{bucket:02}"


def all_tables() -> list[str]:
    """Return every table of words."""
    return [f"{prefix}_{bucket:02}" for prefix in ("words", "past") for bucket in range(BUCKETS)]


@lru_cache(maxsize=65_536)
def label(tenant: str, agent: str | None, user: str | None, room: str | None) -> str:
    """Return the term that stands for a combination of labels."""
    digest = blake2b(repr((tenant, agent, user, room)).encode(), digest_size=10).digest()
    return "^" + b32encode(digest).decode().lower()


@lru_cache(maxsize=16_384)
def labels(tenant: str, agent: str | None, user: str | None, room: str | None) -> str:
    """Return the label terms of a record: one for each combination that a view may ask by."""
    choices = [(None,) if value is None else (None, value) for value in (agent, user, room)]
    return " ".join(label(tenant, *combination) for combination in product(*choices))


def line(scope: Scope, terms: Sequence[str]) -> str:
    """Return the row of the index for a text's terms."""
    parts = [labels(scope.tenant, scope.agent, scope.user, scope.room)]
    for term, count in Counter(terms).items():
        parts.append(term)
        if count > 1:
            parts.append(term + "^2")
            if count >= MOST_COUNTED:
                parts.append(term + "^3")
    return " ".join(parts)


def match(connection: Connection, scope: Scope, terms: Sequence[str], *, past: bool) -> list[WordMatch]:
    """Return where each term stands within a scope: in current versions, or in past ones too."""
    current_table, past_table = tables(scope.tenant)
    wanted = label(scope.tenant, scope.agent, scope.user, scope.room)
    found: list[WordMatch] = []
    for term in dict.fromkeys(terms):
        numbers: list[int] = []
        levels: list[list[int]] = []
        for table in (current_table, past_table) if past else (current_table,):
            sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"
            for level in range(MOST_COUNTED):
                mark = f"^{level + 1}" if level else ""
                rows = [row[0] for row in connection.execute(sql, (f'"{wanted}" AND {_quoted(term + mark)}',))]
                if level == 0:
                    numbers += rows
                else:
                    levels.append(rows)
                if not rows:
                    break
        places = np.array(sorted(numbers), dtype=np.int64)
        counts = np.ones(len(places), dtype=np.int8)
        for rows in levels:
            counts[np.searchsorted(places, rows)] += 1
        found.append(WordMatch(term, places, counts))
    return found


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
