"""mem0's filters, parsed into a disjunction of alternatives, each of which is one filter of Rememo's.

`AND`, `OR` and `NOT` may be nested. A condition that our filters cannot express is refused: ignoring it would show, or
delete, the wrong records.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any, Final, cast

from rememo.errors import InvalidFilter
from rememo.model.check import check_label
from rememo.model.filters import Condition, parse_conditions
from rememo.model.record import FOUND

ENTITIES: Final = {"user_id": "user", "agent_id": "agent", "run_id": "room"}
"""mem0's names of our labels."""
APP: Final = "app_id"
"""mem0's app id, which is kept in the metadata."""
MEMORIES: Final = ("fact", "message", "note")
"""The kinds that count as memories, unless a filter names others as categories."""
ANY: Final = "*"
_TIMES: Final = ("created_at", "timestamp")
_METADATA_OPERATORS: Final = {
    "eq": "$eq", "ne": "$ne", "in": "$in", "nin": "$nin", "gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte",
    "contains": "$contains",
}  # fmt: skip
_OPPOSITE: Final = {"$eq": "$ne", "$ne": "$eq", "$in": "$nin", "$nin": "$in"}
_OPERATORS: Final = (*_METADATA_OPERATORS, "icontains")
_FIELDS: Final = (*ENTITIES, APP, *_TIMES, "categories", "metadata", "memory_ids")
_MOST_ALTERNATIVES: Final = 32
_MAX_DEPTH: Final = 16
_TICK: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A conjunction of conditions."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    kinds: frozenset[str] | None = None
    ids: frozenset[str] | None = None
    after: datetime | None = None
    before: datetime | None = None
    conditions: tuple[Condition, ...] = ()

    def intersect(self, other: "Alternative") -> "Alternative | None":
        """Return the conjunction of both; None when it is empty."""
        for name in self.labels.keys() & other.labels.keys():
            if self.labels[name] != other.labels[name]:
                return None
        after, before = _combine_times(max, self.after, other.after), _combine_times(min, self.before, other.before)
        kinds, ids = _combine_sets(self.kinds, other.kinds), _combine_sets(self.ids, other.ids)
        if (after is not None and before is not None and after >= before) or frozenset() in (kinds, ids):
            return None
        return Alternative(
            labels={**self.labels, **other.labels}, kinds=kinds, ids=ids, after=after, before=before,
            conditions=self.conditions + other.conditions,
        )  # fmt: skip


def parse_filters(*parts: Mapping[str, Any] | None) -> list[Alternative]:
    """Return the alternatives of filters that must all hold; an empty list matches nothing, no filter everything."""
    alternatives = [Alternative()]
    for part in parts:
        if part is not None:
            alternatives = _intersect([alternatives, _parse_filter(part, positive=True, depth=0)])
    return [
        alternative if alternative.kinds is not None else replace(alternative, kinds=frozenset(MEMORIES))
        for alternative in alternatives
    ]


def parse_day(value: object, field: str) -> date | None:
    """Return the date in a text; None for any other text."""
    if isinstance(value, str) and len(value) == len("2026-05-01"):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise InvalidFilter(f"{field} is not a date: {value!r}; write it as 2026-05-31") from None
    return None


