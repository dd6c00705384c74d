"""Fusion: from evidence of different kinds to one strength, and from strength to a score.

Words are measured against all that the question says, vectors against the background of the scope, so both mean the
same whatever the scope and the embedder; names, times and the rest are factors on their sum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rememo.model.timeline import Timeline
from rememo.recall.types import Candidates, Integers, Question, RecallSettings, Rows

_PRIOR_WEIGHT = 16
"""How many documents the prior is worth: a scope of three cannot say what is usual in it."""
_FAR_ABOVE = 4.0
"""Deviations above the background that count as much as finding every word."""
_STEEPNESS = 0.8
"""Strength 1, all words of the question found once, becomes a score of 0.55. In conversations answers lie mostly above
0.6, and the best of a scope without an answer mostly below."""
_WEEK = 7 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """The documents that vectors bring in."""

    documents: Integers
    values: NDArray[np.float64]
    """Deviations above the background, in units of `_FAR_ABOVE`."""


def nearness(candidates: Candidates, settings: RecallSettings, *, scope: int, only: bool = False) -> Nearness:
    """Return the nearest documents of a scope of so many that stand above the background.

    With `only`, all that are given, below it too.
    """
    documents, cosines = candidates.vector_documents, np.asarray(candidates.vector_scores, dtype=np.float64)
    mean, deviation = _background(candidates, cosines, scope)
    if not only:
        above = _nearest(cosines, mean, deviation, settings.meaning_candidates)
        documents, cosines = documents[above], cosines[above]
    return Nearness(documents=documents, values=(cosines - mean) / (deviation * _FAR_ABOVE))


def _nearest(cosines: NDArray[np.float64], mean: float, deviation: float, most: int) -> NDArray[np.intp]:
    """Return the places of the `most` nearest above the mean, and of all that tie with the last of them."""
    above = np.flatnonzero(cosines > mean + 2 * deviation)  # enough in a large scope, and soon looked through
    if len(above) < most:
        above = np.flatnonzero(cosines > mean)
    if len(above) > most:
        last = np.partition(cosines[above], len(above) - most)[len(above) - most]
        above = above[cosines[above] >= last]
    return above


def score(strength: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores from 0 to 1 that rise with strength."""
    return 1 - np.exp(-_STEEPNESS * np.maximum(strength, 0))


def factors(
    rows: Rows, question: Question, timeline: Timeline, settings: RecallSettings
) -> dict[str, NDArray[np.float64] | None]:
    """Return what multiplies the strength of `rows`, by reason and in order; None where a reason does not apply."""
    return {
        "length": _enough_said(rows, timeline, settings),
        "speaker": _said_by(rows, question, timeline, settings),
        "time": _in_time(rows, question, timeline, settings),
        "recency": _recent(rows, question, timeline, settings),
        "importance": _important(rows, timeline, settings),
        "trust": _trusted(rows, timeline),
    }


def _background(candidates: Candidates, cosines: NDArray[np.float64], scope: int) -> tuple[float, float]:
    """Mix what is usual in the scope with what is usual anywhere, by how much the scope can say."""
    prior_mean, prior_deviation = candidates.vector_prior
    if candidates.vector_background is not None:
        # How many of the nearest were fetched must not matter, or a higher limit would change the scores.
        (mean, deviation), count = candidates.vector_background, scope
    elif len(cosines):
        mean, deviation, count = float(cosines.mean()), float(cosines.std()), len(cosines)
    else:
        return prior_mean, prior_deviation
    share = count / (count + _PRIOR_WEIGHT)
    mixed = share * deviation**2 + (1 - share) * prior_deviation**2
    return share * mean + (1 - share) * prior_mean, max(mixed**0.5, 1e-3)


def _enough_said(rows: Rows, timeline: Timeline, settings: RecallSettings) -> NDArray[np.float64]:
    length = np.asarray(timeline.lengths[rows], dtype=np.float64)
    return length / (length + settings.too_short)


def _said_by(
    rows: Rows, question: Question, timeline: Timeline, settings: RecallSettings
) -> NDArray[np.float64] | None:
    if not question.speakers:
        return None
    lift = np.zeros(len(timeline.speaker_names) + 1, dtype=np.float64)  # the last entry stands for NOBODY
    lift[list(question.speakers)] = settings.speaker
    return 1 + lift[timeline.speakers[rows]]


def _in_time(
    rows: Rows, question: Question, timeline: Timeline, settings: RecallSettings
) -> NDArray[np.float64] | None:
    if not question.windows:
        return None
    time = timeline.times[rows].astype(np.float64)
    fit = np.zeros(len(rows))
    for window in question.windows:
        start, end = float(window.start), float(window.end)
        # Things are told when they happen or later, so the edge is soft after the window and hard before it.
        late = np.maximum(0, time - end) / max(end - start, _WEEK)
        fit = np.maximum(fit, np.where(time >= start, np.exp(-2 * late), 0))
    return 1 + settings.time * fit


def _recent(rows: Rows, question: Question, timeline: Timeline, settings: RecallSettings) -> NDArray[np.float64] | None:
    if not question.wants_recent:
        return None
    age = np.maximum(0, question.at - timeline.times[rows]).astype(np.float64)
    return 1 + settings.recency * np.exp2(-age / settings.recency_half_life)


def _important(rows: Rows, timeline: Timeline, settings: RecallSettings) -> NDArray[np.float64] | None:
    importance = np.asarray(timeline.importance[rows], dtype=np.float64)
    if not np.any(importance != 0.5):  # noqa: PLR2004 - 0.5 is ordinary
        return None
    return 1 + settings.importance * (importance - 0.5)


def _trusted(rows: Rows, timeline: Timeline) -> NDArray[np.float64] | None:
    trust = np.asarray(timeline.trust[rows], dtype=np.float64)
    return trust if np.any(trust != 1) else None
