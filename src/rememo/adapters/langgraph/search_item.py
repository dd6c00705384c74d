"""A search result of the store: an item with its score and its standing."""

from typing import Any, cast

from langgraph.store.base import SearchItem

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
