"""Reading all that an adapter wrote, however much that is."""

from collections.abc import Mapping
from typing import Any

from rememo.memory import Memory
from rememo.model.record import Record

_PAGE = 10_000


def latest(view: Memory, limit: int | None = None, *, metadata: Mapping[str, Any], **filter: Any) -> list[Record]:
    """Return the latest `limit` records that a filter means, or all of them, oldest first."""
    found: dict[str, Record] = {}
    offset = 0
    while limit is None or offset < limit:
        most = _PAGE if limit is None else min(_PAGE, limit - offset)
        page = view.list(metadata=metadata, limit=most, offset=offset, **filter)
        # What is added between two pages moves them: then a record comes a second time.
        found = {one.id: one for one in page} | found
        offset += most
        if len(page) < most:
            break
    return list(found.values())
