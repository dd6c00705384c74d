"""How likely a later statement revises an earlier one of the same person. Pure.

A logistic model over what two sentences have in common and how the later one shows a change. The weights are fitted to small
lives with known revisions (tests/data) and to real conversations, where next to nothing is revised, by
`tools/fit_revisions.py`; that prints how well they do on what they were not fitted to.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rememo.learn.revise.sentence import Sentence
from rememo.learn.revise.signals import STRONG, TABLE
from rememo.learn.revise.values import differ

_MOST_SHARED: Final = 3
_KINDS: Final = tuple(row.kind for row in TABLE)
"""The kinds of signals, each a feature by itself."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How two statements stand to each other in time and place."""

    recent: bool = False
    """The earlier was said not long ago in the same conversation."""
    adjacent: bool = False
    """The earlier is what the speaker said last, a moment ago."""
    announced: bool = False
    """Another sentence beside the later one tells a change."""


def likelihood(later: Sentence, earlier: Sentence, circumstances: Circumstances) -> float:
    """Return how likely it is, from 0 to 1, that what the earlier sentence says no longer holds."""
    if later.plain == earlier.plain or not earlier.terms:
        return 0.0
    if earlier.by_self and later.of_kin and later.of_kin.isdisjoint(earlier.terms):
        return 0.0  # what a sister does changes nothing of what the speaker does
    if later.conditional:
        return 0.0
    if not _have_something_in_common(later, earlier, circumstances):
        return 0.0
    values = features(later, earlier, circumstances)
    total = sum(WEIGHTS[name] * value for name, value in values.items())
    return 1 / (1 + math.exp(-total))


def _have_something_in_common(later: Sentence, earlier: Sentence, circumstances: Circumstances) -> bool:
    """Tell whether two sentences may be about the same matter; most are not, and are done with here."""
    return (
        not later.terms.isdisjoint(earlier.terms)
        or not later.topics.isdisjoint(earlier.topics)
        or (circumstances.recent and "corrected" in later.signals)
        or differ(later.values, earlier.values)
    )


def features(later: Sentence, earlier: Sentence, circumstances: Circumstances) -> dict[str, float]:
    """Return what the model looks at, by name; all of it from 0 to 3."""
    shared = later.terms & earlier.terms
    common = min(len(shared), _MOST_SHARED)
    topics = len(later.topics & earlier.topics)
    strong, telling = not STRONG.isdisjoint(later.signals), later.tells_change
    differing = differ(later.values, earlier.values)
    named = not shared.isdisjoint(later.names | earlier.names)
    own = later.by_self and earlier.by_self
    corrected = "corrected" in later.signals
    values: dict[str, float] = {
        "always": 1,
        "shared terms": common,
        "shared part": len(shared) / max(1, min(len(later.terms), len(earlier.terms))),
        "shared name": named,
        "same frame": _same_frame(later, earlier),
        "ended term": "ended" in later.signals and not later.ended.isdisjoint(earlier.terms),
        "left term": "ended" not in later.signals and not later.ended.isdisjoint(earlier.terms),
        "ended, topic": "ended" in later.signals and topics > 0,
        "changed, topic": "changed" in later.signals and topics > 0,
        "changed, term": "changed" in later.signals and bool(shared),
        "now, topic": "now" in later.signals and topics > 0,
        "values differ": differing,
        "shared topic": topics > 0,
        "shared topics": topics > 1,
        "topic and term": topics > 0 and bool(shared),
        "strong, terms": strong * common,
        "strong, values": strong and differing,
        "strong, topic": strong and topics > 0,
        "new, topic": "new" in later.signals and topics > 0,
        "again, topic": "again" in later.signals and topics > 0,
        "negated, topic": "negated" in later.signals and topics > 0,
        "negated, term": "negated" in later.signals and bool(shared),
        "telling, name": telling and named,
        "telling, own": telling and own,
        "telling, nothing": telling and not topics and not shared,
        "announced": circumstances.announced and not telling,
        "recent": circumstances.recent,
        "adjacent": circumstances.adjacent,
        "corrected, recent": corrected and circumstances.recent,
        "corrected, values": corrected and circumstances.recent and differing,
        "own": own,
        "later of others": later.of_others and not earlier.of_others,
        "earlier of others": earlier.of_others and not later.of_others,
        "another's": bool(later.other_subject) and later.other_subject.isdisjoint(earlier.terms),
        "another's, own": bool(later.other_subject)
        and later.other_subject.isdisjoint(earlier.terms)
        and earlier.by_self,
        "later unreal": later.unreal,
        "earlier unreal": earlier.unreal,
        "later happened": later.happened,
        "earlier happened": earlier.happened,
        "earlier negated": earlier.negated,
        "earlier changed": "ended" in earlier.signals or "changed" in earlier.signals,
        "later length": math.log1p(len(later.terms)),
        "earlier length": math.log1p(len(earlier.terms)),
    }
    return {name: float(value) for name, value in values.items()} | {
        f"signal {kind}": float(kind in later.signals) for kind in _KINDS
    }


