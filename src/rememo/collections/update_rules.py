"""Which fields `update()` may not change: those of derived records, which follow from other records."""

from collections.abc import Mapping
from typing import Any, Final

from rememo.errors import InvalidInput
from rememo.model.record import Record

_FOLLOWS: Final = {
    "chunk": ("text", "data", "kind", "source"),
    "document": ("text", "data", "kind", "source"),
    "fact": ("text", "data", "kind", "valid_from", "valid_to"),
    "revision": ("text", "data", "kind"),
    "relationship": ("text", "data", "kind", "occurred_at"),
    "summary": ("text", "data", "kind", "occurred_at"),
}


def check_plain_change(record: Record, changes: Mapping[str, Any]) -> None:
    """Refuse a change by the plain verb that would part a record from what it is made of, and say what does it.

    Nor does another kind make a fact or a document of a record: those are made of more than a text.
    """
    kind = changes.get("kind")
    if kind in ("fact", "document") and kind != record.kind:
        raise InvalidInput(
            f"{record.kind} {record.id!r} cannot become a {kind} by update(): add it with {kind}s.add(), and delete this one"
        )
    refused = [name for name in _FOLLOWS.get(record.kind, ()) if name in changes]
    if not refused or (pointer := _pointer(record)) is None:
        return
    raise InvalidInput(f"{refused[0]} of {record.kind} {record.id!r} cannot be changed by update(): {pointer}")


def _pointer(record: Record) -> str | None:
    """Return what changes a record that is made of something; None for one that a caller made of nothing."""
    # What knows these kinds is loaded only when one of them is changed.
    from rememo.learn.facts import is_fact  # noqa: PLC0415
    from rememo.model.revision import is_revision  # noqa: PLC0415
    from rememo.summary.stored import is_stored_summary  # noqa: PLC0415

    data = record.data
    if record.kind == "document" and "chunks" in data:
        return "its text is in its chunks; use documents.update(), which reads it anew"
    if record.kind == "chunk" and "document" in data:
        return f"it is a part of document {data['document']!r}; use documents.update() for that"
    if is_fact(record):
        return "it follows from what was stated; use facts.update()"
    if record.kind == "relationship" and "own" in data:
        return "it follows from who is connected with whom; use relationships.update()"
    if is_revision(record):
        return "it follows from what was said later; change or delete that"
    if is_stored_summary(record):
        return "it is made of its messages; change or delete those, or delete the summary"
    return None