def parse_time(value: object, field: str) -> datetime:
    """Return a time: ISO 8601 (UTC without a zone, a date for its start), or seconds since 1970."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidFilter(f"{field} is not a time: {str(value)[:50]!r}; write ISO 8601, or seconds since 1970")


def add_span(start: datetime, span: timedelta, field: str) -> datetime:
    """Return `start + span`; raises `InvalidFilter` beyond the last possible time."""
    try:
        return start + span
    except OverflowError:
        raise InvalidFilter(f"{field} is out of range: {start.isoformat()}") from None


# ---- the tree


def _parse_filter(part: object, *, positive: bool, depth: int) -> list[Alternative]:
    if depth > _MAX_DEPTH:
        raise InvalidFilter("the filters are nested too deeply")
    if (entries := _mapping(part)) is None:
        raise InvalidFilter(f"a filter is an object such as {{'user_id': 'ana'}}, not {str(part)[:50]!r}")
    each = [_parse_entry(name, value, positive, depth) for name, value in entries.items()]
    if not each:
        raise InvalidFilter("a filter is empty; leave it out, or say what it should hold")
    return _intersect(each) if positive else _unite(each)


def _parse_entry(name: str, value: object, positive: bool, depth: int) -> list[Alternative]:
    if name not in ("AND", "OR", "NOT"):
        return _parse_field(name, value, positive)
    parts = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not parts or (name != "NOT" and not isinstance(value, list)):
        raise InvalidFilter(f"{name} takes a list of filters that is not empty")
    each = [_parse_filter(part, positive=positive != (name == "NOT"), depth=depth + 1) for part in parts]
    # NOT of several means none of them; negation swaps union and intersection (De Morgan).
    return _intersect(each) if (name != "OR") == positive else _unite(each)


def _intersect(each: Iterable[list[Alternative]]) -> list[Alternative]:
    result = [Alternative()]
    for some in each:
        joined = (alternative.intersect(other) for alternative, other in product(result, some))
        result = _check_size([alternative for alternative in joined if alternative is not None])
    return result


def _unite(each: Iterable[list[Alternative]]) -> list[Alternative]:
    return _check_size([alternative for some in each for alternative in some])


def _check_size(alternatives: list[Alternative]) -> list[Alternative]:
    if len(alternatives) > _MOST_ALTERNATIVES:
        raise InvalidFilter(f"the filters expand to more than {_MOST_ALTERNATIVES} alternatives; split the query")
    return alternatives


# ---- the fields


def _parse_field(name: str, value: object, positive: bool) -> list[Alternative]:
    if name in ENTITIES:
        return _parse_label(name, value, positive)
    if name == APP:
        return _parse_metadata(("app_id",), value, positive)
    if name in _TIMES:
        return _parse_time_span(name, value, positive)
    if name == "categories":
        return _parse_categories(value, positive)
    if name == "memory_ids":
        return _parse_ids(value, positive)
    if name == "metadata":
        return _parse_metadata_object(value, positive)
    if name == "keywords":
        raise InvalidFilter("keywords cannot be filtered by here; search for the words instead")
    if name == "updated_at":
        raise InvalidFilter("updated_at cannot be filtered by here; created_at can")
    raise InvalidFilter(
        f"there is no field {name[:50]!r} to filter by; there are {', '.join(_FIELDS)}, and AND, OR, NOT of them"
    )


def _parse_label(name: str, value: object, positive: bool) -> list[Alternative]:
    if not positive or "ne" in (_mapping(value) or {}):
        raise InvalidFilter(f"{name} cannot be excluded here; name those that are meant, by `in`")
    operator, operand = _single_clause(name, value)
    values = cast("list[Any]", operand) if operator == "in" else [operand]
    # Any value includes none: our views do not distinguish them.
    return [
        Alternative() if value == ANY else Alternative(labels={ENTITIES[name]: check_label(value, name)})
        for value in values
    ]


def _parse_time_span(name: str, value: object, positive: bool) -> list[Alternative]:
    each: list[list[Alternative]] = []
    for operator, operand in _parse_clauses(name, value, ("eq", "ne", "gt", "gte", "lt", "lte")):
        start = parse_time(operand, name)
        # A date covers its whole day: "until the 31st" includes the 31st.
        end = add_span(start, _DAY if parse_day(operand, name) else _TICK, name)
        at, until, since = Alternative(after=start, before=end), Alternative(before=start), Alternative(after=end)
        spans: dict[str, tuple[list[Alternative], list[Alternative]]] = {
            "eq": ([at], [until, since]),
            "ne": ([until, since], [at]),
            "gte": ([Alternative(after=start)], [until]),
            "gt": ([since], [Alternative(before=end)]),
            "lt": ([until], [Alternative(after=start)]),
            "lte": ([Alternative(before=end)], [since]),
        }
        each.append(spans[operator][0 if positive else 1])
    return _intersect(each) if positive else _unite(each)


def _parse_categories(value: object, positive: bool) -> list[Alternative]:
    each: list[frozenset[str]] = []
    for operator, operand in _parse_clauses("categories", value, ("eq", "ne", "in", "contains")):
        names = cast("list[Any]", operand) if operator == "in" else [operand]
        matching = {
            kind for kind in FOUND for name in names if _matches_kind(kind, name, partly=operator == "contains")
        }
        for name in names:
            if not any(_matches_kind(kind, name, partly=operator == "contains") for kind in FOUND):
                raise InvalidFilter(
                    f"there is no category {str(name)[:50]!r} here: categories are kinds, which are {', '.join(FOUND)}"
                )
        excluded = (operator == "ne") == positive
        each.append(frozenset(MEMORIES) - matching if excluded else frozenset(matching))
    kinds = [Alternative(kinds=kind_set) for kind_set in each if kind_set]
    if positive:
        return _intersect([[alternative] for alternative in kinds]) if len(kinds) == len(each) else []
    return kinds


def _matches_kind(kind: str, name: object, *, partly: bool) -> bool:
    return isinstance(name, str) and (kind == name or (partly and bool(name) and name in kind))


def _parse_ids(value: object, positive: bool) -> list[Alternative]:
    if not positive:
        raise InvalidFilter("memory_ids cannot be excluded here; name those that are meant")
    operator, operand = (
        ("in", cast("list[Any]", value)) if isinstance(value, list) else _single_clause("memory_ids", value)
    )
    ids = operand if operator == "in" else [operand]
    id_set = frozenset(check_label(id, "memory_ids") for id in ids)
    return [Alternative(ids=id_set)] if id_set else []


def _parse_metadata_object(value: object, positive: bool) -> list[Alternative]:
    if not (conditions := _mapping(value)):
        raise InvalidFilter("metadata takes an object such as {'topic': 'travel'}")
    each: list[list[Alternative]] = []
    for name, operand in conditions.items():
        if name in ("eq", "contains", "ne") and _mapping(operand):
            each.append(_parse_metadata_object(operand, positive == (name != "ne")))
        else:
            each.append(_parse_metadata((name,), operand, positive))
    return _intersect(each) if positive else _unite(each)


def _parse_metadata(path: tuple[str, ...], value: object, positive: bool) -> list[Alternative]:
    name = "metadata." + ".".join(path)
    if (nested := _mapping(value)) and not set(nested) & set(_OPERATORS):
        deeper = [_parse_metadata((*path, key), nested_value, positive) for key, nested_value in nested.items()]
        return _intersect(deeper) if positive else _unite(deeper)
    each: list[list[Alternative]] = []
    for operator, operand in _parse_clauses(name, value, tuple(_METADATA_OPERATORS)):
        own_operator, expected = (
            ("$exists", True) if operator == "eq" and operand == ANY else (_METADATA_OPERATORS[operator], operand)
        )
        if not positive and own_operator == "$exists":
            expected = False
        elif not positive:
            if own_operator not in _OPPOSITE:
                raise InvalidFilter(f"{name} {operator} cannot be negated here; write the opposite condition")
            own_operator = _OPPOSITE[own_operator]
        key = ".".join(part.replace(".", "\\.") for part in path)
        each.append([Alternative(conditions=parse_conditions("metadata", {key: {own_operator: expected}}))])
    return _intersect(each) if positive else _unite(each)


def _parse_clauses(name: str, value: object, allowed: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return operators with their operands; a plain value means equals."""
    if (clauses := _mapping(value)) is None:
        return [("eq", value)]
    pairs = list(clauses.items())
    for operator, operand in pairs:
        if operator not in allowed:
            raise InvalidFilter(f"{name} has the operator {operator[:50]!r}; the operators are {', '.join(allowed)}")
        if operator in ("in", "nin") and not isinstance(operand, list):
            raise InvalidFilter(f"{name} {operator} takes a list of values, not {str(operand)[:50]!r}")
    if not pairs:
        raise InvalidFilter(f"{name} is an empty object; say what it should be")
    return pairs


def _single_clause(name: str, value: object) -> tuple[str, Any]:
    clauses = _parse_clauses(name, value, ("eq", "in"))
    if len(clauses) > 1:
        raise InvalidFilter(f"{name} has several operators; one is enough")
    return clauses[0]


def _mapping(value: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def _combine_times(
    choose: Callable[[datetime, datetime], datetime], a: datetime | None, b: datetime | None
) -> datetime | None:
    return choose(a, b) if a is not None and b is not None else a or b


def _combine_sets(a: frozenset[str] | None, b: frozenset[str] | None) -> frozenset[str] | None:
    return a & b if a is not None and b is not None else b if a is None else a
