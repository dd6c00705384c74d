"""Tools: definitions with typed arguments and results, and their JSON schemas."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from rememo.errors import InvalidInput

if TYPE_CHECKING:
    from rememo.memory import Memory

Right = Literal["read", "write"]
LABELS: Final = ("user", "room")
"""Arguments that narrow the view; a tool has them only where the view is not bound yet."""
_MOST_ERRORS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCaller:
    """The client of a call."""

    source: str = "mcp"
    """The source of records written by the call: `mcp`, with the client's name where it sent one."""
    rights: frozenset[Right] = frozenset({"read", "write"})
    bound: frozenset[str] = frozenset()
    """The labels that the caller's view is bound to."""


class ToolArguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ScopedArguments(ToolArguments):
    """Arguments that may narrow the view of a tool."""

    user: str | None = Field(
        default=None, description="Whose memory, where several users share it; all of them if left out."
    )
    room: str | None = Field(
        default=None, description="The room: a conversation, chat or project; all of them if left out."
    )

    @field_validator(*LABELS)
    @classmethod
    def _drop_empty(cls, value: str | None) -> str | None:
        return value or None  # models fill unknown arguments with empty texts


class ToolResult(BaseModel):
    """The structured result of a tool."""

    def to_wire(self) -> dict[str, Any]:
        """Return the structured content."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


ToolOutput = tuple[ToolResult, str]
"""A structured result, and the same as text."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    title: str
    description: str
    arguments_model: type[ToolArguments]
    result_model: type[ToolResult]
    handler: "Callable[[Memory, ToolCaller, Any], ToolOutput]"
    right: Right = "read"
    destructive: bool = False
    idempotent: bool = True

    def arguments(self, arguments: Mapping[str, Any] | None) -> ToolArguments:
        """Validate arguments; raises `InvalidInput` with the errors field by field."""
        try:
            return self.arguments_model.model_validate(dict(arguments or {}))
        except ValidationError as error:
            raise InvalidInput(f"invalid arguments for {self.name}: {_describe_errors(error)}") from None

    def schema(self, bound: frozenset[str]) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, without the labels that are bound already."""
        full_schema = self._takes
        hidden = bound.intersection(LABELS)
        properties = {name: property for name, property in full_schema["properties"].items() if name not in hidden}
        return {**full_schema, "properties": properties}

    @cached_property
    def _takes(self) -> dict[str, Any]:
        return {"properties": {}, **simple_schema(self.arguments_model)}

    @cached_property
    def output(self) -> dict[str, Any]:
        """The JSON Schema of the result."""
        return simple_schema(self.result_model)


def simple_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's JSON Schema without parts that only cost tokens: titles, docstrings, nulls of optional fields."""
    return cast("dict[str, Any]", _simplify_schema(model.model_json_schema(by_alias=True)))


def _simplify_schema(node: Any, *, names: bool = False) -> Any:
    """Return a schema without these parts; with `names` its keys are names of properties."""
    if isinstance(node, list):
        return [_simplify_schema(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    if names:
        return {name: _simplify_schema(value) for name, value in schema.items()}
    choices = schema.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        [only_choice] = [choice for choice in cast("list[dict[str, Any]]", choices) if choice != {"type": "null"}]
        schema = {**only_choice, **{name: value for name, value in schema.items() if name != "anyOf"}}
    idle = {"title", "description"} if "properties" in schema else {"title"}
    return {
        name: _simplify_schema(value, names=name in {"properties", "$defs"})
        for name, value in schema.items()
        if name not in idle and not (name == "default" and value is None)
    }


def parse_time(text: str | None, field: str) -> datetime | None:
    """Parse a time: ISO 8601, a date alone too; UTC without a zone."""
    if text is None or not text.strip():
        return None
    try:
        value = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f"{field} is not a time: {text[:60]!r}; write ISO 8601, such as 2026-05-01 or 2026-05-01T18:30:00Z"
        ) from None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _describe_errors(error: ValidationError) -> str:
    """Describe validation errors without quoting the values."""
    problems = [
        f"{'.'.join(map(str, problem['loc'])) or 'the arguments'}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
        for problem in error.errors(include_url=False, include_input=False)
    ]
    more = f" (and {len(problems) - _MOST_ERRORS} more)" if len(problems) > _MOST_ERRORS else ""
    return "; ".join(problems[:_MOST_ERRORS]) + more
