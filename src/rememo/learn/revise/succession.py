"""How likely a later statement takes the place of an earlier one as the answer to a question. Pure.

A question shows what two statements are about: where both answer it, they need no word in common to be about the same matter.
A logistic model over how well each fits the question and how the later one reads beside the earlier. The weights are fitted to
small lives and to real conversations by `tools/fit_succession.py`, which prints what they do on what they were not fitted to.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from rememo.engine.succession import LIKELY, Claim
from rememo.learn.revise.likelihood import best_pair
from rememo.learn.revise.sentence import Sentence, Terms, sentences_of
from rememo.learn.revise.signals import STRONG
from rememo.learn.revise.topics import find_topics

_LEAST: Final = 1e-3
_SAME_MATTER, _ALIKE = 2.5, 3.9
"""The feature "revision" from which statements are of the same matter, and from which one has another value of it."""
_CERTAIN: Final = 0.8
"""The likelihood from which no sign of change is asked for."""
_AT_ONCE: Final = 0.05
"""Days within which one goes on speaking of the same thing."""
_PRESENT: Final = re.compile(
    r"\b(?:now|nowadays|currently|current|latest|these days|at the moment|still|today|any ?more|yet|again)\b",
    re.IGNORECASE,
)
_YES_OR_NO: Final = re.compile(r"^\W*(?:am|is|are|do|does|have|has|can|should|will)\b", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|my|me|we|our|us|mine|am)\b", re.IGNORECASE)
_FOR_A_WHILE: Final = re.compile(
    r"\b(?:just (?:this once|for today|today|for now)|this (?:week|weekend|once|time)|visiting|trip|loaner|borrow\w*|temporar\w+|until"
    r"|for (?:a|the|two|three) (?:week|day|night|weekend|month|weeks|days|nights)|on (?:holiday|vacation)|acting|interim|tonight)\b",
    re.IGNORECASE,
)


class FittedSuccession:
    """The model as it was fitted."""

    def __init__(self, terms_of: Terms) -> None:
        self._terms_of = terms_of

    def likelihood(self, question: str, earlier: Claim, later: Claim, *, size: int) -> float:
        """Return how likely it is that the later claim takes the place of the earlier as an answer."""
        if _states_nothing(later, self._terms_of) or _is_of_another(question, later, self._terms_of):
            return 0.0
        values = features(question, earlier, later, terms_of=self._terms_of, size=size)
        likelihood = 1 / (1 + math.exp(-sum(WEIGHTS[name] * value for name, value in values.items())))
        if values["tells change"] or values["revision"] >= _ALIKE or likelihood >= _CERTAIN:
            return likelihood
        # To speak of the same thing again is no change: it may come first, but it makes nothing superseded.
        return min(likelihood, LIKELY) if values["revision"] >= _SAME_MATTER else 0.0


def features(question: str, earlier: Claim, later: Claim, *, terms_of: Terms, size: int) -> dict[str, float]:
    """Return what the model looks at, by name."""
    before, after = sentences_of(earlier.text, terms_of), sentences_of(later.text, terms_of)
    best = best_pair(after, before, recent=False, adjacent=False)
    likely = math.log((best[0] if best else 0.0) + _LEAST) - math.log(_LEAST)
    asked, topics = frozenset(terms_of(question)), find_topics(" ".join(question.lower().split()))
    old, new = frozenset(terms_of(earlier.text)), frozenset(terms_of(later.text))
    topics_before, topics_after = _topics(before), _topics(after)
    ratio = later.score / max(earlier.score, _LEAST)
    days = (later.at - earlier.at).total_seconds() / 86_400
    scale = math.log(max(size, 2))
    found: dict[str, float] = {
        "always": 1,
        "score": later.score,
        "score ratio": ratio,
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
        "asks for the present": bool(_PRESENT.search(question)),
        "yes or no": bool(_YES_OR_NO.search(question)),
        "first person": bool(_FIRST_PERSON.search(question)),
        "days between": math.log1p(days),
        "corrected": any("corrected" in sentence.signals for sentence in after),
        "corrected at once": days < _AT_ONCE and any("corrected" in sentence.signals for sentence in after),
        "earlier fact": earlier.is_fact,
        "later fact": later.is_fact,
        "earlier current": earlier.is_current,
        "later current": later.is_current,
        "earlier happened": all(sentence.happened for sentence in before),
        "later of others": _only_of_others(after) and not _only_of_others(before),
        "for a while": bool(_FOR_A_WHILE.search(later.text)),
        "size": scale,
        "size, score ratio": scale * ratio / 5,
        "size, revision": scale * likely / 5,
    }
    return {name: float(value) for name, value in found.items()}


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
    "always": -1.22,
    "score": 0.76,
    "score ratio": 1.02,
    "revision": 0.43,
    "tells change": 0.30,
    "strong": 0.65,
    "strong, earlier fact": 0.27,
    "states nothing": -0.58,
    "topic of later": 0.16,
    "topic of earlier": 0.37,
    "same topic": -0.44,
    "asked topic of both": 0.19,
    "shared terms": 0.26,
    "asked terms in earlier": 0.07,
    "asked terms in later": -0.54,
    "asks for the present": 0.61,
    "yes or no": 0.98,
    "first person": -0.20,
    "days between": 0.07,
    "corrected": 0.53,
    "corrected at once": 0.45,
    "earlier fact": -0.73,
    "later fact": 0.91,
    "earlier current": -0.44,
    "later current": 0.55,
    "earlier happened": 0.75,
    "later of others": -1.28,
    "for a while": -0.78,
    "size": -0.40,
    "size, score ratio": 0.81,
    "size, revision": -0.53,
}
