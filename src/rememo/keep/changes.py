"""Change feed: what any process wrote, in commit order."""

from datetime import datetime

from rememo.engine.view import View
from rememo.model.change_event import ChangeEvent, format_cursor, parse_cursor
from rememo.model.check import check_limit
from rememo.model.record import LISTED
from rememo.model.times import from_micros, to_micros
from rememo.store.versions import RecordChange

_MOST = 1_000


def changes(view: View, after: datetime | str | None, limit: int) -> list[ChangeEvent]:
    """Return the first changes within a view after a cursor or a moment, in the order they were committed."""
    mark, most = parse_cursor(after), check_limit(limit, maximum=_MOST)
    end = None if view.known_at is None else to_micros(view.known_at)
    changes: list[ChangeEvent] = []
    while len(changes) < most:
        moved = view.engine.store.changes(view.scope, mark, most)
        for move in moved:
            if end is not None and move.mark[0] > end:
                return changes
            change = _to_change(move)
            if change is not None and len(changes) < most:
                changes.append(change)
            mark = move.mark
        # What is in quarantine or not listed is passed over: there may be more behind it.
        if len(moved) < most:
            break
    return changes


def current_cursor(view: View) -> str:
    """Return the cursor after the last committed write."""
    return format_cursor((view.engine.store.clock(view.scope.tenant), 2, 0))


def _to_change(move: RecordChange) -> ChangeEvent | None:
    record, ended = move.record, move.mark[1] == 0
    if record.kind not in LISTED:
        return None
    quarantined = record.quarantine is not None
    if quarantined and (ended or record.version == 1):
        return None
    outcome = "deleted" if ended or quarantined else "added" if record.created_at == record.recorded_at else "updated"
    return ChangeEvent(cursor=format_cursor(move.mark), at=from_micros(move.mark[0]), outcome=outcome, record=record)
