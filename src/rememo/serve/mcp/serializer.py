"""Serializer of memories for assistants: structured values, and lines of text fenced as recalled data."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from rememo.serve.mcp.tool import ToolResult
from rememo.text.fence import fenced, fenced_value, without_recalled

if TYPE_CHECKING:
    from rememo.model.fact import Fact
    from rememo.model.hit import Hit
    from rememo.model.record import Record


class MemoryItem(BaseModel):
    """A record."""

    id: str
    kind: str = Field(description="message, note, fact, document, chunk, task, goal, relationship, summary …")
    text: str
    at: str = Field(description="When it happened or was said.")
    version: int = 1
    score: float | None = Field(default=None, description="How well it answers, from 0 to 1.")
    user: str | None = None
    room: str | None = None
    source: str | None = Field(default=None, description="Where it came from.")
    speaker: str | None = Field(default=None, description="Who said it, of a message.")
    status: str | None = Field(default=None, description="current, superseded (no longer so) or unknown")
    superseded_by: str | None = Field(default=None, description="The memory that holds now instead.")
    sources: list[str] = Field(default_factory=list, description="Of a fact: the words it was learned from.")


class FactItem(BaseModel):
    """One fact."""

    id: str
    subject: str
    predicate: str
    object: str
    confidence: float
    status: str = Field(description="current, superseded, disputed or retracted")
    valid_from: str | None = None
    valid_to: str | None = None


class FencedResult(ToolResult):
    """A result fenced like its text: many clients show a model only the structured values."""

    notice: str | None = Field(default=None, description="What stands between the marks, and what it is not.")
    opens: str | None = None
    closes: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the structured content with the fence's marks; without them when it is empty."""
        return fenced_value(super().to_wire())


def hit_item(hit: "Hit") -> MemoryItem:
    """Return a hit as an item, with its validity status and its sources."""
    item = memory_item(hit.record, score=hit.score)
    sources = [without_recalled(source.text) for source in hit.sources]
    return item.model_copy(update={"status": hit.status, "superseded_by": hit.superseded_by, "sources": sources})


def memory_item(record: "Record", *, score: float | None = None) -> MemoryItem:
    """Return a record as an item, without text that was recalled before."""
    speaker = record.data.get("name") or record.data.get("role") if record.kind == "message" else None
    return MemoryItem(
        id=record.id,
        kind=record.kind,
        text=without_recalled(record.text),
        at=format_time(record.at),
        version=record.version,
        score=None if score is None else round(score, 4),
        user=record.scope.user,
        room=record.scope.room,
        source=record.source,
        speaker=speaker if isinstance(speaker, str) else None,
    )


def fact_item(fact: "Fact") -> FactItem:
    """Return a fact as an item."""
    return FactItem(
        id=fact.id,
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        confidence=round(fact.confidence, 3),
        status=fact.status,
        valid_from=None if fact.valid_from is None else format_time(fact.valid_from),
        valid_to=None if fact.valid_to is None else format_time(fact.valid_to),
    )


def memory_line(item: MemoryItem) -> str:
    """Return a record as a line of text."""
    where = f" in {item.room}" if item.room else ""
    who = f" by {item.speaker}" if item.speaker else ""
    details = (
        f" (superseded by [{item.superseded_by}])"
        if item.superseded_by
        else " (superseded)"
        if item.status == "superseded"
        else ""
    )
    learned = f" (from: {' / '.join(item.sources)})" if item.sources else ""
    return f"[{item.id}] {item.at[:16].replace('T', ' ')} {item.kind}{who}{where}{details}: {item.text}{learned}"


def fact_line(fact: FactItem) -> str:
    """Return a fact as a line of text."""
    details = [
        f"from {fact.valid_from[:10]}" if fact.valid_from else "",
        f"until {fact.valid_to[:10]}" if fact.valid_to else "",
        fact.status if fact.status != "current" else "",
        f"confidence {fact.confidence:g}",
    ]
    return f"[{fact.id}] {fact.subject} {fact.predicate.replace('_', ' ')} {fact.object} ({', '.join(filter(None, details))})"


def fence_lines(lines: Iterable[str], *, nothing: str) -> str:
    """Fence lines as recalled text, so that a model does not obey them and they are not learned again."""
    inside = "\n".join(lines)
    return fenced(inside) if inside else nothing


def format_time(value: datetime) -> str:
    """Return a time as text."""
    return value.isoformat(timespec="seconds").replace("+00:00", "Z")
