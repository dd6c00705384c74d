"""Items of the store: the filters on them, the text they are found by, and search results with their standing."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import SearchItem, get_text_at_path

from rememo.adapters.store_items import iter_texts, join_texts
from rememo.model.revision import HitStatus


class RememoSearchItem(SearchItem):
    """A search result with its standing."""

    __slots__ = ("status", "superseded_by")

    def __init__(
        self,
        *,
        status: HitStatus = "unknown",
        superseded_by: tuple[tuple[str, ...], str] | None = None,
        **parts: Any,
    ) -> None:
        """`status` is `current`, `superseded` or `unknown`; `superseded_by` is the namespace and key of what holds now."""
        super().__init__(**parts)
        self.status = status
        self.superseded_by = superseded_by

    def dict(self) -> dict[str, Any]:
        """Return it as JSON values; `status` and `superseded_by` where it was superseded."""
        fields = cast("dict[str, Any]", super().dict())  # pyright: ignore[reportUnknownMemberType] - typed in part only
        if self.status == "superseded":
            holding = self.superseded_by
            named = None if holding is None else {"namespace": list(holding[0]), "key": holding[1]}
            fields |= {"status": self.status, "superseded_by": named}
        return fields


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
