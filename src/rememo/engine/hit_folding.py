"""Facts and the records they were learned from as one hit. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rememo.model.fact import source_ids
from rememo.model.hit import Hit

_AS_GOOD: Final = 0.6
"""How near a fact's score must come to its source's for both to be one hit."""


def fold_facts(hits: Sequence[Hit]) -> list[Hit]:
    """Join facts with the records they were learned from, where both were found: one hit, the fact first."""
    joined = _joined(hits)
    texts_with_source = {hit.text for hit in joined if hit.sources}
    # The same fact may stand in several places; the one with its source says more.
    return [hit for hit in joined if hit.sources or hit.record.kind != "fact" or hit.text not in texts_with_source]


def _joined(hits: Sequence[Hit]) -> list[Hit]:
    places = {hit.id: place for place, hit in enumerate(hits)}
    joined: dict[int, Hit] = {}
    folded: set[int] = set()
    for place, hit in enumerate(hits):
        if hit.record.kind != "fact":
            continue
        sources = [
            other
            for id in source_ids(hit.record)
            if (other := places.get(id)) is not None
            and other not in folded
            and (hits[other].status == "superseded") == (hit.status == "superseded")
            and hit.score >= _AS_GOOD * hits[other].score
        ]
        if sources:
            first = min(place, *sources)
            score = max(hit.score, *(hits[other].score for other in sources))
            folded.update({place, *sources})
            joined[first] = replace(hit, score=score, sources=tuple(hits[other].record for other in sorted(sources)))
    return [joined.get(place, hit) for place, hit in enumerate(hits) if place not in folded or place in joined]
