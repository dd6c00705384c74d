"""Who stands beside whom: messages that follow one another in a room, cut into sessions by silence.

Links are made once for a timeline and kept by the caller as long as it does not change; `extend` follows a timeline that
only grew at its end, which is what conversations do.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rememo.recall.types import RecallSettings, Timeline

NONE = -1
"""The row of a neighbour that is not there."""


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The message before and after each document in the same session, as rows or `NONE`."""

    before: NDArray[np.intp]
    after: NDArray[np.intp]

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.before)

    @cached_property
    def second_before(self) -> NDArray[np.intp]:
        """The message before the one before."""
        return _twice(self.before)

    @cached_property
    def second_after(self) -> NDArray[np.intp]:
        """The message after the one after."""
        return _twice(self.after)


def link(timeline: Timeline, settings: RecallSettings) -> Neighbours:
    """Link every document to its neighbours; independent of the order of rows but for equal times in one room."""
    count = len(timeline)
    before = np.full(count, NONE, dtype=np.intp)
    after = np.full(count, NONE, dtype=np.intp)
    rows = np.flatnonzero(_lends(timeline, settings))
    if len(rows):
        rows = rows[np.lexsort((timeline.time[rows], timeline.room[rows]))]
        room, time = timeline.room[rows], timeline.time[rows]
        together = (room[1:] == room[:-1]) & (time[1:] - time[:-1] <= settings.session_gap)
        before[rows[1:][together]] = rows[:-1][together]
        after[rows[:-1][together]] = rows[1:][together]
    return Neighbours(before=before, after=after)


def extend(known: Neighbours, timeline: Timeline, settings: RecallSettings) -> Neighbours:
    """Return the links of `timeline`, whose first rows are those that `known` was made of.

    Costs a copy when the new rows come after all others of their rooms in time, a new `link` otherwise.
    """
    old = len(known)
    new_rows = np.flatnonzero(_lends(timeline, settings)[old:]) + old
    before = np.concatenate([known.before, np.full(len(timeline) - old, NONE, dtype=np.intp)])
    after = np.concatenate([known.after, np.full(len(timeline) - old, NONE, dtype=np.intp)])
    last_of_room: dict[int, int] = {}
    for row in new_rows.tolist():
        room = int(timeline.room[row])
        last = last_of_room.get(room)
        if last is None:
            last = _last_in_room(timeline, settings, room, old)
        last_of_room[room] = row
        if last == NONE:
            continue
        silence = int(timeline.time[row]) - int(timeline.time[last])
        if silence < 0:
            return link(timeline, settings)
        if silence <= settings.session_gap:
            before[row], after[last] = last, row
    return Neighbours(before=before, after=after)


def sessions(timeline: Timeline, settings: RecallSettings) -> NDArray[np.intp]:
    """Return the session number of each document: rooms cut at silences, numbered by room, then by time."""
    order = np.lexsort((timeline.time, timeline.room))
    room, time = timeline.room[order], timeline.time[order]
    starts = np.ones(len(order), dtype=np.intp)
    starts[1:] = (room[1:] != room[:-1]) | (time[1:] - time[:-1] > settings.session_gap)
    numbers = np.empty(len(order), dtype=np.intp)
    numbers[order] = np.cumsum(starts) - 1
    return numbers


def _lends(timeline: Timeline, settings: RecallSettings) -> NDArray[np.bool_]:
    lending = [number for number, kind in enumerate(timeline.kinds) if kind in settings.lending_kinds]
    return np.isin(timeline.kind, lending)


def _last_in_room(timeline: Timeline, settings: RecallSettings, room: int, end: int) -> int:
    rows = np.flatnonzero((timeline.room[:end] == room) & _lends(timeline, settings)[:end])
    if not len(rows):
        return NONE
    times = timeline.time[rows]
    return int(rows[np.flatnonzero(times == times.max())[-1]])


def _twice(step: NDArray[np.intp]) -> NDArray[np.intp]:
    # A step from nowhere leads nowhere: the last entry stands for row -1.
    return np.append(step, NONE)[step]
