"""Partial changes of JSON objects."""

from collections.abc import Mapping
from typing import Any, cast


def merge_patch(current: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with changes merged in, by the rule of JSON merge patches: mappings field by field, None takes away."""
    result = dict(current)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            inner = result.get(name)
            below: Mapping[str, Any] = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}
            result[name] = merge_patch(below, cast("Mapping[str, Any]", value))
        else:
            result[name] = value
    return result
