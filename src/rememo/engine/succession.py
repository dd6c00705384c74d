"""Succession: which of several statements that answer a question holds at the time it asks about.

What a search finds first is what is nearest to the question's words, and that may be over: people do not say "I no longer",
they say what is so now. Two statements of one person that both answer a question about a state are compared; where the later
one takes the place of the earlier, it comes first, and where the question asks for the past, last.
"""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from rememo.model.fact import predicate_of
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.recall.tense import tells_of_past

MOST_CLAIMS: Final = 8
"""How many of the first hits are compared."""
SMALL: Final = 24
"""Records of a scope in which all that was said is looked at."""
LIKELY: Final = 0.5
"""The likelihood from which a later statement takes the place of an earlier one."""
_SURE_OF_ANSWER: Final = 0.3
"""The same for what answers best, where only the earlier one's standing is in question."""
_LIKELY_BEFORE: Final = 0.2
"""The same where the question itself says that something came before."""
_RELEVANT: Final = 0.1
"""How near the score of an earlier claim must come to the best for it to be an answer."""
_LEAST: Final = 0.02
"""What a claim that the question did not find counts beside the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateQuestion:
    """A question for what is or was so."""

    text: str
    persons: frozenset[str] = frozenset()
    """Whom it means, in lower case."""
    size: int = 0
    """How many records the scope holds."""
    terms: int = 0
    """How many terms they are indexed under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a hit states."""

    text: str
    """As it was said, not as a fact puts it."""
    at: datetime
    score: float
    """In parts of the best one's."""
    utility: float = 1.0
    """How well it answers beside the best, as a share."""
    speaker: str = ""
    """Who said it, in lower case."""
    role: str = "user"
    predicate: str | None = None
    """Of the fact that was learned from it, if there is one."""
    subject: str = ""
    """Whom that fact is about, in lower case."""
    is_current: bool = False
    """Whether it is known to hold."""

    @property
    def is_fact(self) -> bool:
        """Whether a fact was learned from it."""
        return self.predicate is not None


class SuccessionModel(Protocol):
    """Who compares claims."""

    def states(self, claim: Claim) -> bool:
        """Tell whether a claim states anything: it does not only ask, request, wish or suppose."""
        ...

    def utilities(self, question: StateQuestion, claims: Sequence[Claim]) -> Sequence[float]:
        """Return the logarithm of how much better than its score says each claim answers."""
        ...

    def likelihood(self, question: StateQuestion, earlier: Claim, later: Claim) -> float:
        """Return how likely it is that the later claim takes the place of the earlier as an answer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """Orders the first hits of a question about a state."""

    model: SuccessionModel
    question: StateQuestion
    past: bool
    """Whether the question asks for what held before."""
    until: datetime | None = None
    """The end of the time that it asks about, where that is over."""
    rejected: frozenset[tuple[str, str]] = frozenset()
    """Pairs of an earlier and a later record of which somebody said that the earlier still holds."""

    def ordered(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, the answer first, and what is over marked as superseded by it."""
        claims = self._claims(hits)
        if not claims:
            return list(hits)
        if self.until is not None:
            # What was said by then is looked at as if nothing had been said since.
            by_then = {id: claim for id, claim in claims.items() if claim.at <= self.until}
            return _found(_led_by(hits, self._ranked(by_then), behind=claims.keys() - by_then.keys()))
        ranked = self._ranked(claims)
        if self.past:
            # What answers best now is not what held before: only what states nothing steps back.
            by_score = sorted(claims.items(), key=lambda item: (not self.model.states(item[1]), -item[1].score))
            return _found(self._compared(_led_by(hits, dict(by_score)), ranked))
        return _found(self._compared(_led_by(hits, ranked), ranked))

    def _claims(self, hits: Sequence[Hit]) -> dict[str, Claim]:
        """Return what the first hits state, by id."""
        looked_at = [hit for place, hit in enumerate(hits) if place < MOST_CLAIMS or not hit.score]
        best = max((hit.score for hit in looked_at), default=0.0) or 1.0
        return {hit.id: claim for hit in looked_at if (claim := _claim(hit, best)) is not None}

    def _ranked(self, claims: Mapping[str, Claim]) -> dict[str, Claim]:
        """Return claims with how well each answers beside the best, best first."""
        values = self.model.utilities(self.question, list(claims.values()))
        totals = [
            math.log(max(claim.score, _LEAST)) + value for claim, value in zip(claims.values(), values, strict=True)
        ]
        most = max(totals, default=0.0)
        ranked = [
            (id, replace(claim, utility=math.exp(total - most)))
            for (id, claim), total in zip(claims.items(), totals, strict=True)
        ]
        return dict(sorted(ranked, key=lambda item: -item[1].utility))

    def _compared(self, hits: Sequence[Hit], claims: Mapping[str, Claim]) -> list[Hit]:
        """Return the hits with those that take the place of others before them."""
        found = {hit.id: hit for hit in hits}
        second: set[str] = set()
        answer = next(iter(claims))
        least = 0.0 if self.past or self.question.size <= SMALL else _RELEVANT
        for earlier, later in _pairs(found[id] for id in claims):
            if claims[earlier.id].score < least:
                continue  # it does not answer, so nothing takes its place
            if later.id != answer and not (claims[earlier.id].score and claims[later.id].score):
                continue  # what the question did not find is only asked whether the answer is in its place
            if self._is_rejected(earlier, later):
                continue
            likelihood = self.model.likelihood(self.question, claims[earlier.id], claims[later.id])
            if likelihood >= (_LIKELY_BEFORE if self.past else LIKELY):
                # What itself tells of the past answers a question about it.
                earlier_first = self.past and not tells_of_past(later.text)
                first, other = (earlier, later) if earlier_first else (later, earlier)
                found[first.id] = replace(found[first.id], score=max(found[first.id].score, found[other.id].score))
                second.add(other.id)
            if not self.past and likelihood >= (_SURE_OF_ANSWER if later.id == answer else LIKELY):
                found[later.id] = replace(found[later.id], status="current")
                found[earlier.id] = replace(found[earlier.id], status="superseded", superseded_by=later.id)
        return sorted(found.values(), key=lambda hit: (-hit.score, hit.id in second))

    def _is_rejected(self, earlier: Hit, later: Hit) -> bool:
        return any((before, after) in self.rejected for before in _ids(earlier) for after in _ids(later))


