"""Filters as SQL: pure builders that return text made of constants, and the values as parameters."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from rememo.model.check import dump_json
from rememo.model.filters import Condition, Filter
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.filter_sql import IS_LISTED, Dialect, Sql
from rememo.store.record_columns import read_columns
from rememo.store.sql.dialect import SqlDialect

RECORD_COLUMNS = read_columns()

# What is compressed or encrypted goes through a function; what is plain never does.
_CONTENTS = {
    name: f"iif(typeof({name}) = 'text', {name}, opened(records.tenant, records.id, records.version, '{name}', {name}))"
    for name in ("metadata", "data")
}


def within(scope: Scope) -> Sql:
    """Return the condition of a scope: the tenant first, then the labels it is bound to."""
    parts, values = ["tenant = ?"], [scope.tenant]
    for name, label in (("room", scope.room), ("user", scope.user), ("agent", scope.agent)):
        if label is not None:
            parts.append(f"{name} = ?")
            values.append(label)
    return " AND ".join(parts), values


def selects(
    filter: Filter, moment: datetime, columns: str, tail: str = "", tail_values: Iterable[Any] = ()
) -> list[Sql]:
    """Return one query for each kind and each of current and past, so that each walks an index in its order.

    Together their rows are what the filter means. A single record by its id needs one query only.
    """
    condition, values = _DIALECT.where(filter, moment)
    if filter.known_at is None:
        versions: list[Sql] = [("superseded_at IS NULL", [])]
    else:
        known = to_micros(filter.known_at)
        versions = [
            ("superseded_at IS NULL AND recorded_at <= ?", [known]),
            ("superseded_at > ? AND recorded_at <= ?", [known, known]),
        ]
    kinds: list[Sql]
    if filter.ids is not None:
        kinds = (
            [("kind IN (SELECT value FROM json_each(?))", [dump_json(list(filter.kinds))])]
            if filter.kinds
            else [("1", [])]
        )
    else:
        kinds = [("kind = ?", [kind]) for kind in filter.meant_kinds]
    return [
        (
            f"SELECT {columns} FROM records WHERE {kind_sql} AND {version_sql} AND {condition}{tail}",
            [*kind_values, *version_values, *values, *tail_values],
        )
        for kind_sql, kind_values in kinds
        for version_sql, version_values in versions
    ]


def count_by_index(filter: Filter, moment: datetime) -> Sql | None:
    """Return a query that counts current records by the indexes alone; None for a filter that asks for more than they hold.

    What has expired or is in quarantine stands in no index of kinds: it is counted by its own and taken off.
    """
    if filter.known_at or filter.valid_at or filter.conditions or filter.ids is not None or filter.pinned is not None:
        return None
    inside, values = within(filter.scope)
    for sign, at in ((">=", filter.after), ("<", filter.before)):
        if at is not None:
            inside, values = f"{inside} AND at {sign} ?", [*values, to_micros(at)]
    now, kinds = to_micros(moment), list(filter.meant_kinds)
    # The plus keeps the index of kinds out of it: there are many of a kind, and few that have expired or are held.
    some, rest = " AND +kind IN (SELECT value FROM json_each(?))", [*values, dump_json(kinds)]
    current = f"SELECT count(*) AS found FROM records WHERE {inside} AND superseded_at IS NULL"
    held: Sql = (f"{current}{some} AND quarantine IS NOT NULL AND (expires_at IS NULL OR expires_at > ?)", [*rest, now])
    if filter.quarantined:
        return held
    over: Sql = (f"{current}{some} AND expires_at <= ?", [*rest, now])
    less = [over, held] if filter.quarantined is False else [over]
    every = " + ".join(f"({current} AND kind = ?)" for _ in kinds)
    sql = f"SELECT {every} - {' - '.join(f'({query})' for query, _ in less)}"
    return sql, [
        *(value for kind in kinds for value in (*values, kind)),
        *(value for _, some in less for value in some),
    ]


def labels_by_index(filter: Filter, column: str, moment: datetime) -> Sql | None:
    """Return a query that goes from one label of a tenant to the next by its index; None for a filter that asks for more."""
    if filter.known_at or not filter.selects_everything or filter.quarantined is not False:
        return None
    if filter.scope != Scope(tenant=filter.scope.tenant):
        return None
    following = f"SELECT min({column}) FROM records WHERE tenant = ?1 AND {column} IS NOT NULL"
    sql = (
        f"WITH RECURSIVE one (label) AS ({following} UNION ALL"
        f" SELECT ({following} AND {column} > one.label) FROM one WHERE label IS NOT NULL)"
        " SELECT label FROM one WHERE label IS NOT NULL AND EXISTS (SELECT 1 FROM records"
        f" WHERE tenant = ?1 AND {column} = label AND superseded_at IS NULL AND quarantine IS NULL"
        f" AND (expires_at IS NULL OR expires_at > ?2) AND {IS_LISTED}) ORDER BY label"
    )
    return sql, [filter.scope.tenant, to_micros(moment)]


def union(queries: list[Sql]) -> Sql:
    """Return the rows of several queries as one."""
    if len(queries) == 1:
        return queries[0]
    text = " UNION ALL ".join(f"SELECT * FROM ({sql})" for sql, _ in queries)
    return text, [value for _, values in queries for value in values]


def _ids(ids: Sequence[str]) -> Sql:
    return ("id = ?", [*ids]) if len(ids) == 1 else ("id IN (SELECT value FROM json_each(?))", [dump_json([*ids])])


def _condition(condition: Condition) -> Sql:
    path = "$" + "".join(f".{dump_json(key)}" for key in condition.path)
    column = _CONTENTS[condition.column]
    operator, value = condition.operator, condition.value
    if operator == "$exists":
        return f"json_type({column}, ?) IS {'NOT ' if value else ''}NULL", [path]
    if operator in ("$ne", "$nin"):
        positive = "$eq" if operator == "$ne" else "$in"
        sql, values = _condition(Condition(condition.column, condition.path, positive, value))
        return f"NOT ifnull({sql}, 0)", values
    if operator == "$eq":
        return _equals(column, path, value)
    if operator == "$in":
        choices = [_equals(column, path, choice) for choice in cast("list[Any]", value)]
        if not choices:
            return "0", []
        return "(" + " OR ".join(sql for sql, _ in choices) + ")", [
            parameter for _, values in choices for parameter in values
        ]
    if operator == "$contains":
        inner, values = _item_equals(value)
        in_list = f"(json_type({column}, ?) = 'array' AND EXISTS (SELECT 1 FROM json_each({column}, ?) AS item WHERE {inner}))"
        if not isinstance(value, str):
            return in_list, [path, path, *values]
        in_text = f"(json_type({column}, ?) = 'text' AND instr(json_extract({column}, ?), ?) > 0)"
        return f"({in_list} OR {in_text})", [path, path, *values, path, path, value]
    sign = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}[operator]
    types = "('text')" if isinstance(value, str) else "('integer', 'real')"
    return f"(json_type({column}, ?) IN {types} AND json_extract({column}, ?) {sign} ?)", [path, path, value]


def _equals(column: str, path: str, value: object) -> Sql:
    if value is None or isinstance(value, bool):
        return f"json_type({column}, ?) = ?", [path, _TYPE_NAMES[value]]
    if isinstance(value, list):
        return f"(json_type({column}, ?) = 'array' AND json_extract({column}, ?) = ?)", [
            path,
            path,
            dump_json(cast("list[Any]", value)),
        ]
    types = "('text')" if isinstance(value, str) else "('integer', 'real')"
    return f"(json_type({column}, ?) IN {types} AND json_extract({column}, ?) = ?)", [path, path, value]


def _item_equals(value: object) -> Sql:
    if value is None or isinstance(value, bool):
        return "item.type = ?", [_TYPE_NAMES[value]]
    types = "('text')" if isinstance(value, str) else "('integer', 'real')"
    return f"item.type IN {types} AND item.value = ?", [value]


_TYPE_NAMES: dict[bool | None, str] = {None: "null", True: "true", False: "false"}
_DIALECT = Dialect("?", within, _ids, _condition)

DIALECT = SqlDialect(
    within=within,
    any_of=lambda expression: f"{expression} IN (SELECT value FROM json_each(?))",
    array=lambda values: dump_json(list(values)),
    payload_field=lambda name: f"payload ->> '$.{name}'",
    text_columns=("text",),
    erased_of="erasure IN (SELECT number FROM erasures WHERE tenant = ? AND number = ?)",
    erased_of_tenant="erasure IN (SELECT number FROM erasures WHERE tenant = ?)",
    bump_epoch="INSERT INTO tenants (tenant, epoch) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET epoch = epoch + 1",
)
