r"""Filters: which records are meant. Built once at the edge, understood by every store.

Metadata conditions are a mapping. A plain value means equals; a mapping whose keys begin with ``$`` holds operators;
any other mapping, or a dotted key, goes deeper (write ``\.`` for a dot that belongs to the key)::

    {"topic": "travel", "priority": {"$gte": 2}, "author.name": {"$in": ["Ana", "Bo"]}, "draft": {"$exists": False}}

Types are kept apart as in JSON: ``True`` is not ``1``, and text is never greater than a number.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from operator import ge, gt, le, lt
from typing import Any, cast

from rememo.errors import InvalidFilter
from rememo.model.check import Json, check_json, check_label, check_many, dump_json
from rememo.model.record import KINDS, LISTED, Record, check_kind
from rememo.model.scope import Scope
from rememo.model.times import to_utc

OPERATORS = ("$eq", "$ne", "$in", "$nin", "$exists", "$gt", "$gte", "$lt", "$lte", "$contains")
_MISSING = object()
_MAX_CONDITIONS = 64
_HALF = re.compile("[\ud800-\udfff]")
_MAX_DEPTH = 32  # deeper than any record may be nested by default


@dataclass(frozen=True, slots=True)
class Condition:
    """One test of one place in a record's metadata or data."""

    column: str
    """`metadata` or `data`."""
    path: tuple[str, ...]
    """The keys that lead to the value."""
    operator: str
    """One of `OPERATORS`."""
    value: Json
    """What it is compared with."""

    def holds(self, record: Record) -> bool:
        """Whether the record passes."""
        return self.holds_in(getattr(record, self.column))

    def holds_in(self, content: Json) -> bool:
        """Whether a record with such metadata, or data, passes."""
        value: Any = content
        for key in self.path:
            value = cast("dict[str, Any]", value).get(key, _MISSING) if isinstance(value, dict) else _MISSING
        return _compare(self.operator, value, self.value)


