"""Words of records in FTS5, and how they are asked for.

A row of the index is a line of terms: each term of the text once, `term^2` when it stands twice and `term^3` when it
stands three times or more, and one label term for the tenant and each scope label. A search is then `label AND term` by
the narrowest label of the view: the index itself keeps to it, and the timeline of the view drops what other labels exclude.

New rows wait in the table `staged` and are moved into FTS5 many at a time; a search reads both.
"""

import zlib
from base64 import b32encode
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rememo.model.scope import Scope
from rememo.store.matches import WordMatch
from rememo.store.sqlite.connection import Connection

BUCKETS = 16
MOST_COUNTED = 3
MOST_STAGED = 64
_LARGE_SHARE = 4


@lru_cache(maxsize=4096)
def tables(tenant: str) -> tuple[str, str]:
    """Return the tables of a tenant's bucket: for current versions and for past ones."""
    bucket = zlib.crc32(tenant.encode()) % BUCKETS
    return f"words_{bucket:02}", f"past_{bucket:02}"


def all_tables() -> list[str]:
    """Return every table of words."""
    return [f"{prefix}_{bucket:02}" for prefix in ("words", "past") for bucket in range(BUCKETS)]


@lru_cache(maxsize=65_536)
def label(tenant: str, name: str, value: str) -> str:
    """Return the term that stands for a label of a tenant, or for the tenant itself."""
    digest = blake2b(repr((tenant, name, value)).encode(), digest_size=10).digest()
    return "^" + b32encode(digest).decode().lower()


@lru_cache(maxsize=16_384)
def labels(tenant: str, agent: str | None, user: str | None, room: str | None) -> str:
    """Return the label terms of a record."""
    bound = (("", ""), ("agent", agent), ("user", user), ("room", room))
    return " ".join(label(tenant, name, value) for name, value in bound if value is not None)


def narrowest(scope: Scope) -> str:
    """Return the label term that a view is searched by: of the label that holds the fewest records as a rule."""
    for name, value in (("room", scope.room), ("user", scope.user), ("agent", scope.agent)):
        if value is not None:
            return label(scope.tenant, name, value)
    return label(scope.tenant, "", "")


def index_line(scope: Scope, terms: Sequence[str], blind_index: Callable[[str], str] | None = None) -> str:
    """Return the row of the index for a text's terms, or for what a `veil` makes of them."""
    own = labels(scope.tenant, scope.agent, scope.user, scope.room)
    parts: list[str] = []
    if len(set(terms)) == len(terms):
        parts += terms
    else:
        for term, count in Counter(terms).items():
            parts.append(term)
            if count > 1:
                parts.append(term + "^2")
                if count >= MOST_COUNTED:
                    parts.append(term + "^3")
    if blind_index is not None:
        # Sorted, because the order of the words would tell of the text.
        parts = sorted([blind_index(part) for part in parts])
    return " ".join([own, *parts])


# ---- writing


def stage(connection: Connection, table: str, number: int, row: str) -> None:
    """Add a row; the caller sees to `move` before too many wait."""
    connection.execute("INSERT INTO staged (number, place, terms) VALUES (?, ?, ?)", (number, table, row))


def move(connection: Connection) -> None:
    """Move everything that waits into its table, in the order FTS5 likes."""
    waiting: dict[str, list[tuple[int, str]]] = {}
    for number, place, terms in connection.execute(
        "SELECT number, place, terms FROM staged ORDER BY number"
    ).fetchall():
        waiting.setdefault(place, []).append((number, terms))
    for place in waiting.keys() & set(all_tables()):
        connection.executemany(f"INSERT INTO {place} (rowid, terms) VALUES (?, ?)", waiting[place])
    connection.execute("DELETE FROM staged")


def remove(connection: Connection, table: str, number: int) -> None:
    """Take a row out of a table, or out of those that wait for it."""
    connection.execute("DELETE FROM staged WHERE number = ?", (number,))
    if connection.changes() == 0:
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))


# ---- finding


def match(
    connection: Connection,
    scope: Scope,
    terms: Sequence[str],
    *,
    past: bool,
    held: int,
    blind_indexes: Callable[[str], tuple[str, ...]] | None = None,
) -> list[WordMatch]:
    """Return where each term stands under a scope's narrowest label: in current versions, or in past ones too.

    `held` is how many records the scope has. One that holds much of the file is asked for without its label: walking two
    long lists side by side costs more than dropping some places afterwards.
    """
    current_table, past_table = tables(scope.tenant)
    places = (current_table, past_table) if past else (current_table,)
    wanted = narrowest(scope)
    newest = connection.execute("SELECT max(number) FROM records").get or 0
    labelled = f'"{wanted}" AND ' if held * _LARGE_SHARE < newest else ""
    waiting = [
        (row[0], set(row[1].split()))
        for place in places
        for row in connection.execute(
            "SELECT number, terms FROM staged WHERE place = ? AND instr(' ' || terms || ' ', ?)", (place, f" {wanted} ")
        )
    ]
    matches: list[WordMatch] = []
    for term in dict.fromkeys(terms):
        levels: list[NDArray[np.int64]] = []
        for level in range(1, MOST_COUNTED + 1):
            marked = term if level == 1 else f"{term}^{level}"
            forms = (marked,) if blind_indexes is None else blind_indexes(marked)
            numbers = [np.array([number for number, there in waiting if not there.isdisjoint(forms)], np.int64)]
            numbers += [_numbers(connection, place, labelled + _quoted(form)) for place in places for form in forms]
            joined = np.concatenate(numbers)
            if not len(joined):
                break
            levels.append(joined)
        standing = np.sort(levels[0]) if levels else np.zeros(0, np.int64)
        counts = np.ones(len(standing), dtype=np.int8)
        for numbers in levels[1:]:
            counts[np.searchsorted(standing, numbers)] += 1
        matches.append(WordMatch(term, standing, counts))
    return matches


def _numbers(connection: Connection, table: str, question: str) -> NDArray[np.int64]:
    # As one text: a row for each number would cost twelve times as much on its way to an array.
    text = connection.execute(f"SELECT group_concat(rowid) FROM {table} WHERE {table} MATCH ?", (question,)).get
    return np.fromstring(text, np.int64, sep=",") if text else np.zeros(0, np.int64)


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
