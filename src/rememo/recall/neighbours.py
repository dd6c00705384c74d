"""Who stands beside whom: messages that follow one another in a room, cut into sessions by silence.

Links are made once for a timeline and kept by the caller as long as it does not change; `extend` follows a timeline that
only grew at its end, which is what conversations do.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rememo.model.timeline import Timeline
from rememo.recall.types import RecallSettings, Rows

NONE = -1
"""The row of a neighbour that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The messages around each document in the same session, as rows or `NONE`."""

    before: NDArray[np.intp]
    after: NDArray[np.intp]
    second_before: NDArray[np.intp]
    second_after: NDArray[np.intp]

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.before)


def link(timeline: Timeline, settings: RecallSettings) -> Neighbours:
    """Link every document to its neighbours; independent of the order of rows but for equal times in one room."""
    count = len(timeline)
    before = np.full(count, NONE, dtype=np.intp)
    after = np.full(count, NONE, dtype=np.intp)
    rows = np.flatnonzero(_lends(timeline, settings, np.arange(count)))
    if len(rows):
        rows = rows[np.lexsort((timeline.times[rows], timeline.rooms[rows]))]
        room, time = timeline.rooms[rows], timeline.times[rows]
        together = (room[1:] == room[:-1]) & (time[1:] - time[:-1] <= settings.session_gap)
        before[rows[1:][together]] = rows[:-1][together]
        after[rows[:-1][together]] = rows[1:][together]
    return Neighbours(before=before, after=after, second_before=_twice(before), second_after=_twice(after))


def extend(earlier: Neighbours, timeline: Timeline, settings: RecallSettings) -> tuple[Neighbours, Rows] | None:
    """Link the rows that a timeline has gained at its end since `known`, and say whose neighbours are others now.

    Costs a copy. None if a new row is older than another of its room: then the links have to be made anew.
    """
    old, count = len(earlier), len(timeline)
    links = [
        np.concatenate([step, np.full(count - old, NONE, dtype=np.intp)])
        for step in (earlier.before, earlier.after, earlier.second_before, earlier.second_after)
    ]
    before, after, second_before, second_after = links
    changed = set(range(old, count))
    last_of_room: dict[int, int] = {}
    new_rows = np.arange(old, count)
    for row in new_rows[_lends(timeline, settings, new_rows)].tolist():
        room = int(timeline.rooms[row])
        last = last_of_room.get(room)
        if last is None:
            last = _last_in_room(timeline, settings, room, old)
        last_of_room[room] = row
        if last == NONE:
            continue
        silence = int(timeline.times[row]) - int(timeline.times[last])
        if silence < 0:
            return None
        if silence > settings.session_gap:
            continue
        second = int(before[last])
        before[row], after[last], second_before[row] = last, row, second
        changed.add(last)
        if second != NONE:
            second_after[second] = row
            changed.add(second)
    linked = Neighbours(before=before, after=after, second_before=second_before, second_after=second_after)
    return linked, np.array(sorted(changed), dtype=np.intp)


def _lends(timeline: Timeline, settings: RecallSettings, rows: Rows) -> NDArray[np.bool_]:
    by_kind = np.array([kind in settings.lending_kinds for kind in timeline.kind_names], dtype=np.bool_)
    return by_kind[timeline.kinds[rows]]


def _last_in_room(timeline: Timeline, settings: RecallSettings, room: int, end: int) -> int:
    rows = np.flatnonzero(timeline.rooms[:end] == room)
    rows = rows[_lends(timeline, settings, rows)]
    if not len(rows):
        return NONE
    times = timeline.times[rows]
    return int(rows[np.flatnonzero(times == times.max())[-1]])


def _twice(step: NDArray[np.intp]) -> NDArray[np.intp]:
    # A step from nowhere leads nowhere: the last entry stands for row -1.
    return np.append(step, NONE)[step]
