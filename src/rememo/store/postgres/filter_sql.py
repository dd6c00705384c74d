"""Filters as SQL: pure builders that return text made of constants, and the values as parameters."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from rememo.model.check import dump_json
from rememo.model.filters import Condition, Filter
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.filter_sql import IS_LISTED, Dialect, Sql
from rememo.store.record_columns import PACKED, read_columns
from rememo.store.sql.dialect import SqlDialect

RECORD_COLUMNS = read_columns(PACKED)
# Where the id is known: so that only the key can be used, and no index of what is current.
CURRENT_BY_ID = "coalesce(superseded_at, 0) = 0"


def within(scope: Scope) -> Sql:
    """Return the condition of a scope: the tenant first, then the labels it is bound to.

    Only the first label, which holds the fewest records as a rule, can be looked up: a planner that has not counted the
    rows yet would as soon take the widest.
    """
    parts, values = ["tenant = %s"], list[Any]([scope.tenant])
    for name, label in (("room", scope.room), ('"user"', scope.user), ("agent", scope.agent)):
        if label is not None:
            parts.append(f"{name} = %s" if len(parts) == 1 else f"{name} || '' = %s")
            values.append(label)
    return " AND ".join(parts), values


def _where(filter: Filter, moment: datetime, numbers: Sequence[int] | None) -> Sql:
    more = [] if numbers is None else [("number = ANY(%s::bigint[])", list[Any]([list(numbers)]))]
    return _DIALECT.where(filter, moment, *more)


def _versions(filter: Filter) -> list[Sql]:
    """Return the conditions of current and past versions: each has indexes of its own."""
    current = "superseded_at IS NULL" if filter.ids is None else CURRENT_BY_ID
    if filter.known_at is None:
        return [(current, [])]
    known = to_micros(filter.known_at)
    return [
        (f"{current} AND recorded_at <= %s", [known]),
        ("superseded_at > %s AND recorded_at <= %s", [known, known]),
    ]


def select(filter: Filter, moment: datetime, columns: str, numbers: Sequence[int] | None = None) -> Sql:
    """Return the query for what a filter means, in no order."""
    condition, values = _where(filter, moment, numbers)
    if filter.kinds:
        condition, values = f"{condition} AND kind = ANY(%s::text[])", [*values, list(filter.kinds)]
    elif filter.ids is None:
        condition = f"{condition} AND {IS_LISTED}"
    return _union(
        [
            (f"SELECT {columns} FROM records WHERE {condition} AND {sql}", [*values, *more])
            for sql, more in _versions(filter)
        ]
    )


def select_ordered(
    filter: Filter,
    moment: datetime,
    columns: str,
    numbers: Sequence[int] | None = None,
    *,
    oldest: bool,
    most: int | None,
) -> Sql:
    """Return the query for the first rows by `at` and arrival, or the last: at the most so many.

    Indexes hold each kind in that order, so each kind is asked for by itself, and the first of them together are cut.
    """
    order = "at, arrival" if oldest else "at DESC, arrival DESC"
    condition, values = _where(filter, moment, numbers)
    kinds = list(filter.meant_kinds)
    parts: list[Sql] = []
    for sql, more in _versions(filter):
        if len(kinds) == 1 or filter.ids is not None:
            kind, kind_values = ("kind = %s", [kinds[0]]) if len(kinds) == 1 else ("kind = ANY(%s::text[])", [kinds])
            text = f"SELECT {columns}, at, arrival FROM records WHERE {condition} AND {kind} AND {sql} ORDER BY {order} LIMIT %s"
            parts.append((f"({text})", [*values, *kind_values, *more, most]))
        else:
            text = (
                f"SELECT one.* FROM unnest(%s::text[]) AS wanted (kind) CROSS JOIN LATERAL (SELECT {columns}, at, arrival"
                f' FROM records WHERE {condition} AND records.kind = wanted.kind COLLATE "C" AND {sql}'
                f" ORDER BY {order} LIMIT %s) AS one"
            )
            parts.append((text, [kinds, *values, *more, most]))
    sql, values = _union(parts)
    return f"SELECT * FROM ({sql}) AS found ORDER BY {order} LIMIT %s", [*values, most]


def _union(queries: list[Sql]) -> Sql:
    return " UNION ALL ".join(sql for sql, _ in queries), [value for _, values in queries for value in values]


def _ids(ids: Sequence[str]) -> Sql:
    return "id = ANY(%s::text[])", [list(ids)]


def _condition(condition: Condition) -> Sql:
    """Return the condition on a place in metadata or data; types are kept apart as in JSON."""
    column = {"metadata": "metadata", "data": "data"}[condition.column]
    path = list(condition.path)
    # By text keys only: an array has none, as the filter itself sees it.
    place = f"({column}::jsonb{' -> %s::text' * len(path)})"
    operator, value = condition.operator, condition.value
    if operator == "$exists":
        return f"{place} IS {'NOT ' if value else ''}NULL", path
    if operator in ("$ne", "$nin"):
        positive = "$eq" if operator == "$ne" else "$in"
        sql, values = _condition(Condition(condition.column, condition.path, positive, value))
        return f"NOT coalesce({sql}, false)", values
    if operator == "$eq" and isinstance(value, list):
        # As they were written: 1 and 1.0 differ inside a list.
        return f"({column}::json{' -> %s::text' * len(path)})::text = %s", [*path, dump_json(value)]
    if operator == "$eq":
        return f"{place} = %s::jsonb", [*path, dump_json(value)]
    if operator == "$in":
        choices = [dump_json(choice) for choice in cast("list[Any]", value)]
        return f"{place} = ANY(%s::jsonb[])", [*path, choices]
    if operator == "$contains":
        in_list = f"(jsonb_typeof({place}) = 'array' AND {place} @> %s::jsonb)"
        values = [*path, *path, dump_json(value)]
        if not isinstance(value, str):
            return in_list, values
        in_text = f"(jsonb_typeof({place}) = 'string' AND strpos({place} #>> '{{}}', %s) > 0)"
        return f"({in_list} OR {in_text})", [*values, *path, *path, value]
    sign = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}[operator]
    if isinstance(value, str):
        return (
            f"(jsonb_typeof({place}) = 'string' AND ({place} #>> '{{}}') COLLATE \"C\" {sign} %s)",
            [*path, *path, value],
        )
    return f"(jsonb_typeof({place}) = 'number' AND {place} {sign} %s::jsonb)", [*path, *path, dump_json(value)]


_DIALECT = Dialect("%s", within, _ids, _condition)

DIALECT = SqlDialect(
    within=within,
    any_of=lambda expression: f"{expression} = ANY(%s::text[])",
    array=list,
    payload_field=lambda name: f"payload::json ->> '{name}'",
    text_columns=("text", "packed"),
    erased_of="tenant = %s AND erasure = %s",
    erased_of_tenant="tenant = %s",
    bump_epoch="UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s",
    lock=" FOR UPDATE",
)
