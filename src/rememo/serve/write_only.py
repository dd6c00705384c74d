"""What an answer carries for a key that may write and not read: ids, versions, counts and states, and no contents.

It is decided by the shape of the answer and not by the route, so that a route that is added later is safe by itself: what
is not known to be harmless is emptied. The shape stays, and so does what clients and the description of the API rely on.
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
"""Fields that name something, or say what became of it. What was asked for by a name is told by it."""
_MEM0_KEPT: Final = frozenset({"message", "status"})
"""Beside these, what the routes of mem0 say in words of their own."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def strip_contents(value: Any) -> Any:
    """Return an answer as JSON values without what is kept in the memory."""
    if value is None or isinstance(value, bool | int | datetime):
        return to_json(value)  # a count, a version, whether it was done, or when
    return _strip(value)


def strip_mem0_contents(value: Any) -> Any:
    """Return an answer of mem0's routes without what is kept in the memory."""
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
        # A record tells its fields alone.
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
    """Return what stands for a value that is not told."""
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
    """Return the fields that hold whole numbers, switches or words out of a short list, and those that hold anything.

    Of the latter not even the type is told.
    """
    hints = get_type_hints(kind)
    plain = frozenset(name for name, hint in hints.items() if _is_plain(hint))
    return plain, frozenset(name for name, hint in hints.items() if hint is Any)


def _is_plain(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return all(map(_is_plain, get_args(hint)))
    return hint in (int, bool, type(None)) or get_origin(hint) is Literal
