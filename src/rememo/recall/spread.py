"""Spreading: what a message lends to the messages around it.

All work is done on the touched documents only: those that words or vectors found, and their neighbours. A message lends
and takes less the longer it is, because a long one already says what it is about.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rememo.recall.neighbours import NONE, Neighbours
from rememo.recall.types import Floats, Integers, RecallSettings, Rows, Timeline

_Number: TypeAlias = Integers | Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The touched documents and the links between them."""

    touched: Rows
    """Rows of the timeline, rising."""
    slot: NDArray[np.intp]
    """For each row of the timeline its place in `touched`; undefined for rows that are not there."""
    steps: tuple[tuple[NDArray[np.intp], float], ...]
    """The four ways to a neighbour and the share that is lent on it."""
    damping: NDArray[np.float64]
    """For each row of the timeline how much of that share it lends and takes."""
    lengths: NDArray[np.float64]
    """Lengths of the touched documents with what neighbours lend them."""
    mean_length: float
    """The mean of that over the timeline."""

    def lend(self, documents: Integers, amounts: _Number, share: float) -> NDArray[np.float64]:
        """Give `amounts` to `documents` and lend `share` of the usual to their neighbours.

        Each step gives a document at most one amount, and steps are taken in a fixed order, so the sums do not depend
        on the order of `documents`.
        """
        size = len(self.touched)
        given = np.asarray(amounts, dtype=np.float64)
        total = _gather(self.slot[documents], given, size)
        if share == 0:
            return total
        lent = given * self.damping[documents]
        for step, portion in self.steps:
            there = step[documents]
            known = there != NONE
            takers = there[known]
            total += _gather(self.slot[takers], lent[known] * self.damping[takers] * (share * portion), size)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Lengths of a whole timeline with what neighbours lend, kept beside its links."""

    damping: NDArray[np.float64]
    total: NDArray[np.float64]
    mean: float


def measure_lengths(timeline: Timeline, neighbours: Neighbours, settings: RecallSettings) -> Lengths:
    """Return how long every document is together with what its neighbours lend it."""
    own = np.asarray(timeline.length, dtype=np.float64)
    damping = settings.self_contained / (settings.self_contained + own)
    lent = np.append(own * damping, 0.0)  # the last entry stands for the neighbour that is not there
    total = own.copy()
    for step, portion in _steps(neighbours, settings):
        total += portion * damping * lent[step]
    return Lengths(damping=damping, total=total, mean=float(total.mean()) if len(total) else 0.0)


def touch(found: list[Integers], neighbours: Neighbours, lengths: Lengths, settings: RecallSettings) -> Spread:
    """Gather the documents of `found` and all that they lend to."""
    steps = _steps(neighbours, settings)
    marked = np.zeros(len(neighbours) + 1, dtype=np.bool_)  # one more for the neighbour that is not there
    for documents in found:
        marked[documents] = True
        for step, _ in steps:
            marked[step[documents]] = True
    touched = np.flatnonzero(marked[:-1])
    slot = np.empty(len(neighbours), dtype=np.intp)
    slot[touched] = np.arange(len(touched))
    return Spread(
        touched=touched,
        slot=slot,
        steps=steps,
        damping=lengths.damping,
        lengths=lengths.total[touched],
        mean_length=lengths.mean,
    )


def answers(
    strength: NDArray[np.float64], spread: Spread, timeline: Timeline, neighbours: Neighbours, settings: RecallSettings
) -> NDArray[np.float64]:
    """Return what touched documents take from the message before them because that one asks something."""
    taken = np.zeros(len(strength))
    if timeline.asks is None or settings.answer == 0:
        return taken
    before = neighbours.before[spread.touched]
    slots = np.flatnonzero((before != NONE) & timeline.asks[before])
    askers = before[slots]
    # An asker that nothing found has nothing to lend; its slot is undefined.
    is_touched = np.zeros(len(timeline), dtype=np.bool_)
    is_touched[spread.touched] = True
    slots, askers = slots[is_touched[askers]], askers[is_touched[askers]]
    shares = settings.answer * spread.damping[askers] * spread.damping[spread.touched[slots]]
    taken[slots] = shares * strength[spread.slot[askers]]
    return taken


def _steps(neighbours: Neighbours, settings: RecallSettings) -> tuple[tuple[NDArray[np.intp], float], ...]:
    return (
        (neighbours.after, settings.lent_to_next),
        (neighbours.before, settings.lent_to_next),
        (neighbours.second_after, settings.lent_to_second),
        (neighbours.second_before, settings.lent_to_second),
    )


def _gather(slots: NDArray[np.intp], amounts: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    # The cast is for the checker, and for no slots at all, where numpy answers with integers.
    return np.asarray(np.bincount(slots, amounts, size), dtype=np.float64)