_EVERY_KIND = tuple(sorted(KINDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records are meant; what is None or empty does not matter."""

    scope: Scope
    """The view's scope: always applied, before everything."""
    kinds: tuple[str, ...] = ()
    """Any of these kinds; without any, every kind that is listed (`LISTED`)."""
    ids: tuple[str, ...] | None = None
    """Any of these ids, of whatever kind; an empty tuple matches nothing."""
    after: datetime | None = None
    """Its moment (`Record.at`) is this or later."""
    before: datetime | None = None
    """Its moment is earlier than this."""
    conditions: tuple[Condition, ...] = ()
    """Tests of metadata and data, all of which must hold."""
    rooms: str = ""
    """What the name of its room begins with."""
    pinned: bool | None = None
    """Pinned or not."""
    known_at: datetime | None = None
    """As this memory knew it then; None is now."""
    valid_at: datetime | None = None
    """What held in the world then; None does not ask."""
    quarantined: bool | None = False
    """What is free, or what is in quarantine; None for both."""

    @property
    def meant_kinds(self) -> tuple[str, ...]:
        """The kinds that are meant: those that are asked for, else all that are listed, or any for what is named by its id."""
        return self.kinds or (LISTED if self.ids is None else _EVERY_KIND)

    @property
    def selects_everything(self) -> bool:
        """Whether nothing but the scope narrows it."""
        return self.ids is None and not self._narrows

    @property
    def names_one(self) -> bool:
        """Whether it asks for the current version of a single id, and for nothing else of it."""
        return self.ids is not None and len(self.ids) == 1 and self.known_at is None and not self._narrows

    @property
    def _narrows(self) -> bool:
        """Whether anything but the scope, the ids and the time of knowledge narrows it."""
        parts = (self.kinds, self.after, self.before, self.conditions, self.rooms, self.valid_at)
        return any(parts) or self.pinned is not None

    def reaches(self, record: Record) -> bool:
        """Whether a record is on the side of the quarantine that is meant."""
        return self.quarantined is None or self.quarantined == (record.quarantine is not None)

    def narrowed(self, **changes: Any) -> "Filter":
        """Return a copy with some parts set anew."""
        return replace(self, **changes)

    def matches(self, record: Record, moment: datetime) -> bool:
        """Whether a version is meant, seen at `moment` (now, unless `known_at` is set)."""
        moment = self.known_at or moment
        return (
            self.scope.contains(record.scope)
            and self.reaches(record)
            and record.recorded_at <= moment
            and (record.superseded_at is None or record.superseded_at > moment)
            and (record.expires_at is None or record.expires_at > moment)
            and record.kind in self.meant_kinds
            and (self.ids is None or record.id in self.ids)
            and (self.after is None or record.at >= self.after)
            and (self.before is None or record.at < self.before)
            and (self.pinned is None or record.pinned == self.pinned)
            and (not self.rooms or (record.scope.room or "").startswith(self.rooms))
            and (
                self.valid_at is None
                or (
                    (record.valid_from is None or record.valid_from <= self.valid_at)
                    and (record.valid_to is None or record.valid_to > self.valid_at)
                )
            )
            and all(condition.holds(record) for condition in self.conditions)
        )


def make_filter(
    scope: Scope,
    *,
    kind: str | Iterable[str] | None = None,
    ids: Iterable[str] | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    pinned: bool | None = None,
    known_at: datetime | None = None,
    valid_at: datetime | None = None,
    conditions: tuple[Condition, ...] = (),
    quarantined: bool | None = False,
) -> Filter:
    """Return a checked filter; contradictions and unknown operators are errors."""
    after = None if after is None else to_utc(after, "after")
    before = None if before is None else to_utc(before, "before")
    if after is not None and before is not None and after > before:
        raise InvalidFilter(f"after ({after.isoformat()}) is later than before ({before.isoformat()}); swap them")
    if pinned is not None and not isinstance(pinned, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidFilter(f"pinned must be True or False, not {pinned!r}")
    kinds: tuple[str, ...] = ()
    if kind is not None:
        kinds = (
            (check_kind(kind),)
            if isinstance(kind, str)
            else tuple(sorted({check_kind(name) for name in check_many(kind, "kind")}))
        )
        if not kinds:
            raise InvalidFilter("kind is an empty collection; leave it out to mean every kind")
    if isinstance(ids, str):
        raise InvalidFilter("ids must be a collection of ids; write ids=[…] for one")
    return Filter(
        scope=scope,
        kinds=kinds,
        ids=None if ids is None else tuple(check_label(id, "id") for id in check_many(ids, "ids")),
        after=after,
        before=before,
        conditions=conditions + parse_conditions("metadata", metadata or {}),
        pinned=pinned,
        known_at=None if known_at is None else to_utc(known_at, "known_at"),
        valid_at=None if valid_at is None else to_utc(valid_at, "valid_at"),
        quarantined=quarantined,
    )


def parse_conditions(column: str, wanted: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the conditions a mapping stands for."""
    if not isinstance(wanted, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidFilter(f"{column} must be a mapping of conditions, not {type(wanted).__name__}")
    conditions = tuple(_walk(column, (), wanted))
    if len(conditions) > _MAX_CONDITIONS:
        raise InvalidFilter(f"{column} has {len(conditions)} conditions, more than the {_MAX_CONDITIONS} allowed")
    return conditions


def _walk(column: str, path: tuple[str, ...], wanted: Mapping[str, Any]) -> Iterable[Condition]:
    for key, value in wanted.items():
        if not isinstance(key, str) or not key:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidFilter(f"{column} has the key {key!r}; keys must be text that is not empty")
        if _HALF.search(key):
            raise InvalidFilter(f"{column} key {key!r} has a lone surrogate; decode the text properly first")
        deeper = path + tuple(part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", key))
        if any("\x00" in part or not part for part in deeper):
            raise InvalidFilter(f"{column} key {key!r} has an empty part or a NUL; it cannot be filtered by")
        if len(deeper) > _MAX_DEPTH:
            raise InvalidFilter(f"{column} key {key!r} is nested too deeply")
        if isinstance(value, Mapping):
            nested = cast("Mapping[str, Any]", value)
            if any(str(name).startswith("$") for name in nested):
                for operator, operand in nested.items():
                    yield _condition(column, deeper, operator, operand)
            elif nested:
                yield from _walk(column, deeper, nested)
            else:
                raise InvalidFilter(f"{column} key {key!r} has an empty mapping; say what it should hold")
        else:
            yield _condition(column, deeper, "$eq", value)


def _condition(column: str, path: tuple[str, ...], operator: str, operand: object) -> Condition:
    name = f"{column}.{'.'.join(path)}"
    if operator not in OPERATORS:
        raise InvalidFilter(f"{name} has the operator {operator!r}; the operators are {', '.join(OPERATORS)}")
    value = check_json(operand, name, max_bytes=65_536, depth=8)
    if operator == "$exists" and not isinstance(value, bool):
        raise InvalidFilter(f"{name} $exists takes True or False, not {operand!r}")
    if operator in ("$in", "$nin") and not isinstance(value, list):
        raise InvalidFilter(f"{name} {operator} takes a list of values, not {operand!r}")
    if operator in ("$gt", "$gte", "$lt", "$lte") and (
        isinstance(value, bool) or not isinstance(value, int | float | str)
    ):
        raise InvalidFilter(f"{name} {operator} takes a number or text, not {operand!r}")
    if isinstance(value, dict) or (operator == "$contains" and isinstance(value, list)):
        raise InvalidFilter(f"{name} {operator} cannot compare with {operand!r}; name the nested key instead")
    if operator in ("$in", "$nin") and any(isinstance(item, dict | list) for item in cast("list[Any]", value)):
        raise InvalidFilter(f"{name} {operator} takes plain values, not lists or mappings")
    return Condition(column, path, operator, value)


def _same(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        # As every store compares them: by their JSON, so 1 and 1.0 differ inside a list.
        return dump_json(cast("list[Any]", left)) == dump_json(cast("list[Any]", right))
    return left == right


def _compare(operator: str, value: object, wanted: Json) -> bool:
    if operator == "$exists":
        return (value is not _MISSING) == wanted
    if operator == "$ne":
        return value is _MISSING or not _same(value, wanted)
    if operator == "$nin":
        return value is _MISSING or not any(_same(value, item) for item in cast("list[Json]", wanted))
    if value is _MISSING:
        return False
    if operator == "$eq":
        return _same(value, wanted)
    if operator == "$in":
        return any(_same(value, item) for item in cast("list[Json]", wanted))
    if operator == "$contains":
        if isinstance(value, list):
            return any(_same(item, wanted) for item in cast("list[Json]", value))
        return isinstance(value, str) and isinstance(wanted, str) and wanted in value
    if isinstance(value, bool) or isinstance(value, str) != isinstance(wanted, str):
        return False
    if not isinstance(value, int | float | str):
        return False
    return _ORDER[operator](value, wanted)


_ORDER: dict[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
