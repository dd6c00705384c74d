"""Type schemas: values of any type that pydantic can check, to JSON and back without a loss."""

import dataclasses
import json
import reprlib
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from rememo.errors import InvalidInput, TypeMismatch
from rememo.model.check import Json, check_json, dump_json
from rememo.settings import Settings

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

V = TypeVar("V")

_MOST_FAULTS = 3
_MIGRATE = "open it with migrate=, a function that makes the new value of the stored one"


class TypeSchema(Generic[V]):
    """One type, and what of it can be stored; `what` names the value in messages, `cure` says what helps it to fit again."""

    def __init__(self, kind: Any, what: str, settings: Settings, cure: str = _MIGRATE) -> None:
        self._kind = kind
        self._what = what
        self._settings = settings
        self._cure = cure
        self._adapter: TypeAdapter[V] = adapter_of(kind, what)

    def dump(self, value: object) -> tuple[str, V]:
        """Return the JSON text of a value, and the copy that will come back; what cannot be stored is refused.

        The value must be of the type as it is: nothing is converted.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - see adapter_of

        try:
            checked = self._adapter.validate_python(value, strict=True)
        except ValidationError as error:
            raise InvalidInput(
                f"{self._what} must be {type_name(self._kind)}: {describe_validation_error(error)}; nothing was changed"
            ) from None
        text = dump_json(self.plain(checked))
        if (size := len(text.encode())) > self._settings.max_data_bytes:
            raise InvalidInput(
                f"{self._what} is {size:,} bytes of JSON, more than the {self._settings.max_data_bytes:,} allowed"
            )
        try:
            reloaded = self._adapter.validate_json(text)
        except ValidationError as error:
            raise InvalidInput(
                f"{self._what} cannot be stored: as JSON it does not fit: {describe_validation_error(error)}"
            ) from None
        if not is_same(checked, reloaded):
            raise InvalidInput(
                f"{self._what} cannot be stored: it would come back as {reprlib.repr(reloaded)};"
                " say its exact type, such as type=list[datetime], or use types that JSON and pydantic can tell apart"
            )
        return text, reloaded

    def plain(self, value: V) -> Json:
        """Return a value as JSON values; raises `InvalidInput` for what JSON cannot hold."""
        try:
            dumped = self._adapter.dump_python(value, mode="json", warnings="error")
        except (ValueError, TypeError, RecursionError) as error:
            reason = str(error).split("\n")[0]
            raise InvalidInput(f"{self._what} cannot be stored: {reason}; nothing was changed") from None
        settings = self._settings
        return check_json(dumped, self._what, max_bytes=settings.max_data_bytes, depth=settings.max_depth - 1)

    def load(self, text: str) -> V:
        """Return the value of JSON text, a new one each time; one that does not fit raises `TypeMismatch`."""
        try:
            return self._adapter.validate_json(text)
        except ValueError as error:
            raise TypeMismatch(
                f"{self._what} is stored as {_short(text)}, which is not {type_name(self._kind)}: {describe_validation_error(error)}; {self._cure}"
            ) from None

    def has_fields_of(self, text: str, value: V) -> bool:
        """Whether JSON text has the names, all the way down, that the value made of it would be stored by.

        Names that a type does not know are left out when a value is made, and new ones filled by defaults: then the text
        was stored by another type, however well it fits.
        """
        try:
            dumped = self._adapter.dump_python(value, mode="json", warnings=False)
        except ValueError:
            return False
        return _field_names(json.loads(text)) == _field_names(dumped)

    def convert(self, value: object) -> V:
        """Return a value of this type made of whatever fits; raises `TypeMismatch`."""
        try:
            return self._adapter.validate_python(value)
        except ValueError as error:
            raise TypeMismatch(
                f"migrate= of {self._what} did not give {type_name(self._kind)}: {describe_validation_error(error)}"
            ) from None


class PartialSchema:
    """A value that is gathered bit by bit and must fit a type in the end; stored as it is given, as JSON."""

    def __init__(self, kind: Any, what: str, settings: Settings) -> None:
        self._shape: TypeSchema[Any] = TypeSchema(kind, what, settings)
        self._adapter = adapter_of(kind, what)
        self._what = what

    def plain(self, value: object) -> Any:
        """Return JSON as it is, and an object of the type as JSON."""
        if value is None or isinstance(value, Mapping | list | tuple | str | int | float):
            return cast("Any", value)
        return self._shape.plain(value)

    def check(self, value: Json, *, whole: bool) -> None:
        """Refuse a value that does not fit, with the place and the fault; what is missing matters only for a whole one."""
        from pydantic import ValidationError  # noqa: PLC0415 - see _adapter

        try:
            # Strict, since it is not changed: what passes is what the type says.
            self._adapter.validate_json(dump_json(value), strict=True)
        except ValidationError as error:
            faults = [
                fault for fault in error.errors(include_url=False) if whole or not fault["type"].startswith("missing")
            ]
            if faults:
                raise InvalidInput(
                    f"{self._what} does not fit: {_describe_faults(faults)}; nothing was changed"
                ) from None


def adapter_of(kind: Any, what: str) -> "TypeAdapter[Any]":
    """Return what checks a type; one that pydantic cannot check is refused."""
    try:
        return _adapter(kind)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise _type_error(kind, what, error) from None
        return _adapter.__wrapped__(kind)
    # What pydantic raises here has no common base but Exception and differs by version.
    except Exception as error:
        if not type(error).__module__.startswith("pydantic"):
            raise
        raise _type_error(kind, what, error) from None


@lru_cache(maxsize=512)
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    # Imported by those who use it: it would take a good part of the time that importing rememo takes.
    from pydantic import TypeAdapter  # noqa: PLC0415 - see above

    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    adapter.rebuild()  # an undefined name in it is reported here, and not at the first value
    return adapter


def _type_error(kind: Any, what: str, error: Exception) -> InvalidInput:
    reason = str(error).split("\n")[0]
    return InvalidInput(f"{what} cannot be of the type {type_name(kind)}, which pydantic cannot check: {reason}")


def describe_validation_error(error: Exception) -> str:
    """Return in one line what a value does not fit by: each place and its fault."""
    from pydantic import ValidationError  # noqa: PLC0415 - see _adapter

    if not isinstance(error, ValidationError):
        return str(error)
    return _describe_faults(error.errors(include_url=False))


def _describe_faults(faults: "Sequence[ErrorDetails]") -> str:
    lines = [
        ": ".join(filter(None, (".".join(map(str, fault["loc"])), fault["msg"]))) for fault in faults[:_MOST_FAULTS]
    ]
    if len(faults) > _MOST_FAULTS:
        lines.append(f"and {len(faults) - _MOST_FAULTS} more")
    return "; ".join(lines)


def type_name(kind: Any) -> str:
    """Return how a type is called."""
    return kind.__qualname__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)


def is_same(first: object, other: object) -> bool:
    """Whether a value came back as it was: of the same types all the way down.

    Fields are compared one by one, so that classes need no equality of their own and private parts do not matter.
    """
    if type(first) is not type(other):
        numbers = not isinstance(first, bool) and isinstance(first, int | float) and isinstance(other, int | float)
        return numbers and first == other
    if isinstance(first, Mapping):
        left, right = cast("Mapping[Any, Any]", first), cast("Mapping[Any, Any]", other)
        return left.keys() == right.keys() and all(is_same(value, right[key]) for key, value in left.items())
    if isinstance(first, list | tuple | deque):
        pair = cast("list[Any]", first), cast("list[Any]", other)
        return len(pair[0]) == len(pair[1]) and all(map(is_same, *pair))
    names = _fields(first)
    if names is None:
        return first == other
    return all(is_same(getattr(first, name, None), getattr(other, name, None)) for name in names)


def _fields(value: object) -> list[str] | None:
    """Return the names of the fields of a dataclass or a model; None for anything else."""
    from pydantic import BaseModel  # noqa: PLC0415 - see _adapter

    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return [name for name, field in fields.items() if not field.exclude] + list(value.model_extra or {})
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    return None


def _field_names(value: Any) -> str:
    """Return the names in a JSON value, with those inside each; elements of a list have no order, since sets have none."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return dump_json({name: _field_names(fields[name]) for name in sorted(fields)})
    if isinstance(value, list):
        return dump_json(sorted({_field_names(element) for element in cast("list[Any]", value)}))
    return ""


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "…"  # noqa: PLR2004 - what fits on a line
