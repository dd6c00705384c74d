"""Words of records in a GIN index, and how they are asked for.

A row of the index holds each term of the text once, `term^2` when it stands twice and `term^3` when it stands three times
or more, and one label term for the tenant and each scope label. A search is then "has the label and the term", by the
narrowest label of the view: the index itself keeps to it, and the timeline of the view drops what other labels exclude.
"""

from base64 import b32encode
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from rememo.errors import Busy
from rememo.model.scope import Scope
from rememo.store.matches import WordMatch
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.types import Texts

MOST_COUNTED = 3
_LONGEST = 200  # characters; an entry of the index has to fit into a third of a page
_LARGE_SHARE = 4
# In the tenant's own partition, and with a tenant that no index is asked for: else a planner that knows little would have
# all its numbers read from the key, once for each term.
_MATCH = """SELECT wanted.place, found.numbers FROM unnest(%(marks)s::text[]) WITH ORDINALITY AS wanted (mark, place)
CROSS JOIN LATERAL (SELECT array_agg(number) AS numbers FROM words_{part}
  WHERE {tenant} AND {current} AND terms @> {terms}) AS found
WHERE found.numbers IS NOT NULL"""
# Where a policy keeps the index from being used: one walk through the tenant for all terms, not one for each.
_WALK = """SELECT wanted.place, array_agg(found.number) FROM (SELECT number, terms FROM words_{part}
  WHERE tenant = %(tenant)s AND {current} AND terms && %(marks)s::text[]{labelled}) AS found
CROSS JOIN unnest(found.terms) AS held (term)
JOIN unnest(%(marks)s::text[]) WITH ORDINALITY AS wanted (mark, place) ON wanted.mark COLLATE "C" = held.term
GROUP BY wanted.place"""
_SEALED_BY = "(SELECT 0, ARRAY[sealed_by::bigint] FROM tenants WHERE tenant = %(tenant)s)"
_HAVING = """SELECT (SELECT count(*) FROM words_{part} AS words WHERE {tenant} AND current AND terms && %(terms)s::text[] {which})
  + (SELECT count(*) FROM words_{part} AS words WHERE {tenant} AND NOT current AND terms && %(terms)s::text[] {which})"""
_NONE = (0,)
_TRIES = 10
_UNINDEXED = "tenant || '' = %(tenant)s"
_ROUTED = f"tenant = %(tenant)s AND {_UNINDEXED}"
_LABELLED, _BARE = "ARRAY[%(label)s::text, wanted.mark]", "ARRAY[wanted.mark]"


@lru_cache(maxsize=65_536)
def label(tenant: str, name: str, value: str) -> str:
    """Return the term that stands for a label of a tenant, or for the tenant itself."""
    digest = blake2b(repr((tenant, name, value)).encode(), digest_size=10).digest()
    return "^" + b32encode(digest).decode().lower()


@lru_cache(maxsize=16_384)
def _labels(scope: Scope) -> tuple[str, ...]:
    bound = (("", ""), ("agent", scope.agent), ("user", scope.user), ("room", scope.room))
    return tuple(label(scope.tenant, name, value) for name, value in bound if value is not None)


def _narrowest(scope: Scope) -> str:
    """Return the label term that a view is searched by: of the label that holds the fewest records as a rule."""
    for name, value in (("room", scope.room), ("user", scope.user), ("agent", scope.agent)):
        if value is not None:
            return label(scope.tenant, name, value)
    return label(scope.tenant, "", "")


def index_terms(scope: Scope, terms: Sequence[str], blind_index: Callable[[str], str] | None = None) -> Texts:
    """Return the row of the index for a text's terms, or for what a `veil` makes of them."""
    parts: list[str] = []
    for term, count in Counter(terms).items():
        short = term if len(term) <= _LONGEST else _short(term)
        parts.append(short)
        if count > 1:
            parts += [f"{short}^{level}" for level in range(2, min(count, MOST_COUNTED) + 1)]
    if blind_index is not None:
        # Sorted, because the order of the words would tell of the text.
        parts = sorted([blind_index(part) for part in parts])
    return Texts((*_labels(scope), *parts))


def _short(term: str) -> str:
    """Return a term as the index can hold it: a very long one by its hash."""
    if len(term) <= _LONGEST:
        return term
    return "^^" + blake2b(term.encode(), digest_size=16).hexdigest()


