"""Reading all records of a filter page by page."""

from collections.abc import Iterator, Mapping
from typing import Any

from rememo.memory import Memory
from rememo.model.record import Record

_PAGE = 10_000
_STEP = 1_000


def list_latest(view: Memory, limit: int | None = None, *, metadata: Mapping[str, Any], **filter: Any) -> list[Record]:
    """Return the latest `limit` records that match a filter, or all of them, oldest first."""
    records: dict[str, Record] = {}
    offset = 0
    while limit is None or offset < limit:
        most = _PAGE if limit is None else min(_PAGE, limit - offset)
        page = view.list(metadata=metadata, limit=most, offset=offset, **filter)
        # What is added between two pages moves them: then a record comes a second time.
        records = {record.id: record for record in page} | records
        offset += most
        if len(page) < most:
            break
    return list(records.values())


def iter_newest(view: Memory, *, metadata: Mapping[str, Any], **filter: Any) -> Iterator[Record]:
    """Yield the records that match a filter, newest first, reading pages only as they are needed."""
    yielded: set[str] = set()
    offset = 0
    while page := view.list(metadata=metadata, limit=_STEP, offset=offset, **filter):
        offset += len(page)
        for record in reversed(page):
            if record.id not in yielded:  # what is added meanwhile moves the pages
                yielded.add(record.id)
                yield record
        if len(page) < _STEP:
            return
