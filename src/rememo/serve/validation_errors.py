"""Validation errors of pydantic, described in the memory's own error texts."""

import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from rememo.errors import InvalidInput
from rememo.model.check import check_limit, check_offset, check_unit, check_version
from rememo.model.record import check_kind

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_MOST_ERRORS: Final = 5
_CHECKS: Final[dict[str, Callable[[object], object]]] = {
    "kind": check_kind,
    "limit": check_limit,
    "offset": check_offset,
    "expected_version": check_version,
    "importance": lambda value: check_unit(value, "importance"),
    "trust": lambda value: check_unit(value, "trust"),
    "threshold": lambda value: check_unit(value, "threshold"),
}
"""The memory's own check for a parameter of this name; run only on values that pydantic refused."""
_NOUNS: Final = {
    "string_type": "text",
    "bool_type": "True or False",
    "bool_parsing": "True or False",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "datetime_type": "a datetime",
    "none_required": "nothing",
}
_SHOW_VALUE: Final = {"bool_type", "bool_parsing", "int_parsing", "float_parsing", "int_from_float", "finite_number"}
"""Errors whose message shows the value instead of its type."""
_TIME_ERRORS: Final = {"datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid", "timezone_aware"}


def list_errors(error: "ValidationError") -> list[tuple[str, str]]:
    """Return each invalid field with a description of its error."""
    groups: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    every = error.errors(include_url=False)
    for problem in every:
        # A union reports one error for each of its members, at the same location.
        sides = [other for other in every if _is_alternative(problem, other)]
        groups.setdefault(
            problem["loc"][:-1] if len(sides) > 1 and len(problem["loc"]) > 1 else problem["loc"], []
        ).append(problem)
    return [(_location(loc), _describe_error(_location(loc), group)) for loc, group in groups.items()]


def _is_alternative(problem: "ErrorDetails", other: "ErrorDetails") -> bool:
    types = problem["type"] in _NOUNS and other["type"] in _NOUNS
    return types and other["loc"][:-1] == problem["loc"][:-1] and bool(other["input"] == problem["input"])


def describe_errors(error: "ValidationError") -> str:
    """Return the first errors in one line."""
    return "; ".join(problem for _, problem in list_errors(error)[:_MOST_ERRORS])


def _describe_error(field: str, group: "list[ErrorDetails]") -> str:
    problem = group[0]
    kind, value = problem["type"], problem["input"]
    check = _CHECKS.get(field.rpartition(".")[2])
    if check is not None and kind != "missing":
        try:
            check(value)
        except InvalidInput as error:
            return str(error)
    nouns = list(dict.fromkeys(_NOUNS[each["type"]] for each in group if each["type"] in _NOUNS))
    if kind == "missing":
        return f"{field} is missing"
    if kind == "extra_forbidden":
        return f"{field} is not a known field"
    if kind == "json_invalid":
        return f"not valid JSON: {problem.get('ctx', {}).get('error', problem['msg'])}"
    if nouns and len(group) == len([each for each in group if each["type"] in _NOUNS]):
        described = reprlib.repr(value) if kind in _SHOW_VALUE and len(group) == 1 else type(value).__name__
        return f"{field} must be {' or '.join(nouns)}, not {described}"
    if kind in _TIME_ERRORS:
        return f"{field} is not an ISO 8601 time: {reprlib.repr(value)}"
    if kind == "literal_error":
        choice = str(problem.get("ctx", {}).get("expected", "")).replace("'", '"')
        return f"{field} must be {choice}, not {reprlib.repr(value)}"
    if kind == "value_error" and isinstance(cause := problem.get("ctx", {}).get("error"), InvalidInput):
        return f"{field}: {cause}"
    return f"{field}: {problem['msg']}"


def _location(loc: tuple[Any, ...]) -> str:
    """Return the location of a value, such as `items[0].text`."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the value"