def explain(later: Sentence) -> str:
    """Return why a later sentence is held to revise another, in its own words."""
    for row in TABLE:
        if row.kind in later.signals and row.kind not in ("negated", "news"):
            return later.signals[row.kind]
    return "another value"


def best_pair(
    later: Sequence[Sentence], earlier: Sequence[Sentence], *, recent: bool, adjacent: bool
) -> tuple[float, Sentence, Sentence] | None:
    """Return the likeliest of all pairs of sentences of two records, with its later and its earlier sentence."""
    telling = [sentence.tells_change for sentence in later]
    best: tuple[float, Sentence, Sentence] | None = None
    for place, sentence in enumerate(later):
        announced = any(tells for other, tells in enumerate(telling) if other != place)
        circumstances = Circumstances(recent=recent, adjacent=adjacent, announced=announced)
        for other in earlier:
            probability = likelihood(sentence, other, circumstances)
            if best is None or probability > best[0]:
                best = probability, sentence, other
    return best


def _same_frame(later: Sentence, earlier: Sentence) -> bool:
    """Tell whether both give a value to the same thing, and not the same one: "The wifi password is …"."""
    if later.frame is None or earlier.frame is None or later.frame[0] != earlier.frame[0]:
        return False
    return later.frame[1].isdisjoint(earlier.frame[1]) or differ(later.values, earlier.values)


WEIGHTS: Final[Mapping[str, float]] = {
    "always": -4.66,
    "shared terms": 0.10,
    "shared part": 0.96,
    "shared name": 0.61,
    "same frame": 1.16,
    "ended term": 2.17,
    "left term": 0.83,
    "ended, topic": 0.69,
    "changed, topic": 0.54,
    "changed, term": 0.63,
    "now, topic": 0.78,
    "values differ": 2.38,
    "shared topic": 1.73,
    "shared topics": 0.37,
    "topic and term": -0.75,
    "strong, terms": 0.03,
    "strong, values": -0.22,
    "strong, topic": -0.39,
    "new, topic": 0.87,
    "again, topic": 0.19,
    "negated, topic": 0.26,
    "negated, term": -0.20,
    "telling, name": 0.73,
    "telling, own": 0.68,
    "telling, nothing": 0.06,
    "announced": 0.09,
    "recent": -1.68,
    "adjacent": 0.70,
    "corrected, recent": 2.05,
    "corrected, values": 2.48,
    "own": 0.38,
    "later of others": 0.45,
    "earlier of others": 0.48,
    "another's": -0.18,
    "another's, own": -0.97,
    "later unreal": -1.07,
    "earlier unreal": -0.49,
    "later happened": 0.00,
    "earlier happened": -1.03,
    "earlier negated": 0.03,
    "earlier changed": -0.08,
    "later length": -0.35,
    "earlier length": 0.08,
    "signal ended": 1.13,
    "signal left": 0.45,
    "signal now": 0.82,
    "signal changed": 1.49,
    "signal corrected": -0.07,
    "signal instead": -0.01,
    "signal new": 0.33,
    "signal again": 0.97,
    "signal negated": 0.23,
    "signal news": 1.25,
}
