"""Succession: which of several statements that answer a question holds at the time it asks about.

What a search finds first is what is nearest to the question's words, and that may be over: people do not say "I no longer",
they say what is so now. Two statements of one person that both answer a question about a state are compared; where the later
one takes the place of the earlier, it comes first, and where the question asks for the past, last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.recall.tense import tells_of_past

MOST_CLAIMS: Final = 5
"""How many of the first hits are compared."""
LIKELY: Final = 0.65
"""The likelihood from which a later statement takes the place of an earlier one."""
_SURE: Final = 0.7
"""The likelihood from which the earlier one is shown as superseded, and left out of contexts."""
_LIKELY_BEFORE: Final = 0.3
"""The same where the question itself says that something came before."""
_RELEVANT: Final = 0.1
"""How near the score of an earlier claim must come to the best for it to be an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a hit states."""

    text: str
    """As it was said, not as a fact puts it."""
    at: datetime
    score: float
    is_fact: bool
    """Whether a fact was learned from it."""
    is_current: bool
    """Whether it is known to hold."""


class SuccessionModel(Protocol):
    """Who compares claims."""

    def likelihood(self, question: str, earlier: Claim, later: Claim, *, size: int) -> float:
        """Return how likely it is that the later claim takes the place of the earlier as an answer.

        `size` is how much the scope holds.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """Orders the first hits of a question about a state."""

    model: SuccessionModel
    question: str
    past: bool
    """Whether the question asks for what held before."""
    until: datetime | None = None
    """The end of the time that it asks about, where that is over."""
    size: int = 0
    rejected: frozenset[tuple[str, str]] = frozenset()
    """Pairs of an earlier and a later record of which somebody said that the earlier still holds."""

    def ordered(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, the answer first, and what is over marked as superseded by it."""
        looked_at = [hit for place, hit in enumerate(hits) if place < MOST_CLAIMS or not hit.score]
        claims = {hit.id: claim for hit in looked_at if (claim := _claim(hit)) is not None}
        if len(claims) < 2:  # noqa: PLR2004 - one has nobody to be compared with
            return list(hits)
        found = {hit.id: hit for hit in hits}
        second: set[str] = set()
        least = 0.0 if self.past or self.until else _RELEVANT * hits[0].score
        for earlier, later in _pairs(found[id] for id in claims):
            if claims[earlier.id].score < least:
                continue  # it does not answer, so nothing takes its place
            if self._is_rejected(earlier, later):
                continue
            likelihood = self._likelihood(claims[earlier.id], claims[later.id])
            if likelihood >= (_LIKELY_BEFORE if self.past and self.until is None else LIKELY):
                first, other = (earlier, later) if self._earlier_first(later) else (later, earlier)
                found[first.id] = replace(found[first.id], score=max(found[first.id].score, found[other.id].score))
                second.add(other.id)
                if first is later and likelihood >= _SURE:
                    found[later.id] = replace(found[later.id], status="current")
                    found[earlier.id] = replace(found[earlier.id], status="superseded", superseded_by=later.id)
        ordered = sorted(found.values(), key=lambda hit: (-hit.score, hit.id in second))
        return [hit for hit in ordered if hit.score]  # what was only looked at has none

    def _likelihood(self, earlier: Claim, later: Claim) -> float:
        if self.until is not None and later.at > self.until >= earlier.at:
            return 1.0  # what was said afterwards cannot be what was so then
        return self.model.likelihood(self.question, earlier, later, size=self.size)

    def _is_rejected(self, earlier: Hit, later: Hit) -> bool:
        return any((before, after) in self.rejected for before in _ids(earlier) for after in _ids(later))

    def _earlier_first(self, later: Hit) -> bool:
        if self.until is not None:
            return _said(later).at > self.until
        # What itself tells of the past answers a question about it.
        return self.past and not tells_of_past(later.text)


def _pairs(hits: Iterable[Hit]) -> list[tuple[Hit, Hit]]:
    """Return pairs of hits of one person, the earlier first; the latest pairs last, so that they have the last word."""
    ordered = sorted(hits, key=lambda hit: _said(hit).at)
    return [
        (earlier, later)
        for place, later in enumerate(ordered)
        for earlier in ordered[:place]
        if _said(earlier).at < _said(later).at
        and earlier.record.scope.user == later.record.scope.user
        and later.status != "superseded"
        # An assistant's answer is no news of its user, but its notes are.
        and (_role(later) != "assistant" or _role(earlier) == "assistant")
    ]


def _claim(hit: Hit) -> Claim | None:
    """Return what a hit states; None for kinds that state nothing of a person."""
    record = _said(hit)
    if hit.record.kind not in ("message", "note", "fact"):
        return None
    return Claim(
        text=record.text,
        at=record.at,
        score=hit.score,
        is_fact=hit.record.kind == "fact",
        is_current=hit.status == "current",
    )


def _said(hit: Hit) -> Record:
    """Return the record in which a hit was said: the last source of a fact."""
    return max(hit.sources, key=lambda source: source.at, default=hit.record)


def _role(hit: Hit) -> str:
    return str(_said(hit).data.get("role", "user"))


def _ids(hit: Hit) -> list[str]:
    return [hit.id, *(source.id for source in hit.sources)]
