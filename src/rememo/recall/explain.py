"""Explaining hits: each part of a score by name, and in words."""

from rememo.recall.types import Candidates, Question, Ranking, Timeline

_SMALLEST = 0.005
"""Parts that would round to nothing are not worth a reason."""

MEANINGS = {
    "words": "has words of the question",
    "neighbours": "messages beside it have words of the question",
    "meaning": "is near to the question in meaning",
    "answers": "follows a message that asks for it",
    "length": "says little",
    "speaker": "was said by somebody the question means",
    "time": "is from a time the question names",
    "recency": "is recent, and the question asks for the latest",
    "importance": "is marked as more or less important",
    "kind": "is of a kind that counts more or less",
    "trust": "comes from a source that is trusted less",
    "unknown": "the question names somebody or something that was never mentioned",
    "person": "is what somebody else says of themselves",
    "asked": "is, or is not, the kind of fact that the question asks for",
}
"""What each part of a score says of a hit."""


def reasons(ranking: Ranking, place: int) -> dict[str, float]:
    """Return what each part lent to the score of the hit at `place`, largest first; they sum up to about the score."""
    parts = {name: float(values[place]) for name, values in ranking.parts.items()}
    noticeable = {name: value for name, value in parts.items() if abs(value) >= _SMALLEST}
    return dict(sorted(noticeable.items(), key=lambda part: (-abs(part[1]), part[0])))


def matched_terms(candidates: Candidates, document: int) -> tuple[str, ...]:
    """Return the terms of the question that stand in a document itself."""
    return tuple(sorted(posting.term for posting in candidates.postings if (posting.documents == document).any()))


def describe(ranking: Ranking, place: int, question: Question, candidates: Candidates, timeline: Timeline) -> list[str]:
    """Return the reasons for the hit at `place` as short sentences, the weightiest first."""
    document = int(ranking.documents[place])
    details = {
        "words": ", ".join(matched_terms(candidates, document)),
        "speaker": _speaker(timeline, document),
        "time": ", ".join(window.text for window in question.windows if window.text),
    }
    sentences: list[str] = []
    for name, value in reasons(ranking, place).items():
        detail = details.get(name, "")
        sentences.append(f"{value:+.2f} {MEANINGS.get(name, name)}" + (f": {detail}" if detail else ""))
    if ranking.folded[place]:
        sentences.append(f"stands for {len(ranking.folded[place])} more that say the same")
    return sentences


def _speaker(timeline: Timeline, document: int) -> str:
    number = int(timeline.speaker[document])
    return timeline.speakers[number] if number >= 0 else ""