def match(
    database: PostgresDatabase,
    scope: Scope,
    terms: Sequence[str],
    *,
    past: bool,
    held: int,
    newest: int,
    codecs: PostgresCodecs,
) -> list[WordMatch]:
    """Return where each term stands under a scope's narrowest label: in current versions, or in past ones too.

    `held` is how many records the scope has and `newest` how many its tenant may have. A scope with much of its tenant is
    asked for without its label: walking two long lists side by side costs more than dropping some places afterwards.
    """
    wanted = list(dict.fromkeys(terms))
    if not wanted:
        return []
    marks = [
        term if level == 1 else f"{term}^{level}"
        for term in map(_short, wanted)
        for level in range(1, MOST_COUNTED + 1)
    ]
    small = held * _LARGE_SHARE < newest
    names = {
        "part": database.partition(scope.tenant),
        "tenant": _of_tenant(database),
        "terms": _LABELLED if small else _BARE,
        "labelled": " AND terms @> ARRAY[%(label)s::text]" if small else "",
    }
    template = _WALK if database.index_hidden else _MATCH
    sql = template.format(current="current", **names)
    if past:
        sql += " UNION ALL " + template.format(current="NOT current", **names)
    places = _term_places(database, sql, {"tenant": scope.tenant, "label": _narrowest(scope)}, marks, codecs)
    matches: list[WordMatch] = []
    for position, term in enumerate(wanted):
        levels = places[position * MOST_COUNTED : (position + 1) * MOST_COUNTED]
        standing = np.sort(np.concatenate(levels[0])) if levels[0] else np.zeros(0, np.int64)
        counts = np.ones(len(standing), dtype=np.int8)
        for numbers in levels[1:]:
            for repeated in numbers:
                counts[np.searchsorted(standing, repeated)] += 1
        matches.append(WordMatch(term, standing, counts))
    return matches


def _term_places(
    database: PostgresDatabase, sql: str, values: dict[str, Any], marks: Sequence[str], codecs: PostgresCodecs
) -> list[list[Any]]:
    """Return where each mark stands, as parts of lists."""
    places: list[list[Any]] = [[] for _ in marks]
    if codecs.cipher is None:
        for place, numbers in database.rows(sql, {**values, "marks": marks}):
            places[place - 1].append(numbers)
        return places
    sql = f"{sql} UNION ALL {_SEALED_BY}"
    codec = codecs.cached(values["tenant"])
    for _ in range(_TRIES):
        blind_indexes = codec.blind_indexes or _itself
        forms = [(place, form) for place, mark in enumerate(marks) for form in blind_indexes(mark)]
        rows = database.rows(sql, {**values, "marks": [form for _, form in forms]})
        # Terms were looked up by every key that there is in the state they were looked up in; else it is done again.
        if dict(rows).get(0, _NONE)[0] == codec.serial:
            for place, numbers in rows:
                if place:
                    places[forms[place - 1][0]].append(numbers)
            return places
        codec = codecs.get(values["tenant"])
    raise Busy("the keys of this tenant are changed all the time; try again")


def _of_tenant(database: PostgresDatabase) -> str:
    """Return the condition of a tenant's rows: one that the key does not answer, and on a cluster one that tells its node too."""
    return _ROUTED if database.distributed else _UNINDEXED


def _itself(mark: str) -> tuple[str, ...]:
    return (mark,)


def label_count(database: PostgresDatabase, scope: Scope) -> int:
    """Return how many rows of words stand under the narrowest label of a scope."""
    sql = _HAVING.format(part=database.partition(scope.tenant), tenant=_of_tenant(database), which="")
    return database.value(sql, {"tenant": scope.tenant, "terms": [_narrowest(scope)]})


def lost_count(database: PostgresDatabase, tenant: str, forms: Sequence[str]) -> int:
    """Return how many rows of words under some terms belong to no version."""
    lost = (
        "AND NOT EXISTS (SELECT 1 FROM records WHERE records.tenant = words.tenant AND records.number = words.number)"
    )
    sql = _HAVING.format(part=database.partition(tenant), tenant=_of_tenant(database), which=lost)
    return database.value(sql, {"tenant": tenant, "terms": [_short(form) for form in forms]})
