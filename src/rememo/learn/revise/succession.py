"""How likely a later statement takes the place of an earlier one as the answer to a question. Pure.

A question shows what two statements are about: where both answer it, they need no word in common to be about the same matter.
A logistic model over how well each fits the question and how the later one reads beside the earlier. The weights are fitted to
small lives and to real conversations by `tools/fit_answers.py`, which prints what they do on what they were not fitted to.
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from rememo.engine.succession import Claim, StateQuestion
from rememo.learn.revise.answers import FOR_A_WHILE, YES_OR_NO, Embed, statements, utilities
from rememo.learn.revise.likelihood import best_pair
from rememo.learn.revise.sentence import Sentence, Terms, sentences_of
from rememo.learn.revise.signals import STRONG
from rememo.learn.revise.topics import find_topics

_LEAST: Final = 1e-3
_UNFOUND: Final = 0.02
_SESSION: Final = timedelta(hours=4)
"""How far apart statements are that are not of one conversation."""
_FURTHEST: Final = 4.0
"""How far apart scores are told, as a logarithm."""
_ALIKE: Final = 3.9
"""The feature "revision" from which one statement gives another value to the same thing."""
_AT_ONCE: Final = 0.05
"""Days within which one goes on speaking of the same thing."""
_PRESENT: Final = re.compile(
    r"\b(?:now|nowadays|currently|current|latest|these days|at the moment|still|today|any ?more|yet|again)\b",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|my|me|we|our|us|mine|am)\b", re.IGNORECASE)


class FittedSuccession:
    """The model as it was fitted."""

    def __init__(self, terms_of: Terms, embed: Embed | None = None) -> None:
        self._terms_of = terms_of
        self._embed = embed

    def states(self, claim: Claim) -> bool:
        """Tell whether a claim states anything: it does not only ask, request, wish or suppose."""
        return claim.role != "assistant" and bool(statements(claim.text, self._terms_of))

    def utilities(self, question: StateQuestion, claims: Sequence[Claim]) -> list[float]:
        """Return the logarithm of how much better than its score says each claim answers."""
        return utilities(question, claims, terms_of=self._terms_of, embed=self._embed)

    def likelihood(self, question: StateQuestion, earlier: Claim, later: Claim) -> float:
        """Return how likely it is that the later claim takes the place of the earlier as an answer."""
        if _states_nothing(later, self._terms_of) or _is_of_another(question.text, later, self._terms_of):
            return 0.0
        values = features(question, earlier, later, terms_of=self._terms_of)
        at_once = later.at - earlier.at <= _SESSION and values["revision"] < _ALIKE
        if not values["tells change"] and (at_once or "?" in later.text):
            return 0.0  # what is said in one conversation goes together, and who asks has no news
        return 1 / (1 + math.exp(-sum(WEIGHTS[name] * value for name, value in values.items())))


def features(question: StateQuestion, earlier: Claim, later: Claim, *, terms_of: Terms) -> dict[str, float]:
    """Return what the model looks at, by name."""
    asks = question.text
    before, after = sentences_of(earlier.text, terms_of), sentences_of(later.text, terms_of)
    best = best_pair(after, before, recent=False, adjacent=False)
    likely = math.log((best[0] if best else 0.0) + _LEAST) - math.log(_LEAST)
    asked, topics = frozenset(terms_of(asks)), find_topics(" ".join(asks.lower().split()))
    old, new = frozenset(terms_of(earlier.text)), frozenset(terms_of(later.text))
    topics_before, topics_after = _topics(before), _topics(after)
    ratio, better = _log_ratio(later.score, earlier.score), _log_ratio(later.utility, earlier.utility)
    days = (later.at - earlier.at).total_seconds() / 86_400
    scale = math.log(max(question.size, 2))
    found: dict[str, float] = {
        "always": 1,
        "score": later.score,
        "score ratio": ratio,
        "utility": later.utility,
        "utility ratio": better,
        "earlier found": earlier.score > 0,
        "revision": likely,
        "tells change": any(sentence.tells_change for sentence in after),
        "strong": any(not STRONG.isdisjoint(sentence.signals) for sentence in after),
        "strong, earlier fact": earlier.is_fact and any(not STRONG.isdisjoint(sentence.signals) for sentence in after),
        "states nothing": not after,
        "topic of later": not topics.isdisjoint(topics_after),
        "topic of earlier": not topics.isdisjoint(topics_before),
        "same topic": not topics_before.isdisjoint(topics_after),
        "asked topic of both": bool(topics & topics_before & topics_after),
        "shared terms": min(3, len((old & new) - asked)),
        "asked terms in earlier": len(asked & old) / max(1, len(asked)),
        "asked terms in later": len(asked & new) / max(1, len(asked)),
        "asks for the present": bool(_PRESENT.search(asks)),
        "yes or no": bool(YES_OR_NO.search(asks)),
        "first person": bool(_FIRST_PERSON.search(asks)),
        "days between": math.log1p(days),
        "corrected": any("corrected" in sentence.signals for sentence in after),
        "corrected at once": days < _AT_ONCE and any("corrected" in sentence.signals for sentence in after),
        "earlier fact": earlier.is_fact,
        "later fact": later.is_fact,
        "earlier current": earlier.is_current,
        "later current": later.is_current,
        "earlier happened": all(sentence.happened for sentence in before),
        "later of others": _only_of_others(after) and not _only_of_others(before),
        "for a while": bool(FOR_A_WHILE.search(later.text)),
        "size": scale,
        "size, score ratio": scale * ratio / 5,
        "size, revision": scale * likely / 5,
    }
    return {name: float(value) for name, value in found.items()}


def _log_ratio(one: float, other: float) -> float:
    return max(-_FURTHEST, min(_FURTHEST, math.log(max(one, _UNFOUND) / max(other, _UNFOUND))))


def _states_nothing(claim: Claim, terms_of: Terms) -> bool:
    """Tell whether a claim only asks, wishes or supposes something."""
    stated = sentences_of(claim.text, terms_of)
    return all(sentence.unreal or sentence.conditional for sentence in stated) if stated else "?" in claim.text


def _is_of_another(question: str, later: Claim, terms_of: Terms) -> bool:
    """Tell whether a claim is only about a relative or a friend of whom the asker does not ask."""
    subjects = [sentence.of_kin for sentence in sentences_of(later.text, terms_of)]
    return bool(subjects) and all(subjects) and all(set(terms_of(question)).isdisjoint(terms) for terms in subjects)


def _topics(sentences: Sequence[Sentence]) -> frozenset[str]:
    return frozenset(topic for sentence in sentences for topic in sentence.topics)


def _only_of_others(sentences: Sequence[Sentence]) -> bool:
    return bool(sentences) and all(sentence.of_others or sentence.other_subject for sentence in sentences)


WEIGHTS: Final[Mapping[str, float]] = {
    "always": -3.56,
    "score": 2.04,
    "score ratio": -0.43,
    "utility": 1.99,
    "utility ratio": -0.03,
    "earlier found": 0.97,
    "revision": 0.25,
    "tells change": 0.31,
    "strong": -0.22,
    "strong, earlier fact": -0.00,
    "states nothing": -1.23,
    "topic of later": -0.40,
    "topic of earlier": 0.66,
    "same topic": -0.14,
    "asked topic of both": 0.49,
    "shared terms": 0.97,
    "asked terms in earlier": 1.58,
    "asked terms in later": -0.26,
    "asks for the present": 0.14,
    "yes or no": 0.11,
    "first person": -0.04,
    "days between": 0.27,
    "corrected": 0.36,
    "corrected at once": 0.57,
    "earlier fact": -0.02,
    "later fact": 1.30,
    "earlier current": -0.33,
    "later current": -0.97,
    "earlier happened": -0.38,
    "later of others": -0.44,
    "for a while": -1.00,
    "size": -1.63,
    "size, score ratio": 0.12,
    "size, revision": 0.12,
}
