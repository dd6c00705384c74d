"""Spreading: what a message lends to the messages around it.

All work is done on the touched documents only: those that words or vectors found, and their neighbours. A message lends
and takes less the longer it is, because a long one already says what it is about.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rememo.model.timeline import Timeline
from rememo.recall.neighbours import Neighbours
from rememo.recall.types import Integers, RecallSettings, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """Amounts by group and touched document."""

    own: NDArray[np.float64]
    """What was given to documents themselves."""
    total: NDArray[np.float64]
    """The same with what neighbours lent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The touched documents and the links between them."""

    touched: Rows
    """Rows of the timeline, rising."""
    slot: NDArray[np.intp]
    """For each row of the timeline its place in `touched`; one past the end for other rows and for `NONE`."""
    near: NDArray[np.bool_]
    """For each row of the timeline whether it is touched or lends to one that is."""
    steps: tuple[tuple[NDArray[np.intp], float], ...]
    """The four ways to a neighbour and the share that is lent on it."""
    damping: NDArray[np.float64]
    """For each row of the timeline, and last for `NONE`, how much of that share it lends and takes."""
    lengths: NDArray[np.float64]
    """Lengths of the touched documents with what neighbours lend them."""
    mean_length: float
    """The mean of that over the timeline."""

    def lend(
        self,
        documents: Integers,
        amounts: NDArray[np.float64],
        *,
        groups: NDArray[np.intp] | None = None,
        group_count: int = 1,
        share: float = 1.0,
    ) -> Loan:
        """Give `amounts` to `documents` and lend `share` of the usual to their neighbours, each group by itself.

        A document stands at most once in a group. Each step gives a document at most one amount, and steps are taken
        in a fixed order, so the sums do not depend on the order of `documents`.
        """
        width = len(self.touched) + 1  # the last column gathers what goes to nobody
        first = groups * width if groups is not None else 0
        own = _gather(first + self.slot[documents], amounts, group_count, width)
        total = own.copy()
        if share:
            lent = amounts * self.damping[documents]
            for step, portion in self.steps:
                takers = step[documents]
                lent_on = lent * self.damping[takers] * (share * portion)
                total += _gather(first + self.slot[takers], lent_on, group_count, width)
        return Loan(own=own[:, :-1], total=total[:, :-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Lengths of a whole timeline with what neighbours lend, kept beside its links."""

    damping: NDArray[np.float64]
    """How much of the usual a document lends and takes; one entry more, 0, stands for the neighbour that is not there."""
    total: NDArray[np.float64]
    mean: float


def measure_lengths(timeline: Timeline, neighbours: Neighbours, settings: RecallSettings) -> Lengths:
    """Return how long every document is together with what its neighbours lend it."""
    damping = _damping(np.asarray(timeline.lengths, dtype=np.float64), settings)
    total = _lengths_of(np.arange(len(timeline)), timeline, neighbours, damping, settings)
    return Lengths(damping=damping, total=total, mean=float(total.mean()) if len(total) else 0.0)


def extend_lengths(
    earlier: Lengths, changed: Rows, timeline: Timeline, neighbours: Neighbours, settings: RecallSettings
) -> Lengths:
    """Return the lengths of a timeline that grew at its end, where only `changed` rows have other neighbours."""
    old = len(earlier.total)
    new_damping = _damping(np.asarray(timeline.lengths[old:], dtype=np.float64), settings)
    damping = np.concatenate([earlier.damping[:-1], new_damping])
    total = np.concatenate([earlier.total, np.zeros(len(timeline) - old)])
    total[changed] = _lengths_of(changed, timeline, neighbours, damping, settings)
    return Lengths(damping=damping, total=total, mean=float(total.mean()) if len(total) else 0.0)


def _damping(lengths: NDArray[np.float64], settings: RecallSettings) -> NDArray[np.float64]:
    return np.append(settings.self_contained / (settings.self_contained + lengths), 0.0)


def _lengths_of(
    rows: Rows, timeline: Timeline, neighbours: Neighbours, damping: NDArray[np.float64], settings: RecallSettings
) -> NDArray[np.float64]:
    total = np.asarray(timeline.lengths[rows], dtype=np.float64)
    for step, portion in _steps(neighbours, settings):
        there = step[rows]
        # Nothing is lent by the neighbour that is not there: its damping is 0.
        total = total + portion * damping[rows] * damping[there] * timeline.lengths[there]
    return total


def touch(
    document_lists: Sequence[Integers], neighbours: Neighbours, lengths: Lengths, settings: RecallSettings
) -> Spread:
    """Gather the documents of `found` and all that they lend to."""
    steps = _steps(neighbours, settings)
    marked = np.zeros(len(neighbours) + 1, dtype=np.bool_)  # one more for the neighbour that is not there
    for documents in document_lists:
        marked[documents] = True
        for step, _ in steps:
            marked[step[documents]] = True
    touched = np.flatnonzero(marked[:-1])
    slot = np.full(len(neighbours) + 1, len(touched), dtype=np.intp)
    slot[touched] = np.arange(len(touched))
    for step, _ in steps:
        marked[step[touched]] = True
    return Spread(
        touched=touched,
        slot=slot,
        near=marked[:-1],
        steps=steps,
        damping=lengths.damping,
        lengths=lengths.total[touched],
        mean_length=lengths.mean,
    )


def answers(
    strength: NDArray[np.float64], spread: Spread, timeline: Timeline, neighbours: Neighbours, settings: RecallSettings
) -> NDArray[np.float64]:
    """Return what touched documents take from the message before them because that one asks something."""
    borrowed = np.zeros(len(strength))
    before = neighbours.before[spread.touched]
    # An asker that nothing found has nothing to lend.
    slots = np.flatnonzero((spread.slot[before] < len(strength)) & timeline.asks[before])
    askers = before[slots]
    shares = settings.answer * spread.damping[askers] * spread.damping[spread.touched[slots]]
    borrowed[slots] = shares * strength[spread.slot[askers]]
    return borrowed


def _steps(neighbours: Neighbours, settings: RecallSettings) -> tuple[tuple[NDArray[np.intp], float], ...]:
    return (
        (neighbours.after, settings.lent_to_next),
        (neighbours.before, settings.lent_to_next),
        (neighbours.second_after, settings.lent_to_second),
        (neighbours.second_before, settings.lent_to_second),
    )


def _gather(slots: NDArray[np.intp], amounts: NDArray[np.float64], group_count: int, width: int) -> NDArray[np.float64]:
    sums = np.bincount(slots, amounts, group_count * width)
    # Without any entries numpy answers with integers.
    return np.asarray(sums, dtype=np.float64).reshape(group_count, width)
