"""Posts: what an agent has published."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.collections.base import (
    Collection,
    ExternalId,
    check_external_id,
    check_not_blank,
    drop_none,
    naming_external_id,
)
from rememo.errors import InvalidInput
from rememo.model.check import check_label, check_limit, check_text
from rememo.model.filters import Condition
from rememo.model.receipt import Receipt
from rememo.model.record_wrapper import RecordWrapper
from rememo.model.times import to_utc_or_none

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Post(RecordWrapper):
    """A post, read from its record."""

    @property
    def content(self) -> str:
        """What was published."""
        return self.record.text

    @property
    def type(self) -> str:
        """What it is: a post, a story or a reel."""
        return str(self.record.data.get("type", "post"))

    @property
    def location(self) -> str | None:
        """Where it is set."""
        return self.record.data.get("location")

    @property
    def prompt(self) -> str | None:
        """What it was made from."""
        return self.record.data.get("prompt")

    @property
    def image(self) -> str | None:
        """The address of its picture."""
        return self.record.data.get("image")

    @property
    def external_id(self) -> tuple[str, str] | None:
        """The platform and the post's id there."""
        stored = self.record.data.get("external_id")
        return None if stored is None else (stored[0], stored[1])

    @property
    def published_at(self) -> datetime:
        """When it was published, else when it was stored."""
        return self.record.at


class Posts(Collection):
    """The posts within a view."""

    kind = "post"

    def add(
        self,
        content: str,
        *,
        type: str = "post",
        location: str | None = None,
        prompt: str | None = None,
        image: str | None = None,
        external_id: tuple[ExternalId, ExternalId] | None = None,
        published_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        pinned: bool = False,
        importance: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember what was published.

        `external_id` is the platform and the post's id there, unique together within the tenant: a repeat is stored
        once, and its receipt says `ignored`.
        """
        settings = self._view.engine.settings
        check_not_blank(content, "content", most=settings.max_text_bytes)
        for name, value in (("prompt", prompt), ("image", image), ("location", location)):
            if value is not None:
                check_text(value, name, max_bytes=settings.max_data_bytes)
        parts = None if external_id is None else check_external_id(external_id)
        if parts is not None and id is not None:
            raise InvalidInput("give id or external_id, not both: the external id makes the record's id")
        data = drop_none(
            type=check_label(type, "type"), location=location or None, prompt=prompt, image=image, external_id=parts
        )
        with naming_external_id(parts):
            return self._add_record(
                key, text=content, data=data, metadata=metadata, occurred_at=to_utc_or_none(published_at, "published_at"),
                id=id if parts is None else self._external_id(parts),
                on_conflict="error" if parts is None else "ignore", pinned=pinned, importance=importance,
            )  # fmt: skip

    def get(self, id: str, *, known_at: datetime | None = None) -> Post:
        """Return a post; one that is not in this scope raises `NotFound`."""
        return Post(self._record(id, known_at=known_at))

    def recent_locations(self, n: int = 5) -> "list[str]":
        """Return the last `n` different locations of posts, newest first, so as not to repeat them.

        Spellings that differ in case or outer blanks only are one; the newest is given.
        """
        most = check_limit(n, "n")
        filter = self._filter()
        filter = filter.narrowed(conditions=(Condition("data", ("location",), "$exists", True),))
        locations: dict[str, str] = {}
        offset = 0
        while len(locations) < most and (page := self._read(filter, _PAGE, offset)):
            for record in reversed(page):
                location = str(record.data["location"]).strip()
                if location:
                    locations.setdefault(location.casefold(), location)
            offset += len(page)
        return [*locations.values()][:most]

    def list(
        self,
        *,
        type: str | None = None,
        location: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Post]":
        """Return the latest `limit` posts, oldest first, by when they were published."""
        filter = self._filter(
            data={"type": type, "location": location}, after=after, before=before, metadata=metadata, known_at=known_at
        )
        return [Post(record) for record in self._read(filter, limit, offset)]
