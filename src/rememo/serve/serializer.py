"""Serializer: value types as JSON, and back. Server and client share it.

A dataclass becomes an object of its fields and, for clients in other languages, its properties. Lists and tuples are
arrays, times ISO 8601 in UTC, durations seconds.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from functools import cache
from inspect import getmembers
from typing import Any, cast

from rememo.context.state import LeftOut, State
from rememo.errors import InvalidInput
from rememo.model.check import dump_json
from rememo.model.record import Record
from rememo.serve.validation_errors import describe_errors

_PLAIN = frozenset({str, int, float, bool, type(None)})
_FUNCTIONS = {"follow"}
"""Fields that hold functions: server and client each have their own."""
_SINGLE_WRITE_ONLY = {"id", "version", "outcome"}
"""Properties of a receipt that only a single write has."""


def to_json(value: Any) -> Any:
    """Return a value as JSON values."""
    kind = cast("type[Any]", type(value))
    # By exact types first, and plain values without a call: this is half the cost of a response.
    if kind in _PLAIN:
        return value
    if kind is Record:
        return value.to_dict()
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else to_json(item) for item in value]
    if kind is dict:
        return {str(name): item if type(item) in _PLAIN else to_json(item) for name, item in value.items()}
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, State):
        return _state_to_json(value)
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in cast("Mapping[Any, Any]", value).items()}
    if names := field_names(kind):
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, Iterable):
        return [to_json(item) for item in cast("Iterable[Any]", value)]
    raise TypeError(f"{kind.__name__} cannot be serialized as JSON")


def encode(value: Any) -> bytes:
    """Return a value as JSON text."""
    from pydantic_core import to_json as written  # noqa: PLC0415 - see below

    return written(to_json(value))


def from_json(kind: Any, value: Any) -> Any:
    """Return the value of a type from what `to_json` returned; raises `InvalidInput` when it does not fit."""
    return _state_from_json(value) if kind is State else decode(kind, dump_json(value))


def decode(kind: Any, text: str | bytes) -> Any:
    """Return the value of a type from JSON text; raises `InvalidInput` when it does not fit."""
    if kind is State:
        return _state_from_json(json.loads(text))
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import, and not everybody serves

    try:
        return _adapter(kind).validate_json(text)
    except ValidationError as error:
        raise InvalidInput(f"not a valid {getattr(kind, '__name__', kind)}: {describe_errors(error)}") from None


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - see above

    return TypeAdapter(kind)


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """Return the serialized names of a type: fields first, then properties; none for plain values."""
    if hasattr(kind, "_fields"):  # a named tuple
        return tuple(cast("Any", kind)._fields)
    if not is_dataclass(kind):
        return ()
    names = [field.name for field in fields(kind) if field.name not in _FUNCTIONS]
    members: list[tuple[str, Any]] = getmembers(kind, lambda member: isinstance(member, property))
    more = [name for name, _ in members if not name.startswith("_")]
    if "ids" in names:
        more = [name for name in more if name not in _SINGLE_WRITE_ONLY]
    return (*names, *more)


def _state_to_json(state: State) -> dict[str, Any]:
    return {
        "text": state.text,
        "values": state.values,
        "data": state.data,
        "left_out": [to_json(entry) for entry in state.left_out],
        "at": state.at.isoformat(),
        "cached": state.cached,
    }


def _state_from_json(value: Mapping[str, Any]) -> State:
    return State(
        text=value["text"],
        values=json.dumps(value["values"]),
        data=json.dumps(value["data"]),
        left_out=[LeftOut(**entry) for entry in value["left_out"]],
        at=datetime.fromisoformat(value["at"]),
        cached=value["cached"],
    )
