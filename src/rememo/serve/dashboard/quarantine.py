"""The quarantine page: records that the guard held back, with release and delete."""

from typing import Any, Final

from rememo.model.receipt import Receipt
from rememo.serve.dashboard.display_text import part, parts
from rememo.serve.dashboard.visit import Visit

_PAGE_SIZE: Final = 25


def quarantine_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the quarantined records, latest first, or one with its whole text."""
    quarantine, changes = visit.memory.quarantine, visit.may("admin")
    known_at = visit.time("known_at")
    if "id" in visit.query:
        record = quarantine.get(visit.query["id"], known_at=known_at)
        of = parts(record.text)
        number = min(visit.number("part", least=1), of)
        view = {"record": record, "text": part(record.text, number), "part": number, "parts": of}
        return "held.html", {**view, "changes": changes}
    offset = visit.number("offset")
    quarantined = quarantine.list(limit=_PAGE_SIZE + 1, offset=offset, known_at=known_at)
    return "quarantine.html", {
        "held": list(reversed(quarantined))[:_PAGE_SIZE],
        "count": None if known_at else quarantine.count(),
        "rules": sorted(quarantine.rules().items()),
        "older": offset + _PAGE_SIZE if len(quarantined) > _PAGE_SIZE else None,
        "newer": max(0, offset - _PAGE_SIZE) if offset else None,
        "changes": changes,
    }


def release(visit: Visit) -> tuple[str, Receipt | None]:
    """Release a record from quarantine."""
    key = visit.key
    return "Released: search finds it and facts are learned from it now.", visit.memory.quarantine.release(
        visit.form.get("id", ""), by=key.name or f"key:{key.id}"
    )


def discard(visit: Visit) -> tuple[str, Receipt | None]:
    """Delete a quarantined record."""
    return "Deleted.", visit.memory.quarantine.delete(visit.form.get("id", ""))
