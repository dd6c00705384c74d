"""Responses for keys that may write and not read: ids, versions, counts and states, without contents.

This is decided by the shape of the response and not by the route, so that a new route is safe by default: every field that
is not known to be harmless is emptied. The shape stays, since clients and the OpenAPI document rely on it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from rememo.model.record import Record
from rememo.serve.serializer import field_names, to_json

_KEPT: Final = frozenset(
    {
        "id", "ids", "version", "versions", "outcome", "outcomes", "jobs", "recorded_at", "memory_id", "event",
        "redacted", "forgotten", "not_found", "held_back", "results", "key", "name", "tenant",
    }
)  # fmt: skip
"""Fields that identify something or report an outcome."""
_MEM0_KEPT: Final = frozenset({"message", "status"})
"""Further fields of mem0's routes that are kept."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def strip_contents(value: Any) -> Any:
    """Return a response as JSON values without the contents of records."""
    if value is None or isinstance(value, bool | int | datetime):
        return to_json(value)  # a count, a version, a success flag or a time
    return _strip(value)


def strip_mem0_contents(value: Any) -> Any:
    """Return a response of mem0's routes without the contents of records."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return {
            name: strip_mem0_contents(item) if name == "results" else item
            for name, item in fields.items()
            if name in _KEPT or name in _MEM0_KEPT or name == "count"
        }
    if isinstance(value, list):
        return [strip_mem0_contents(item) for item in cast("list[Any]", value)]
    return None


def _strip(value: Any) -> Any:
    kind = cast("type[Any]", type(value))
    if isinstance(value, list | tuple):
        return [_strip(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, BaseModel):
        named = {field.alias or name: getattr(value, name) for name, field in kind.model_fields.items()}
        named = {name: item for name, item in named.items() if item is not None}
    elif names := field_names(kind):
        # A record is serialized by its fields alone.
        named = {name: getattr(value, name) for name in (value.to_dict() if isinstance(value, Record) else names)}
    else:
        return _empty_value(value)
    plain, anything = _declared(kind)
    return {
        name: to_json(item) if name in plain else None if name in anything else _strip_field(name, item)
        for name, item in named.items()
    }


def _strip_field(name: str, value: Any) -> Any:
    if name in _KEPT:
        return to_json(value)
    if name == "quarantined":
        return dict.fromkeys(value, "held back")
    some = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    nested = all(isinstance(part, BaseModel) or field_names(cast("type[Any]", type(part))) for part in some)
    return _strip(value) if nested else _empty_value(value)


def _empty_value(value: Any) -> Any:
    """Return the empty value of the same JSON type."""
    if isinstance(value, str):
        return ""
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float | timedelta):
        return 0
    if isinstance(value, datetime):
        return _EPOCH.isoformat()
    if isinstance(value, Mapping):
        return {}
    return [] if isinstance(value, Iterable) else None


@cache
def _declared(kind: type) -> tuple[frozenset[str], frozenset[str]]:
    """Return the fields of integers, booleans and literals, which are kept, and those of any type, which become null."""
    hints = get_type_hints(kind)
    plain = frozenset(name for name, hint in hints.items() if _is_plain(hint))
    return plain, frozenset(name for name, hint in hints.items() if hint is Any)


def _is_plain(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return all(map(_is_plain, get_args(hint)))
    return hint in (int, bool, type(None)) or get_origin(hint) is Literal
