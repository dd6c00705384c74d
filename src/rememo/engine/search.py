"""Search: understands the question, gathers candidates from the store, and hands them to the ranking."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rememo.engine.engine import Engine
from rememo.model.filters import Filter
from rememo.model.hit import Hit
from rememo.recall.embed.protocol import embed_question
from rememo.store.protocol import Timeline, WordMatch

Mode = Literal["hybrid", "words", "vector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A checked question."""

    text: str
    filter: Filter
    limit: int
    threshold: float
    mode: Mode
    at: datetime
    explain: bool


def search(engine: Engine, query: Query) -> list[Hit]:
    """Return the best records that the filter means, best first."""
    moment = engine.now()
    text = query.text[: engine.settings.max_query_chars]
    timeline = engine.store.timeline(query.filter, moment)
    if not len(timeline.numbers):
        return []
    words = np.zeros(len(timeline.numbers))
    vectors = np.zeros(len(timeline.numbers))
    if query.mode != "vector":
        words = _words(timeline, engine.store.words(query.filter, engine.analyzer.query(text)))
    if query.mode != "words" and engine.embedder is not None:
        vector = embed_question(engine.embedder, text)
        if vector is not None:
            near = engine.store.nearest(query.filter, vector, 200, moment)
            vectors[np.searchsorted(timeline.numbers, near.numbers)] = np.clip(near.scores, 0, 1)
    weights = {"hybrid": (0.6, 0.4), "words": (1.0, 0.0), "vector": (0.0, 1.0)}[query.mode]
    scores = weights[0] * words + weights[1] * vectors
    order = [int(one) for one in np.lexsort((timeline.numbers, -scores)) if scores[one] > max(query.threshold, 0)]
    best = order[: query.limit]
    records = engine.store.fetch(query.filter.scope, [int(timeline.numbers[one]) for one in best])
    return [
        Hit(
            record=records[number],
            score=float(scores[one]),
            reasons={"words": float(words[one]), "meaning": float(vectors[one])} if query.explain else {},
        )
        for one in best
        if (number := int(timeline.numbers[one])) in records
    ]


def similar(engine: Engine, filter: Filter, vector: NDArray[np.float32], *, limit: int, threshold: float) -> list[Hit]:
    """Return the records nearest to a vector, best first."""
    near = engine.store.nearest(filter, vector, limit, engine.now())
    records = engine.store.fetch(filter.scope, [int(number) for number in near.numbers])
    return [
        Hit(record=records[int(number)], score=min(1.0, max(0.0, float(score))))
        for number, score in zip(near.numbers, near.scores, strict=True)
        if score >= threshold and int(number) in records
    ]


def _words(timeline: Timeline, matches: Sequence[WordMatch]) -> NDArray[np.float64]:
    scores = np.zeros(len(timeline.numbers))
    norm = 0.9 * (0.6 + 0.4 * timeline.lengths / max(1.0, float(timeline.lengths.mean())))
    for match in matches:
        places = np.searchsorted(timeline.numbers, match.numbers)
        inside = (places < len(timeline.numbers)) & (
            timeline.numbers[np.minimum(places, len(timeline.numbers) - 1)] == match.numbers
        )
        places, counts = places[inside], match.counts[inside]
        rarity = np.log(1 + (len(timeline.numbers) - len(places) + 0.5) / (len(places) + 0.5))
        scores[places] += rarity * counts * 1.9 / (counts + norm[places])
    return scores / scores.max() if scores.max() > 0 else scores
