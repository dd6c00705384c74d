"""Haystack's filters: the conditions that the store can check itself, and the rest."""

import math
from typing import Any, Final, cast

from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

_META: Final = "meta."
_DIGITS: Final = 2**53
_MOST: Final = 32


def check_filters(filters: object) -> dict[str, Any] | None:
    """Return valid filters, or None for all documents; invalid ones raise `FilterError` or `ValueError`."""
    if not filters:
        return None
    if not isinstance(filters, dict):
        raise FilterError(f"filters must be a dictionary, not {type(filters).__name__}")
    checked = cast("dict[str, Any]", filters)
    if "operator" not in checked and "conditions" not in checked:
        raise ValueError(
            "these filters have no operator: see https://docs.haystack.deepset.ai/docs/metadata-filtering for their form"
        )
    # Malformed filters are refused even where there is no document to try them on.
    document_matches_filter(filters=checked, document=Document(content=""))
    return checked


def metadata_conditions(filters: dict[str, Any] | None) -> dict[str, Any]:
    """Return metadata conditions that every matching document meets; others may meet them too.

    That is so for texts and numbers that must be equal. Dates are equal in other ways, and true is 1 there.
    """
    equal: dict[str, Any] = {}
    for condition in _conjuncts(filters):
        field, operator, value = str(condition.get("field", "")), condition.get("operator"), condition.get("value")
        # A name is split by dots on both sides; where the store's filters would read it otherwise it is left out.
        name = field.removeprefix(_META)
        if not field.startswith(_META) or "\\" in name or "$" in name or name in equal or not all(name.split(".")):
            continue
        if operator == "==" and _is_exact(value):
            equal[name] = value
        elif (
            operator == "in"
            and isinstance(value, list)
            and all(_is_exact(part) for part in cast("list[object]", value))
        ):
            equal[name] = {"$in": value}
    return dict(list(equal.items())[:_MOST])


def _conjuncts(filters: dict[str, Any] | None) -> list[dict[str, Any]]:
    if filters is None:
        return []
    if filters.get("operator") == "AND" and "field" not in filters:
        return [part for condition in filters["conditions"] for part in _conjuncts(condition)]
    return [filters]


def _is_exact(value: object) -> bool:
    """Whether a value equals nothing but itself, in Haystack and in the store."""
    if isinstance(value, str):
        return bool(value) and "\0" not in value and value.isprintable() and not value[:1].isdigit()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value not in (0, 1) and abs(value) < _DIGITS
