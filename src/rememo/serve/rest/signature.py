"""Operation specifications: the parameters of a route, taken from the signature of its method."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Optional, get_type_hints
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model

from rememo import aio
from rememo.context.state import State
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.unset import UNSET
from rememo.serve.rest.operations import Operation
from rememo.serve.rest.overrides import OVERRIDES
from rememo.serve.rest.schemas import takes_objects, type_parts, wire_type
from rememo.serve.serializer import field_names
from rememo.serve.validation_errors import describe_errors, list_errors

Location = Literal["path", "query", "body", "header"]
HEADERS: Final = {"key": "Idempotency-Key", "expected_version": "If-Match"}
SCOPE: Final = ("tenant", "agent", "user", "room", "pool", "as_of")
"""The parameters of every route: they narrow the key's scope, or read the past."""
_STRICT = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
_OPEN = ConfigDict(extra="allow", strict=True, arbitrary_types_allowed=True)
_LAX = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
# A path would name one of the server's own files.
_Address = Annotated[str, StringConstraints(pattern=r"^(https?://|data:)")]
_SPECIAL: Final[dict[str, Any]] = {"images": Optional[list[_Address]], "image": Optional[_Address]}  # noqa: UP045 - a value


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a route."""

    name: str
    location: Location
    hint: Any
    """The type in the method's signature."""
    type: Any
    """The pydantic type in a request."""
    default: Any
    required: bool

    as_json: bool
    """Whether it is JSON text in the query."""
    many: bool
    """Whether it may be repeated in the query."""
    is_time_or_snapshot: bool
    """Whether it is a time or a snapshot's name."""


class OperationSpec:
    """An operation with its method, parameters and result type."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.function = function_of(operation.method_path)
        hints = hints_of(self.function)
        self.returns: Any = hints.get("return", type(None))
        signature_parameters = [*inspect.signature(self.function).parameters.values()][1:]
        self.parameters = tuple(
            self._parameter(parameter, hints[parameter.name])
            for parameter in signature_parameters
            if parameter.kind is not parameter.VAR_KEYWORD and parameter.name not in operation.without
        )
        self.defaults = {parameter.name: parameter.default for parameter in signature_parameters}
        """The default of each parameter."""
        self.wrapper_key = wrapper_key(self.returns)
        names = {parameter.name for parameter in self.parameters}
        self.pages = {"limit", "offset"} <= names and operation.verb == "GET"
        self.is_time_fixed = "known_at" in names

    def _parameter(self, parameter: inspect.Parameter, hint: Any) -> Parameter:
        operation = self.operation
        location: Location = "query" if operation.verb in ("GET", "DELETE") else "body"
        if f"{{{parameter.name}}}" in operation.path:
            location = "path"
        elif parameter.name in HEADERS and (parameter.name == "key" or operation.verb in ("PATCH", "DELETE")):
            location = "header"
        special = operation.method_path.startswith("messages.") and parameter.name in _SPECIAL
        kind = str if location == "path" else _SPECIAL[parameter.name] if special else wire_type(hint)
        if kind is None:
            raise TypeError(
                f"{operation.name}: nothing of {parameter.name} can come over a wire; leave it out in the table"
            )
        required = parameter.default is parameter.empty
        default = None if required or parameter.default is UNSET else parameter.default
        what, parts = type_parts(hint)
        lists = "list" in ((what, *(type_parts(part)[0] for part in parts)) if what == "union" else (what,))
        return Parameter(
            parameter.name, location, hint, kind, default, required,
            as_json=location == "query" and takes_objects(hint),
            many=location == "query" and lists,
            is_time_or_snapshot=what == "union" and str in parts and datetime in parts,
        )  # fmt: skip

    @property
    def takes_body(self) -> bool:
        """Whether the operation has body parameters."""
        return self.operation.more or bool(self.parameters_in("body"))

    def parameters_in(self, location: Location) -> list[Parameter]:
        """Return the parameters in one place."""
        return [parameter for parameter in self.parameters if parameter.location == location]

    @cached_property
    def body(self) -> type[BaseModel]:
        """The model of the body."""
        return _make_model(self.operation.name, self.parameters_in("body"), _OPEN if self.operation.more else _STRICT)

    @cached_property
    def query(self) -> type[BaseModel]:
        """The model of the query."""
        more = {"cursor": (str | None, None)} if self.pages else {}
        return _make_model(self.operation.name, self.parameters_in("query"), _LAX, **more)

    @cached_property
    def all_parameters(self) -> type[BaseModel]:
        """The model of all parameters in one object."""
        return _make_model(
            self.operation.name, [parameter for parameter in self.parameters if parameter.name != "key"], _STRICT
        )

    def parse_arguments(self, text: str) -> dict[str, Any]:
        """Return the arguments in a JSON object; raises `InvalidInput` when they do not validate."""
        return _validated(self.all_parameters, lambda model: model.model_validate_json(text), "arguments")

    def arguments(
        self, *, path: Mapping[str, str], query: str, headers: Mapping[str, str], body: bytes
    ) -> "ParsedRequest":
        """Parse and validate a request; raises `InvalidInput` when it does not validate."""
        arguments: dict[str, Any] = {parameter.name: path[parameter.name] for parameter in self.parameters_in("path")}
        scope, rest = split_query(query, {parameter.name: parameter for parameter in self.parameters_in("query")})
        arguments |= _validated(self.query, lambda model: model.model_validate(rest), "the query")
        cursor = arguments.pop("cursor", None)
        if self.takes_body:
            text = body or b"{}"
            arguments |= _validated(self.body, lambda model: model.model_validate_json(text), "the body")
        elif body.strip() not in (b"", b"{}"):
            raise InvalidInput("this route takes no body")
        for parameter in self.parameters:
            if parameter.is_time_or_snapshot and isinstance(arguments.get(parameter.name), str):
                arguments[parameter.name] = parse_time_or_snapshot(arguments[parameter.name])
        matched = False
        for parameter in self.parameters_in("header"):
            value = headers.get(HEADERS[parameter.name].lower())
            if value is not None:
                arguments[parameter.name] = _decode_utf8(value) if parameter.name == "key" else parse_if_match(value)
                matched = matched or parameter.name != "key"
        return ParsedRequest(arguments=arguments, scope=scope, cursor=cursor, if_match=matched)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """The validated arguments and scope of a request."""

    arguments: dict[str, Any]
    scope: dict[str, list[str]]
    cursor: str | None
    if_match: bool
    """Whether a version was given by `If-Match`."""


def split_query(query: str, parameters: Mapping[str, Parameter]) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the scope parameters of a query, and the others, read as `own` declares them."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=1_000)
    except ValueError as error:  # bytes that are not UTF-8 among them
        raise InvalidInput(f"the query string cannot be parsed: {error}") from None
    scope: dict[str, list[str]] = {}
    rest: dict[str, Any] = {}
    for name, value in pairs:
        if name in SCOPE:
            scope.setdefault(name, []).append(value)
        elif name in parameters and parameters[name].many:
            # An empty value is an empty list: no id, kind or tag is an empty text.
            rest.setdefault(name, []).extend([value] if value else [])
        elif name in rest:
            raise InvalidInput(f"{name[:50]} is given twice in the query")
        else:
            rest[name] = _parse_json(name, value) if name in parameters and parameters[name].as_json else value
    for name, values in scope.items():
        if len(values) > 1 and name != "as_of":
            raise InvalidInput(f"{name} is given twice in the query")
    return scope, rest


def function_of(calls: str) -> Callable[..., Any]:
    """Return the function of an operation, with a face or a memory as its first argument."""
    if calls in OVERRIDES:
        return OVERRIDES[calls]
    *faces, name = calls.split(".")
    owner: Any = Memory
    for face in faces:
        owner = hints_of(getattr(owner, face).fget)["return"]
    return getattr(owner, name)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types that a signature names; those of `Memory` are loaded with its async twin, which names them all."""
    return get_type_hints(function, localns=vars(aio) if function.__module__.startswith("rememo.memory.") else None)