def _led_by(hits: Sequence[Hit], ranked: Mapping[str, Claim], *, behind: Container[str] = ()) -> list[Hit]:
    """Return the hits, the claims among them in their order and the scores in theirs; some `behind` the claims.

    The first claim leads, though the question did not find it.
    """
    order = {id: place for place, id in enumerate(ranked)}
    moving = sorted(
        (hit for hit in hits if (hit.score and (hit.id in order or hit.id in behind)) or order.get(hit.id) == 0),
        key=lambda hit: order.get(hit.id, len(order)),
    )
    scores = sorted((hit.score or hits[0].score for hit in moving), reverse=True)
    moved = {hit.id: replace(hit, score=score) for hit, score in zip(moving, scores, strict=True)}
    return sorted((*moved.values(), *(hit for hit in hits if hit.id not in moved)), key=lambda hit: -hit.score)


def _found(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits without what was only looked at; but that something is over is worth telling."""
    return [hit for hit in hits if hit.score or hit.status == "superseded"]


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


def _claim(hit: Hit, best: float) -> Claim | None:
    """Return what a hit states; None for kinds that state nothing of a person."""
    record = _said(hit)
    if hit.record.kind not in ("message", "note", "fact"):
        return None
    return Claim(
        text=record.text,
        at=record.at,
        score=hit.score / best,
        speaker=_lower(record.data.get("name") or record.scope.user or ""),
        role=_role(hit),
        predicate=predicate_of(hit.record) if hit.record.kind == "fact" else None,
        subject=_lower(hit.record.data.get("subject", "")) if hit.record.kind == "fact" else "",
        is_current=hit.status == "current",
    )


def _said(hit: Hit) -> Record:
    """Return the record in which a hit was said: the last source of a fact."""
    return max(hit.sources, key=lambda source: source.at, default=hit.record)


def _role(hit: Hit) -> str:
    return str(_said(hit).data.get("role", "user"))


def _lower(name: object) -> str:
    return " ".join(str(name).casefold().split())


def _ids(hit: Hit) -> list[str]:
    return [hit.id, *(source.id for source in hit.sources)]
