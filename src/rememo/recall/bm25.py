"""Words: BM25 over what a message says together with what its neighbours lend it.

Counts are lent before they saturate, not scores after: a term that stands in three messages in a row is then worth
little more than one that stands once, while *different* terms of the question that meet across neighbouring messages
add up. On conversations that finds a good deal more than adding neighbours' scores.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rememo.recall.spread import Spread
from rememo.recall.types import Integers, Postings, RecallSettings, Timeline


def inverse_frequency(documents: int, containing: int) -> float:
    """Return how much a term says that `containing` of `documents` have; never negative."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def length_norm(lengths: NDArray[np.float64], mean: float, settings: RecallSettings) -> NDArray[np.float64]:
    """Return BM25's denominator term for documents of these lengths where the mean is `mean`."""
    share = settings.length_share
    relative = lengths / mean if mean > 0 else np.ones_like(lengths)
    return settings.saturation * (1 - share + share * relative)


def information(terms: Sequence[str], postings: Sequence[Postings], documents: int) -> float:
    """Return how much the whole question says: the sum of its terms' weights, those that occur nowhere included."""
    found = {posting.term: posting for posting in postings}
    total = 0.0
    for term in sorted({*terms, *found}):
        posting = found.get(term)
        containing, weight = (len(posting.documents), posting.weight) if posting else (0, 1.0)
        total += weight * inverse_frequency(documents, containing)
    return total


def words(
    postings: Sequence[Postings], timeline: Timeline, spread: Spread, settings: RecallSettings
) -> NDArray[np.float64]:
    """Return the BM25 score of every touched document, with what neighbours lend, in order of `spread.touched`.

    The result does not depend on the order of postings or of documents within them, to the last bit.
    """
    norm = length_norm(spread.lengths, spread.mean_length, settings)
    total = np.zeros(len(spread.touched))
    for posting in sorted(postings, key=lambda posting: posting.term):
        if not len(posting.documents):
            continue
        counts = spread.lend(posting.documents, posting.frequencies, 1.0)
        weight = posting.weight * inverse_frequency(len(timeline), len(posting.documents))
        total += weight * (settings.saturation + 1) * counts / (counts + norm)
    return total


def own_words(
    postings: Sequence[Postings], rows: Integers, timeline: Timeline, spread: Spread, settings: RecallSettings
) -> NDArray[np.float64]:
    """Return the score that `rows` have by their own words alone, on the same scale as `words`."""
    total = np.zeros(len(rows))
    at = np.full(len(timeline), -1, dtype=np.intp)
    at[rows] = np.arange(len(rows))
    norm = length_norm(spread.lengths[spread.slot[rows]], spread.mean_length, settings)
    for posting in sorted(postings, key=lambda posting: posting.term):
        places = at[posting.documents]
        here = places >= 0
        counts = np.zeros(len(rows))
        counts[places[here]] = posting.frequencies[here]
        weight = posting.weight * inverse_frequency(len(timeline), len(posting.documents))
        total += weight * (settings.saturation + 1) * counts / (counts + norm)
    return total