def wrapper_key(returns: Any) -> str | None:
    """Return the key that a result of a type is wrapped under; None for objects."""
    what, parts = type_parts(returns)
    if what == "union":
        keys = {wrapper_key(part) for part in parts if part is not type(None)}
        return keys.pop() if len(keys) == 1 else "value"
    if what == "list":
        return "items"
    return None if isinstance(returns, type) and (returns is State or field_names(returns)) else "value"


def parse_time_or_snapshot(text: str) -> datetime | str:
    """Return the time in a text, else the text itself: a snapshot's name."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def parse_if_match(value: str) -> int:
    """Return the version in an `If-Match` header."""
    text = value.strip().removeprefix("W/").strip('"')
    if not text.isascii() or not text.isdecimal() or len(text) > 18:  # noqa: PLR2004 - below 2 ** 62
        raise InvalidInput(f'If-Match must be a version such as "3", not {value[:50]!r}')
    return int(text)


def _validated(model: type[BaseModel], read: Callable[[type[BaseModel]], BaseModel], where: str) -> dict[str, Any]:
    try:
        model_value = read(model)
    except ValidationError as error:
        refused = InvalidInput(f"{where} is invalid: {describe_errors(error)}")
        refused.detail = [{"field": field, "problem": problem} for field, problem in list_errors(error)[:50]]
        raise refused from None
    names = {field.alias or name: name for name, field in model.model_fields.items()}
    set_fields = {
        name: getattr(model_value, attribute)
        for name, attribute in names.items()
        if attribute in model_value.model_fields_set
    }
    return set_fields | (model_value.model_extra or {})


def _decode_utf8(value: str) -> str:
    """Return the text of a header that is UTF-8, which HTTP takes for Latin-1."""
    try:
        return value.encode("latin-1").decode()
    except ValueError:
        return value


def _parse_json(name: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} in the query must be JSON, not {value[:50]!r}") from None


def _make_model(name: str, parameters: list[Parameter], config: ConfigDict, **more: Any) -> type[BaseModel]:
    # By aliases: a parameter may have the name of a model's own method, such as `copy` or `json`.
    fields: dict[str, Any] = {
        f"p_{parameter.name}": (parameter.type, Field(... if parameter.required else None, alias=parameter.name))
        for parameter in parameters
    }
    fields |= {f"p_{key}": (kind, Field(default, alias=key)) for key, (kind, default) in more.items()}
    return create_model(name, __config__=config, **fields)
