"""The filters and the searchable text of an item's value."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import get_text_at_path

from rememo.adapters.store_items import iter_texts, join_texts


def namespace_filter(prefix: Sequence[str]) -> dict[str, Any]:
    """Return the filter for items in a namespace or below it."""
    return {f"namespace.{depth}": label for depth, label in enumerate(prefix)}


def value_filter(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """Return LangGraph's filter on a value as metadata conditions, with dots in keys escaped."""
    return {"value." + key.replace(".", "\\."): _escape_keys(value) for key, value in conditions.items()}


def _escape_keys(value: object) -> Any:
    if not isinstance(value, Mapping):
        return value
    named = cast("Mapping[str, Any]", value)
    if any(key.startswith("$") for key in named):
        return dict(named)
    return {key.replace(".", "\\."): _escape_keys(item) for key, item in named.items()}


def searchable_text(value: Mapping[str, Any], fields: Sequence[str] | None) -> str:
    """Return the text that an item is found by: that of the fields, or every text in it."""
    texts = iter_texts(value) if fields is None else (text for path in fields for text in get_text_at_path(value, path))
    return join_texts(texts)
