"""What every import reader yields: items to import, and reports of what is skipped."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, Literal, cast

Json = dict[str, Any]
_MAX_TITLE: Final = 200

ABANDONED: Final = "a message beside the path that is shown: edited, or asked for again"
HIDDEN: Final = "a message that is hidden from the person"
EMPTY: Final = "a message without words"
REASONING: Final = "a step of reasoning"
UNREADABLE: Final = "an entry that is no conversation"
NOT_TEXT: Final = "a part that is no text: {}"
NO_FILE: Final = "a file that is not in the export, or is no text"
UNREAD_FILE: Final = "a file beside the conversations, which is not read"
"""Reasons for skipping that several sources share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportItem:
    """A message, note, document or state to import, with its origin."""

    kind: Literal["message", "note", "document", "state"]
    origin: tuple[str, str]
    """The container and the id by which its source knows it: the same at every reading, so it is imported once."""
    text: str
    id: str | None = None
    """The record's id, where it must be preserved."""
    derived: bool = False
    """Whether `id` is the name that an id is derived from."""
    user: str | None = None
    agent: str | None = None
    room: str | None = None
    at: datetime | None = None
    """When it was said."""
    metadata: Json = field(default_factory=dict[str, Any])
    data: Json = field(default_factory=dict[str, Any])
    """Its structured content; of a message, what is kept beside the turn."""
    pinned: bool = False
    expires_at: datetime | None = None
    """Of a note: from then on it is not there any more."""
    role: str = "user"
    name: str | None = None
    tool_calls: tuple[Json, ...] = ()
    tool_call_id: str | None = None
    images: tuple[str | bytes, ...] = ()
    """Addresses, data URLs or bytes; never a path, which a file from elsewhere must not make us read."""
    title: str | None = None
    """Of a document."""
    content: bytes | None = None
    """Of a document that is a file: what is in it, where its text has yet to be read out of it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is not imported, and why."""

    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class AbandonedMessages:
    """Messages of a room on branches that its source no longer shows; yielded before the room's items.

    They may have been imported while it did; then they are deleted, so that they do not stand among the present messages.
    """

    room: str
    origins: tuple[tuple[str, str], ...]


ReadResult = ImportItem | Skipped | AbandonedMessages


def as_object(value: object) -> Json:
    """Return a JSON object, or an empty one for anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a JSON list, or an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list | tuple) else []


def as_text(value: object) -> str:
    """Return a text, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_label(value: object) -> str | None:
    """Return an id as a label: text or a number that is not empty; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def parse_time(value: object) -> datetime | None:
    """Return a parsed time: ISO 8601, with a zone or in UTC, or seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str) and value:
            parsed = datetime.fromisoformat(value)
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def in_order(at: datetime | None, previous: datetime | None) -> datetime | None:
    """Return a message's time, but never before the previous one's, so that messages keep their order."""
    if at is None or previous is None:
        return at or previous
    return max(at, previous)


def drop_empty(value: Mapping[str, Any]) -> Json:
    """Return an object without its empty entries."""
    return {name: entry for name, entry in value.items() if entry not in (None, "", [], {})}


def as_title(value: object) -> str | None:
    """Return a text shortened to fit a title; None for an empty one."""
    text = " ".join(as_text(value).split())
    return text[:_MAX_TITLE] or None


def digest(value: object) -> str:
    """Return the SHA-256 digest of a JSON value, the same in every process."""
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def web_images(addresses: Iterable[object]) -> tuple[str, ...]:
    """Return those that are addresses or data URLs."""
    return tuple(
        address
        for address in addresses
        if isinstance(address, str) and address.startswith(("https://", "http://", "data:image/"))
    )


def read_content(value: object) -> tuple[str, tuple[str, ...], int]:
    """Return the words and the images of a content as chat models take it, and how many images are kept elsewhere.

    That is a text, or parts: texts, or objects with a `text` (a `refusal` is one) or an `image_url`.
    """
    if isinstance(value, str):
        return value, (), 0
    texts: list[str] = []
    pictures: list[object] = []
    for part in as_list(value):
        known = as_object(part)
        texts.append(as_text(part) or as_text(known.get("text")) or as_text(known.get("refusal")))
        image = known.get("image_url")
        if image or "image" in as_text(known.get("type")):
            pictures.append(as_object(image).get("url") or image or known.get("url"))
    images = web_images(pictures)
    return "\n".join(filter(None, texts)), images, len(pictures) - len(images)


def tool_call(id: str, name: object, arguments: str) -> Json:
    """Return a call of a tool in the shape that chat models know."""
    return {"id": id, "type": "function", "function": {"name": as_text(name) or "tool", "arguments": arguments}}


def parse_object(text: str) -> Json:
    """Return the JSON object that a text holds, or an empty one."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}
