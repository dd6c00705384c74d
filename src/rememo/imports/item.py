"""What every import reader yields: items to import, and reports of what is skipped."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from rememo.imports.json_values import Json


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
