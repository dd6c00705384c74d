"""Encoding of requests: arguments as JSON, placed where an operation takes them.

Values that JSON or a query cannot carry unchanged are refused with the memory's own error texts: NaN, mappings with keys
that are not text, numbers where a query has only text.
"""

import json
import math
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

import numpy as np
from pydantic import ValidationError

from rememo.context.chat import image_url
from rememo.errors import InvalidInput
from rememo.model.check import check_json, check_label, check_text, check_version, dump_json
from rememo.model.fact import Conflict
from rememo.model.filters import make_filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.serve.rest.registry import operation_specs
from rememo.serve.rest.schemas import type_parts
from rememo.serve.rest.signature import HEADERS, OperationSpec, Parameter
from rememo.serve.serializer import to_json
from rememo.serve.validation_errors import describe_errors

_MAX_BYTES: Final = 2**40
_MAX_DEPTH: Final = 200
_FILTERS: Final = ("kind", "ids", "after", "before", "metadata", "pinned", "valid_at")
_FILTERED_CALLS: Final = {"list", "count", "delete_where", "search", "similar"}
_VECTOR_PARAMETERS: Final = ("embedding", "vector")


def adapt_arguments(call: str, arguments: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """Adapt the arguments of a method to those of its operation."""
    arguments = dict(arguments)
    if call == "facts.resolve" and isinstance(arguments["conflict"], Conflict):
        return {"facts": [fact.id for fact in arguments["conflict"].facts], "keep": arguments["keep"]}
    if call == "profiles.update":
        more = {name: value for name, value in arguments.items() if name not in ("key", "fields")}
        if arguments["fields"] is not None and not isinstance(arguments["fields"], Mapping):
            raise InvalidInput(f"fields must be a mapping, not {type(arguments['fields']).__name__}")
        return {"key": arguments["key"], "fields": {**(arguments["fields"] or {}), **more}}
    if call == "add_many":
        items = arguments["items"]
        if isinstance(items, str | Mapping):
            raise InvalidInput("add_many() takes a collection of items; use add() for one")
        arguments["items"] = [_encode_item(item) for item in items]
    if call in _FILTERED_CALLS:
        make_filter(scope, **{name: arguments[name] for name in _FILTERS if name in arguments})
    if call == "archive.list":
        return {}  # its labels are sent as the scope
    if call == "audit.verify" and arguments["head"] is not None and not hasattr(arguments["head"], "hash"):
        raise InvalidInput(f"head must be what audit.head() returned, not {arguments['head']!r}")
    return arguments


def select_arguments(spec: OperationSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that differ from their defaults, as JSON values; raises `InvalidInput` for those not served."""
    for name in spec.operation.without:
        if name in arguments and not _is_default(arguments[name], spec.defaults[name]):
            raise InvalidInput(f"{name}= cannot be used over HTTP")
    selected: dict[str, Any] = {}
    for parameter in spec.parameters:
        value = arguments.get(parameter.name)
        if parameter.name in arguments and (
            parameter.required or not _is_default(value, spec.defaults[parameter.name])
        ):
            selected[parameter.name] = encode_argument(parameter, value)
    names = {parameter.name for parameter in spec.parameters} | set(spec.operation.without)
    return selected | {name: _encode_value(name, value) for name, value in arguments.items() if name not in names}


def locate_arguments(
    spec: OperationSpec, values: Mapping[str, Any]
) -> tuple[str, list[tuple[str, str]], dict[str, bytes], Any]:
    """Return the path, the query, the headers and the body of a request."""
    path, query = spec.operation.path, _encode_query(spec, values)
    headers, body = dict[str, bytes](), dict[str, Any]()
    parameters = {parameter.name: parameter for parameter in spec.parameters}
    for name, value in values.items():
        parameter = parameters.get(name)
        if parameter is None or parameter.location == "body":
            body[name] = value
        elif parameter.location == "path":
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        elif parameter.location == "header":
            headers[HEADERS[name]] = (value if name == "key" else f'"{value}"').encode()
    return path, query, headers, body


def encode_argument(parameter: Parameter, value: Any) -> Any:
    """Return an argument as JSON values; records are sent by their ids or texts."""
    name = parameter.name
    if parameter.location == "path":
        return check_label(value, name)
    if parameter.location == "header":
        return check_label(value, name) if name == "key" else check_version(value)
    if name in _VECTOR_PARAMETERS:
        return _encode_vector(name, value)
    if name in ("image", "images"):
        many = not isinstance(value, str | bytes | Path)
        return [image_url(each) for each in value] if many else image_url(value)
    if isinstance(value, bytes | bytearray):
        if bytes not in type_parts(parameter.hint)[1]:
            raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
        return b64encode(value).decode()
    record = getattr(value, "record", value)
    if name == "keep" and isinstance(record, Record):
        return record.id
    if name == "message" and isinstance(record, Record):
        return record.text
    if isinstance(value, int) and not isinstance(value, bool) and datetime in type_parts(parameter.hint)[1]:
        value = to_utc(value, name)  # milliseconds since 1970, as a memory in this process takes them
    return _encode_value(name, value)


def to_json_text(value: Any) -> bytes:
    """Return JSON values as text."""
    try:
        return dump_json(value).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this cannot be sent as JSON: {error}") from None


def _encode_item(item: object) -> Any:
    """Encode one item of `add_many`, each field as `add` takes it."""
    if not isinstance(item, Mapping):
        return item if not isinstance(item, str) else check_text(item, "text", max_bytes=_MAX_BYTES)
    parameters = {parameter.name: parameter for parameter in operation_specs()["add"].parameters}
    fields = cast("Mapping[Any, Any]", item)
    for name in fields:
        if not isinstance(name, str):
            raise InvalidInput(f"an item has the unknown field {name!r}")
    return {
        name: encode_argument(parameters[name], value)
        if name in parameters and parameters[name].location == "body"
        else value
        for name, value in fields.items()
    }


def _encode_value(name: str, value: Any) -> Any:
    if name == "value":
        return check_json(value, name, max_bytes=_MAX_BYTES, depth=_MAX_DEPTH)
    if value is None or isinstance(value, bool | int | datetime | timedelta):
        return to_json(value)
    if isinstance(value, str):
        return check_text(value, name, max_bytes=_MAX_BYTES) if not value.isascii() else value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{name} {_number_rule(name)}, not {value}")
        return value
    if isinstance(value, Mapping):
        return check_json(cast("object", value), name, max_bytes=_MAX_BYTES, depth=_MAX_DEPTH)
    if isinstance(value, list | tuple | set | frozenset):
        items = cast("Iterable[Any]", value)
        return [_encode_value(f"{name}[{index}]", each) for index, each in enumerate(items)]
    if isinstance(value, bytes | bytearray):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
    try:
        return to_json(value)
    except TypeError:
        raise InvalidInput(f"{name} is a {type(value).__name__}, which JSON cannot hold; convert it first") from None


def _number_rule(name: str) -> str:
    return "must be a number from 0 to 1" if name in ("importance", "trust", "threshold") else "must be a finite number"


def _encode_vector(name: str, value: Any) -> Any:
    """Return a vector as a list of numbers; numpy arrays are converted."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
        raise InvalidInput(f"{name} must be a list of numbers")
    numbers = [number.tolist() if hasattr(number, "tolist") else number for number in cast("Iterable[Any]", listed)]
    if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
        raise InvalidInput(f"{name} holds NaN, infinity or nothing but zeros")
    if any(isinstance(number, str | bytes) for number in numbers):
        raise InvalidInput(f"{name} must be a list of numbers")
    if any(isinstance(number, list) for number in numbers):
        raise InvalidInput(f"{name} has the shape {np.shape(numbers)}, but must be a plain list of numbers")
    return numbers


def _encode_query(spec: OperationSpec, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Encode query parameters as text, after checking their types."""
    parameters = {parameter.name: parameter for parameter in spec.parameters_in("query") if parameter.name in values}
    arguments = {name: values[name] for name in parameters}
    try:
        spec.query.model_validate_json(to_json_text(arguments), strict=True)
    except ValidationError as error:
        raise InvalidInput(describe_errors(error)) from None
    pairs: list[tuple[str, str]] = []
    for name, value in arguments.items():
        if parameters[name].as_json:
            pairs.append((name, to_json_text(value).decode()))
            continue
        many = cast("list[Any]", value) if isinstance(value, list) else [value]
        many = many or [""]  # an empty value is an empty list
        pairs += [(name, part if isinstance(part, str) else json.dumps(part)) for part in many]
    return pairs


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    plain = isinstance(default, str | int | float) or default == ()
    return plain and type(value) is type(default) and bool(value == default)
