"""Declared fields of a workbench's subclass, checked by their types and kept in its context."""

import inspect
import json
import sys
from collections.abc import Mapping
from functools import cached_property
from operator import getitem
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, cast, get_origin, get_type_hints

from rememo.errors import InvalidInput, NotFound
from rememo.model.check import Json, dump_json
from rememo.settings import Settings
from rememo.working.type_schema import TypeSchema

if TYPE_CHECKING:
    from rememo.working.context_values import ContextValues


_UNBOUND = Settings(max_data_bytes=2**62, max_depth=200)
"""The memory's own limits are applied when a value is kept."""


class Workbench(Protocol):
    """What has declared fields."""

    @property
    def context(self) -> "ContextValues":
        """Where they are kept."""
        ...


class DeclaredField:
    """One field: reading it asks the memory, assigning keeps it there."""

    def __init__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name
        self._has_default = name in owner.__dict__
        self._class_value = owner.__dict__.get(name)

    @property
    def _title(self) -> str:
        return f"{self._owner.__name__}.{self._name}"

    @cached_property
    def _shape(self) -> TypeSchema[Any]:
        try:
            hint: Any = get_type_hints(self._owner, include_extras=True)[self._name]
        except (NameError, TypeError) as error:
            raise InvalidInput(f"the type of {self._title} cannot be checked: {error}") from None
        # Made at run time, so no checker can read it.
        annotated = getitem(cast("Any", Annotated), (hint, self._class_value)) if self._is_field_info else hint
        return TypeSchema(annotated, self._title, _UNBOUND, f"read it by context.get({self._name!r}) and set it anew")

    @property
    def _is_field_info(self) -> bool:
        """Whether the default is pydantic's `Field(…)`."""
        return hasattr(self._class_value, "get_default") and hasattr(self._class_value, "default_factory")

    def default(self) -> Any:
        """Return a default of its own; a field without one raises `NotFound`."""
        value = self._class_value
        if self._is_field_info:
            value = value.get_default(call_default_factory=True)  # pyright: ignore[reportOptionalMemberAccess] - seen
            if type(value).__name__ == "PydanticUndefinedType":
                raise NotFound(f"{self._title} was never set and has no default")
        elif not self._has_default:
            raise NotFound(f"{self._title} was never set and has no default")
        return self.loaded(self.stored(value))

    def stored(self, value: Any) -> Json:
        """Return the JSON of a value; one of another type, or one that could not be read again, is refused."""
        return json.loads(self._shape.dump(value)[0])

    def loaded(self, stored: Json) -> Any:
        """Return the value of its JSON; what does not fit the type any more raises `TypeMismatch`."""
        return self._shape.load(dump_json(stored))

    def __get__(self, bench: Workbench | None, owner: type) -> Any:
        if bench is None:
            return self
        value = bench.context.get(self._name, self)
        return self.default() if value is self else self.loaded(value)

    def __set__(self, bench: Workbench, value: Any) -> None:
        bench.context.set(self._name, value)


def declare_fields(owner: type, value_type: type, inherited: Mapping[str, DeclaredField]) -> dict[str, DeclaredField]:
    """Turn the annotated names of a class into fields, and return them; names that mean something else are refused.

    A plain value for an inherited field is its new default.
    """
    fields: dict[str, DeclaredField] = {}
    names = [name for name, hint in _annotations(owner).items() if not name.startswith("_") and not _of_class(hint)]
    names += [name for name, value in owner.__dict__.items() if name in inherited and not hasattr(value, "__get__")]
    for name in dict.fromkeys(names):
        if hasattr(value_type, name):
            raise InvalidInput(
                f"{owner.__name__} cannot have the field {name!r}: every workbench has that name already"
            )
        field = DeclaredField(owner, name)
        setattr(owner, name, field)
        fields[name] = field
    return fields


def assignable(owner: type, name: str) -> bool:
    """Whether assigning to a name does what it says: it is private, a field, or a property of the class."""
    return name.startswith("_") or hasattr(inspect.getattr_static(owner, name, None), "__set__")


def _of_class(hint: Any) -> bool:
    """Whether an annotation says that a name belongs to the class."""
    if isinstance(hint, str):
        return hint.removeprefix("typing.").startswith("ClassVar")
    return hint is ClassVar or get_origin(hint) is ClassVar


def _annotations(owner: type) -> dict[str, Any]:
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415 - not there before

        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(owner)
