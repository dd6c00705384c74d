"""Selection: which of the hits answers a question for the time that it asks about, and which of them no longer hold.

What a search finds first is what is nearest to the question's words, and that may be over: people do not say "I no longer",
they say what is so now, often without a word of the question. So what was said is read beside each other by a small network
(`recall.answers`). In a small scope it decides alone, over all that was said there; in a larger one, where words tell more, it
fades out.
"""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rememo.engine.person_matching import folded_speaker
from rememo.model.fact import folded, predicate_of
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.recall.answers.claim import Claim, ClaimQuestion
from rememo.recall.answers.selector import AnswerSelector, Verdict
from rememo.recall.asked import asked_predicates
from rememo.recall.tense import asks_about_past, asks_about_the_world, is_plain_question

MOST_CLAIMS: Final = 16
"""How many of the first hits are looked at."""
_IN_LARGE_SCOPES: Final = 8
"""The same, where the network chooses nothing and only tells what is outdated."""
SMALL: Final = 24
"""Records of a scope in which all that was said is looked at."""
_WHOLE, _NONE = 200, 2_000
"""Terms that a scope is indexed under up to which the network decides alone, and from which the scores do."""
_OUTDATED: Final = 0.4
"""The probability from which a claim counts as outdated: that it is, and that what leads is the answer."""
_OF_SCORE: Final = 0.15
"""How much the logarithm of the score counts beside the network's, so that what was found by its words is not passed over on a
whim: of 1,463 questions of lives held out, right from 0 to 0.2 within a point, at 0.3 one point and at 0.5 four points fewer."""
_KNOWN: Final = 5.0
"""How much less the logarithm of the score of what is known to hold no longer counts, where the question is about now."""
_SURE: Final = math.log(0.5)
"""The logarithm of the probability from which what the search did not find may lead."""
_SEVERAL_SENTENCES: Final = re.compile(r"[.!?]\s+\S")
_LEAST_SCORE: Final = 0.02
_WORD: Final = re.compile(r"\w+")
_SHORT: Final = 6
"""Words of a question that states nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Orders the first hits of one question."""

    selector: AnswerSelector
    question: ClaimQuestion
    terms: int
    """How many terms the records of the scope are indexed under."""
    rejected: frozenset[tuple[str, str]] = frozenset()
    """Pairs of an earlier and a later record of which somebody said that the earlier still holds."""

    def apply(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, the answer first, and what it replaced marked as superseded by it.

        A hit with a score of 0 was not found but may answer; those that turn out to have nothing to do with the question are dropped.
        """
        claims = self._claims(hits)
        verdicts = self.selector.select(self.question, list(claims.values())) if claims else None
        if verdicts is None:
            return [hit for hit in hits if hit.score]
        by_id = dict(zip(claims, verdicts, strict=True))
        first = self._choose(claims, by_id)
        marked = self._mark_outdated(_lead(hits, claims, first), first, claims, by_id)
        return [hit for hit in marked if hit.score or hit.status == "superseded"]

    def _claims(self, hits: Sequence[Hit]) -> dict[str, Claim]:
        """Return what the first hits state, and those that were not found, by id."""
        most = MOST_CLAIMS if fade(self.terms) else _IN_LARGE_SCOPES
        looked_at = [hit for place, hit in enumerate(hits) if place < most or not hit.score]
        best = max((hit.score for hit in looked_at), default=0.0) or 1.0
        predicates = asked_predicates(self.question.text)
        return {hit.id: claim for hit in looked_at if (claim := self._claim(hit, best, predicates)) is not None}

    def _claim(self, hit: Hit, best: float, predicates: frozenset[str]) -> Claim | None:
        """Return what a hit states; None for kinds that state nothing of a person, and where the speaker is unknown."""
        record, is_fact = _origin(hit), hit.record.kind == "fact"
        speaker = folded_speaker(record)
        # Who only asks states nothing (in a longer question something often is stated), and the question itself is often a
        # message of the conversation by now.
        asks = not is_fact and len(record.text.split()) <= _SHORT and is_plain_question(record.text)
        repeats = self.question.text.strip().casefold() in record.text.casefold()
        if hit.record.kind not in ("message", "note", "fact") or not speaker or asks or repeats:
            return None
        is_of_kind = is_fact and predicate_of(hit.record) in predicates
        is_meant = is_of_kind and self._means(str(hit.record.data.get("subject", "")))
        return Claim(
            text=record.text,
            at=record.at,
            score=hit.score / best,
            speaker=speaker,
            role=_role(hit),
            is_fact=is_fact,
            is_asked=is_meant,
            is_asked_of_another=is_of_kind and not is_meant,
            is_current=hit.status == "current",
            is_superseded=hit.status == "superseded",
        )

    def _means(self, subject: str) -> bool:
        """Tell whether the question names the subject of a fact: a person, or something of theirs ("my sister")."""
        name = folded(subject)
        _, _, thing = name.partition("'s ")
        return name in self.question.persons or bool(set((thing or name).split()) & _words(self.question.text))

    def _choose(self, claims: Mapping[str, Claim], verdicts: Mapping[str, Verdict]) -> str:
        """Return the id of the claim that answers best."""
        share = fade(self.terms)
        about_past = bool(self.question.until) or asks_about_past(self.question.text)

        def value(id: str) -> float:
            if not claims[id].score and verdicts[id].answers < _SURE:
                return -math.inf  # it has not a word of the question, and does not clearly answer it
            if not claims[id].is_fact and asks_about_the_world(claims[id].text):
                return -math.inf
            score = math.log(max(claims[id].score, _LEAST_SCORE))
            if claims[id].is_superseded and not about_past:
                score -= _KNOWN  # what is known counts more than what the network makes of the words
            return share * (verdicts[id].answers + _OF_SCORE * score) + (1 - share) * score

        return max(claims, key=value)

    def _mark_outdated(
        self, hits: Sequence[Hit], first: str, claims: Mapping[str, Claim], verdicts: Mapping[str, Verdict]
    ) -> list[Hit]:
        """Return the hits with the status of those that the first claim took the place of."""
        answer = next(hit for hit in hits if hit.id == first)
        # In a large scope the scores decide what comes first; only what the network takes for the answer too replaces others.
        if verdicts[answer.id].answers < max(verdict.answers for verdict in verdicts.values()):
            return list(hits)
        outdated = {
            hit.id
            for hit in hits
            if hit.id in verdicts
            and verdicts[hit.id].outdated * math.exp(verdicts[answer.id].answers) >= _OUTDATED
            and _can_replace(answer, hit)
            and not _is_aside(claims[hit.id])
            and not self._is_rejected(hit, answer)
        }
        marked: list[Hit] = []
        for hit in hits:
            if hit.id in outdated:
                marked.append(replace(hit, status="superseded", superseded_by=answer.id))
            elif outdated and hit.id == answer.id:
                marked.append(replace(hit, status="current"))
            else:
                marked.append(hit)
        return marked

    def _is_rejected(self, earlier: Hit, later: Hit) -> bool:
        return any((before, after) in self.rejected for before in _ids(earlier) for after in _ids(later))


def fade(terms: int) -> float:
    """Return how much the network counts in a scope of so many terms, from 1 to 0."""
    return min(1.0, max(0.0, 1 - math.log(max(terms, 1) / _WHOLE) / math.log(_NONE / _WHOLE)))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _is_aside(claim: Claim) -> bool:
    """Tell whether a claim is a fact that is known to hold, beside what else was said then and is asked for."""
    aside = claim.is_fact and claim.is_current and not claim.is_asked
    return aside and bool(_SEVERAL_SENTENCES.search(claim.text))


def _lead(hits: Sequence[Hit], claims: Container[str], first: str) -> list[Hit]:
    """Return the hits with one claim before all others, which keep their scores and their order."""
    best = max((hit.score for hit in hits if hit.id in claims), default=0.0)
    scored = [replace(hit, score=best) if hit.id == first else hit for hit in hits]
    return sorted(scored, key=lambda hit: (-hit.score, hit.id in claims and hit.id != first))


def _can_replace(answer: Hit, hit: Hit) -> bool:
    """Tell whether one hit can have taken the place of another: said later, by the same user; an assistant's words only its own."""
    if answer.id == hit.id or answer.status == "superseded" or answer.record.scope.user != hit.record.scope.user:
        return False
    if _role(answer) == "assistant" and _role(hit) != "assistant":
        return False
    return _origin(hit).at < _origin(answer).at


def _origin(hit: Hit) -> Record:
    """Return the record in which a hit was said: the last source of a fact."""
    return max(hit.sources, key=lambda source: source.at, default=hit.record)


def _role(hit: Hit) -> str:
    return str(_origin(hit).data.get("role", "user"))


def _ids(hit: Hit) -> Iterable[str]:
    return [hit.id, *(source.id for source in hit.sources)]
