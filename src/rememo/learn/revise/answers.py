"""Which of the statements that a search found answers a question for a state. Pure.

What is nearest to a question's words is often no answer: it only asks, wishes or plans, it speaks of somebody else, or it is over. A
conditional logit over the first hits of a question: how each reads by itself, and beside what the same person said before and
after. It is fitted to small lives and to real conversations by `tools/fit_answers.py`. In a small scope, words alone say little;
in a large one they say nearly all (there the model costs as much as it brings), so that it fades as the scope grows.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final, TypeAlias

from rememo.engine.succession import Claim, StateQuestion
from rememo.learn.revise.likelihood import best_pair
from rememo.learn.revise.sentence import Sentence, Terms, sentences_of
from rememo.learn.revise.signals import STRONG
from rememo.learn.revise.topics import find_topics
from rememo.recall.asked import asked_predicates
from rememo.recall.embed.protocol import Vector

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Vector | None]]

_WHOLE, _NONE = 40, 400
"""Terms that a scope is indexed under up to which the model counts in full, and from which it does not."""
FOR_A_WHILE: Final = re.compile(
    r"\b(?:just (?:this once|for today|today|for now)|this (?:week|weekend|once|time)|visiting|trip|loaner|borrow\w*|temporar\w+|until|till"
    r"|for (?:a|the|two|three) (?:week|day|night|weekend|month|weeks|days|nights)|on (?:holiday|vacation)|acting|interim|tonight"
    r"|for fun|test drove|tried|looking after|lent me|never again|substitute|gave it back|binned|turned (?:it|them) down|a quote from|just curious|out of my league)\b",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|myself|me|we|we're|our|us)\b", re.IGNORECASE)
_SECOND_PERSON: Final = re.compile(r"\b(?:you|your|yours|you're|you've)\b", re.IGNORECASE)
_REQUEST: Final = re.compile(
    r"^\W*(?:what|how|where|who|when|which|why|is|are|do|does|can|could|should|any|best|recipe|draft|write|give|need|looking|suggest"
    r"|name for|word for|text for|film for|quote|haiku|limerick|funny|easy|quick|toast|song|ideas?|tips|summari[sz]e|translate|explain|convert|list|show|tell|make (?:this|a)|three|fun)\b",
    re.IGNORECASE,
)
YES_OR_NO: Final = re.compile(r"^\W*(?:am|is|are|do|does|did|have|has|can|should|will)\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][\w-]+")
_PLACE: Final = re.compile(r"\b(?:in|at|to|from|near|on) (?:the )?[A-Z]")
_WHERE: Final = re.compile(r"\bwhere\b|\bwhich (?:city|town|country|place)\b", re.IGNORECASE)
_WHO: Final = re.compile(r"\bwho(?:se|'s)?\b", re.IGNORECASE)
_WHEN: Final = re.compile(r"\bwhen\b|\b(?:what|which) (?:time|day|date)\b", re.IGNORECASE)
_HOW_MANY: Final = re.compile(
    r"\bhow (?:many|much|long|old|big|often)\b|\b(?:number|size|price|budget|dose)\b", re.IGNORECASE
)
_KIN: Final = re.compile(
    r"\b(?:sister|brother|mother|father|mom|mum|dad|friend|neighbou?r|colleague|cousin|aunt|uncle|son|daughter|wife|husband|flatmate|roommate)\b",
    re.IGNORECASE,
)
NO_ANSWER: Final = (
    "only asks",
    "request",
    "unreal",
    "another's self",
    "of kin",
    "fact of asker's other",
    "asked kin missing",
)
"""The features that show that a claim does not answer: all that counts where everything was said at one time."""
UNFOUND: Final = 0.02
"""The score of a claim that the question did not find, beside the best."""
_UNFOUND, _GOOD = 0.05, 0.5
"""How much such a claim counts beside others, and the score of a good one."""
_OF_KIN: Final = 5.0
"""How much less than by its weight a claim counts that is about a friend for whom nobody asks: it is no answer."""
_LEAST: Final = 1e-3
_SESSION, _AT_ONCE = timedelta(hours=4), timedelta()
"""How far apart statements are that are not of one conversation, and changes from what they change."""


def fade(terms: int) -> float:
    """Return how much the model counts in a scope of so many terms, from 1 to 0."""
    return min(1.0, max(0.0, 1 - math.log(max(terms, 1) / _WHOLE) / math.log(_NONE / _WHOLE)))


def utilities(
    question: StateQuestion, claims: Sequence[Claim], *, terms_of: Terms, embed: Embed | None = None
) -> list[float]:
    """Return the logarithm of how much better than its score says each claim answers a question."""
    share = fade(question.terms)
    if not share:
        return [0.0] * len(claims)
    rows = features(question, claims, terms_of=terms_of, embed=embed)
    names = WEIGHTS.keys() if any(row["earlier"] for row in rows) else NO_ANSWER
    return [share * (sum(WEIGHTS[name] * row[name] for name in names) - _OF_KIN * row["of kin"]) for row in rows]


def features(
    question: StateQuestion, claims: Sequence[Claim], *, terms_of: Terms, embed: Embed | None = None
) -> list[dict[str, float]]:
    """Return what the model looks at, by name, for each claim."""
    stated = [statements(claim.text, terms_of) for claim in claims]
    vectors = embed([claim.text for claim in claims]) if embed is not None else [None] * len(claims)
    asked = frozenset(terms_of(question.text))
    shared = [asked.intersection(terms_of(claim.text)) for claim in claims]
    common = Counter(term for terms in shared for term in terms)
    tells = [any(sentence.tells_change for sentence in sentences) for sentences in stated]
    corrects = [any("corrected" in sentence.signals for sentence in sentences) for sentences in stated]
    found: list[dict[str, float]] = []
    for place, claim in enumerate(claims):
        row = _by_itself(question, claim, stated[place], terms_of)
        others = [
            other
            for other, said in enumerate(claims)
            if stated[other] and said.speaker == claim.speaker and said.role == claim.role and said.text != claim.text
        ]
        # What is said in one conversation goes together, unless it tells a change.
        earlier = [other for other in others if claim.at - claims[other].at > (_AT_ONCE if tells[place] else _SESSION)]
        later = [other for other in others if claims[other].at - claim.at > (_AT_ONCE if tells[other] else _SESSION)]
        weight = {other: max(claims[other].score, _UNFOUND) for other in others}
        before = min(1.0, sum(weight[other] for other in earlier))
        changed = max((weight[other] for other in later if tells[other]), default=0.0)
        alone = sum(1 / common[term] for term in shared[place]) / max(1, len(asked))
        part = len(shared[place]) / max(1, len(asked))
        row |= {
            "asked terms": part,
            "asked terms, alone": alone,
            "asked terms, changed": part * changed,
            "asked terms, later": part * min(1.0, sum(weight[other] for other in later)),
            "all asked terms": float(len(asked) > 1 and shared[place] == asked),
            "no asked term": float(not shared[place]),
            "no asked term, tells change": float(not shared[place] and tells[place]),
            "earlier": before,
            "later": min(1.0, sum(weight[other] for other in later)),
            "latest": before * float(bool(stated[place]) and not later),
            "revised": max(
                (_revises(stated[other], stated[place]) for other in later if claims[other].score), default=0.0
            ),
            "revises": max(
                (_revises(stated[place], stated[other]) * weight[other] for other in earlier if claims[other].score),
                default=0.0,
            ),
            "tells change, earlier": tells[place] * before,
            "strong, earlier": any(not STRONG.isdisjoint(sentence.signals) for sentence in stated[place]) * before,
            "corrected, earlier": corrects[place] * before,
            "later tells change": changed,
            "like earlier": max(
                (_cosine(vectors[place], vectors[other]) for other in earlier if claims[other].score > _GOOD),
                default=0.0,
            ),
            "like later": max((_cosine(vectors[place], vectors[other]) for other in later), default=0.0),
        }
        found.append(row)
    return found


def statements(text: str, terms_of: Terms) -> list[Sentence]:
    """Return the sentences of a text that state something, without its requests."""
    return [sentence for sentence in sentences_of(text, terms_of) if not _REQUEST.match(sentence.text)]


def _revises(later: Sequence[Sentence], earlier: Sequence[Sentence]) -> float:
    best = best_pair(later, earlier, recent=False, adjacent=False)
    return math.log((best[0] if best else 0.0) + _LEAST) - math.log(_LEAST)


def _cosine(one: Vector | None, other: Vector | None) -> float:
    return 0.0 if one is None or other is None else float(one @ other)


def _by_itself(question: StateQuestion, claim: Claim, stated: Sequence[Sentence], terms_of: Terms) -> dict[str, float]:
    text, asks = claim.text, question.text
    asked, terms = frozenset(terms_of(asks)), frozenset(terms_of(text))
    predicates = asked_predicates(asks)
    fits, about = claim.predicate in predicates, claim.subject in question.persons
    kin = frozenset(terms_of(" ".join(_KIN.findall(asks))))
    values = {kind for sentence in stated for kind in sentence.values}
    another, of_self = _is_of_another_speaker(question, claim), _speaks_of_self(question, claim)
    topics = find_topics(" ".join(asks.lower().split()))
    common = topics & {topic for sentence in stated for topic in sentence.topics}
    found: dict[str, float] = {
        "score": math.log(max(claim.score, UNFOUND)),
        "topics": min(3, len(common)),
        "another topic": bool(topics) and not common,
        "name": bool(_NAME.search(text)),
        "length": math.log1p(len(terms)),
        "own word": claim.speaker in question.persons and claim.role == "user",
        "happened": bool(stated) and all(sentence.happened for sentence in stated),
        "fact": claim.is_fact,
        "only asks": not stated and "?" in text,
        "request": bool(_REQUEST.match(text)),
        "unreal": bool(stated) and all(sentence.unreal or sentence.conditional for sentence in stated),
        "for a while": bool(FOR_A_WHILE.search(text)),
        "another's self": another and of_self,
        "of kin": bool(stated) and all(_is_of_kin(sentence, asked) for sentence in stated),
        "fact asked for": claim.is_fact and fits and about,
        "fact of asker's other": claim.is_fact
        and _is_other(frozenset(terms_of(claim.subject.partition("'s ")[2])), asked),
        "asked kin missing": bool(kin) and kin.isdisjoint(terms),
        "assistant": claim.role == "assistant",
        "where, place": bool(_WHERE.search(asks) and _PLACE.search(text)),
        "when, time": bool(_WHEN.search(asks)) and not values.isdisjoint(("time", "day", "date")),
        "how many, number": bool(_HOW_MANY.search(asks)) and not values.isdisjoint(("number", "money", "code")),
    }
    return {name: float(value) for name, value in found.items()}


def _is_of_another_speaker(question: StateQuestion, claim: Claim) -> bool:
    return bool(question.persons and claim.speaker) and claim.speaker not in question.persons and claim.role == "user"


def _speaks_of_self(question: StateQuestion, claim: Claim) -> bool:
    """Tell whether somebody speaks of themselves, and not to or of the persons that the question means."""
    text = claim.text
    if not _FIRST_PERSON.search(text) or _SECOND_PERSON.search(text):
        return False
    return not any(person in text.casefold() for person in question.persons)


def _is_of_kin(sentence: Sentence, asked: frozenset[str]) -> bool:
    """Tell whether a sentence is about a relative or a friend for whom the question does not ask."""
    return bool(sentence.of_kin) and asked.isdisjoint(sentence.of_kin | sentence.names)


def _is_other(subject: frozenset[str], asked: frozenset[str]) -> bool:
    return bool(subject) and asked.isdisjoint(subject)


WEIGHTS: Final[Mapping[str, float]] = {
    "score": -0.24,
    "topics": -0.42,
    "another topic": -1.80,
    "name": 0.62,
    "length": 0.95,
    "own word": 4.17,
    "happened": -0.11,
    "fact": 0.19,
    "only asks": -1.94,
    "request": -1.76,
    "unreal": -1.15,
    "for a while": -0.86,
    "another's self": -2.51,
    "of kin": -1.92,
    "fact asked for": 1.58,
    "fact of asker's other": -0.50,
    "asked kin missing": -0.74,
    "assistant": -0.08,
    "where, place": 1.37,
    "when, time": 4.50,
    "how many, number": 3.01,
    "asked terms": -0.15,
    "asked terms, alone": -0.17,
    "asked terms, changed": -0.38,
    "asked terms, later": 1.27,
    "all asked terms": -0.34,
    "no asked term": -1.74,
    "no asked term, tells change": 0.16,
    "earlier": 0.77,
    "later": 0.34,
    "latest": 0.76,
    "revised": -0.10,
    "revises": 0.16,
    "tells change, earlier": 0.66,
    "strong, earlier": 0.06,
    "corrected, earlier": 0.45,
    "later tells change": 0.63,
    "like earlier": 1.52,
    "like later": -4.46,
}
