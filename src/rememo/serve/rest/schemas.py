"""Schemas of Python types: the pydantic type of a parameter in a request, and the JSON Schema of a value."""

import types
from collections.abc import Callable as AbstractCallable
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Base64Bytes

from rememo.model.record import Record
from rememo.model.unset import UNSET, Unset
from rememo.serve.rest.descriptions import describe_field
from rememo.serve.serializer import field_names, from_json

_NOT_ON_THE_WIRE = (Path, timedelta)
"""Types that clients cannot send: paths would name the server's files, durations are sent as seconds or text."""
_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    timedelta: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
}


def type_parts(hint: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the category of a type (`union`, `list`, `tuple`, `map`, `choice`, `function` or `one`) and its parts."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return "union", parts
    if origin is Literal:
        return "choice", parts
    if origin is AbstractCallable:
        return "function", ()
    if origin is tuple and Ellipsis not in parts:
        return "tuple", parts
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "map", parts[1:]
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return "list", parts[:1]
    return "one", (hint,)


def wire_type(hint: Any) -> Any:
    """Return the pydantic type of a parameter in a request; None when it cannot be sent."""
    what, parts = type_parts(hint)
    if what == "union":
        wire_parts = [part for part in map(wire_type, parts) if part is not None]
        return Union[tuple(wire_parts)] if wire_parts else None  # noqa: UP007 - made here
    if what == "list":
        inner = wire_type(parts[0])
        return None if inner is None else list[inner]
    if what == "tuple":
        return tuple[tuple(map(wire_type, parts))]
    if what == "map":
        return dict[str, Any]
    if what == "choice":
        wire_parts = tuple(part for part in parts if part is not UNSET)
        return Literal[wire_parts] if wire_parts else None
    if hint is bytes:
        return Base64Bytes
    if hint in (*_SIMPLE, Any) and hint not in _NOT_ON_THE_WIRE:
        return hint
    # Whole records are not accepted from clients, which might have changed them: they are named by their ids.
    if isinstance(hint, type) and field_names(hint) and "record" not in field_names(hint) and hint is not Record:
        return Annotated[dict[str, Any], AfterValidator(lambda value: from_json(hint, value))]
    return None


def takes_objects(hint: Any) -> bool:
    """Whether a value of a type is a JSON object or tuple, which is sent as JSON text in a query."""
    what, parts = type_parts(hint)
    return what in ("map", "tuple") or (what == "union" and any(map(takes_objects, parts)))


def schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type; schemas of objects are added to `definitions` by name."""
    what, parts = type_parts(hint)
    if what == "union":
        choices = [
            choice
            for choice in (schema(part, definitions) for part in parts if _is_serializable(part))
            if choice != {"enum": []}
        ]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if what == "list":
        return {"type": "array", "items": schema(parts[0], definitions) if parts else {}}
    if what == "tuple":
        return {"type": "array", "prefixItems": [schema(part, definitions) for part in parts]}
    if what == "map":
        return {"type": "object", "additionalProperties": schema(parts[0], definitions) if parts else True}
    if what == "choice":
        return {"enum": [part for part in parts if part is not UNSET]}
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    kind: type | None = hint if isinstance(hint, type) else None
    if kind is not None and field_names(kind):
        _add_schema(kind, definitions)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {}


def _is_serializable(hint: Any) -> bool:
    return hint not in (*_NOT_ON_THE_WIRE, Unset) and type_parts(hint)[0] != "function"


def _add_schema(kind: type, definitions: dict[str, Any]) -> None:
    if kind.__name__ in definitions:
        return
    definitions[kind.__name__] = {}  # a type may refer to itself
    hints = get_type_hints(kind)
    # A record is serialized by its fields alone.
    names = [field.name for field in fields(cast("Any", kind))] if kind is Record else list(field_names(kind))
    properties: dict[str, Any] = {}
    for name in names:
        member = getattr(kind, name, None)
        hint = get_type_hints(member.fget).get("return", Any) if isinstance(member, property) else hints[name]
        properties[name] = schema(hint, definitions) | {"description": describe_field(kind, name)}
    description = (kind.__doc__ or "").strip().split("\n")[0]
    shape: dict[str, Any] = {"type": "object", "description": description, "properties": properties, "required": names}
    if hasattr(
        kind, "__pydantic_config__"
    ):  # only in requests: fields with defaults may be left out, unknown ones are refused
        needed = [
            field.name
            for field in fields(cast("Any", kind))
            if (field.default, field.default_factory) == (MISSING, MISSING)
        ]
        shape |= {"required": needed, "additionalProperties": False}
    definitions[kind.__name__] = shape
