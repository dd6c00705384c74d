"""What a sentence of a conversation is worth keeping for: found by rules, without a model. Pure.

Counted are the terms that tell it from the rest, facts that it states, what the speaker tells of themselves, numbers, dates
and names, and whether it answers what was just asked. Chatter, advice in general and bare questions count little.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log

from rememo.extract import extract
from rememo.recall.analyze import Analyzer, asks
from rememo.text.splitting import sentence_spans

LONGEST = 600
"""Characters beyond which a sentence is none: a table, code, or a list without end."""

_LINE = re.compile(r"[^\n]+")
_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s+)+")
_MARKS = re.compile(r"\*\*|__|`")
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|twice|hundred|thousand|first|second)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|yesterday|today|tomorrow|tonight|weekends?|ago|recently|since|birthday|anniversary"
    r"|(?:last|next|this|past|every) (?:night|week|month|year|summer|winter|spring|autumn|fall))\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,;:')\]\"] )[\"'(]?[A-Z][\w'-]+")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_OWN = re.compile(r"\b(?:i|i'(?:m|ve|d|ll)|my|we|we'(?:re|ve|d|ll)|our|mine|me)\b", re.IGNORECASE)
_DID = re.compile(
    r"\b(?:i|we)(?:'(?:ve|d)| have| had)?(?: \w+ly| also| just| even| never| always| often)*"
    r" (?:been|got|went|was|were|had|have|made|took|bought|met|saw|did|spent|gave|came|left|found|kept|read|began|ran|won|lost"
    r"|heard|felt|told|thought|brought|built|\w{2,}ed|love|like|prefer|enjoy|hate|live|work|own|use|am)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:i'm|i am|i've been|we're) (?:also |really |just |actually )?(?:looking|trying|wondering|thinking|curious|planning|hoping|"
    r"considering|interested|glad|happy|sorry|excited|not sure)\b|\b(?:i|we)(?:'d| would)? (?:also )?(?:need|want|wanted|like to|love to|was wondering)\b",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"(?:sure|great|thanks?|thank you|ok(?:ay)?|yes|no|wow|hi|hello|hey|absolutely|certainly|of course|sounds|that(?:'s| is| sounds)"
    r"|you(?:'re| are) (?:very |most )?welcome|good luck|have (?:a|fun)|i hope|i(?:'m| am) (?:glad|happy|sorry)|let me know|feel free"
    r"|here(?:'s| are| is)|as an ai|i(?:'ll| will) (?:definitely|be sure|try|check|look|keep|give|make sure|start|consider)|remember)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker said at once."""

    speaker: str
    text: str
    at: datetime
    personal: bool = True
    """Whether a person speaks, who tells of themselves, and not an assistant or a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedSentence:
    """One sentence, and what it is worth."""

    place: int
    """The turn it stands in."""
    text: str
    """On one line, without the marks of lists."""
    terms: frozenset[str]
    worth: float
    empty: bool
    """Nothing speaks for it: a greeting, a scrap."""


_WEIGHTS = {
    "terms": 1.0,  # terms that tell it from the rest
    "fact": 1.0,  # states a fact, by how sure that is
    "did": 0.8,  # what the speaker did, has or likes
    "own": 0.5,  # about the speaker at all
    "wish": -0.3,  # what somebody looks for or would like
    "number": 0.6,
    "date": 0.5,
    "name": 0.3,
    "question": -0.3,
    "answer": 0.6,  # the first words after somebody's question
    "takes_up": 0.4,  # how much of the question comes back in it
    "chatter": -0.5,
    "opening": 0.4,  # fades with every turn
    "lead": 0.3,  # a turn's first sentence
    "fragment": -0.6,
}
"""What each sign of a sentence counts. Flat around these values: they are the round mean of two tunings on two halves."""
_SCRAPS = frozenset({"fragment", "chatter"})
_CONTENT = ("fact", "did", "number", "date", "name", "answer")
_OTHERS = 0.3
"""By what the worth is multiplied of what no person said."""
_FEWEST_TERMS = 3
_DAMPING = 6.0  # so that a very short sentence does not win by one rare word
_LEAST = 0.01

Signs = dict[str, float]


def message_sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of sentences; every line of a list is one, and fenced code is none."""
    text = _FENCED.sub(lambda match: " " * len(match[0]), text)
    for line in _LINE.finditer(text):
        mark = _BULLET.match(line[0])
        first = line.start() + (mark.end() if mark else 0)
        rest = text[first : line.end()]
        for start, end in sentence_spans(rest):
            if any(character.isalnum() for character in rest[start:end]):
                yield first + start, first + end


def strip_emphasis(text: str) -> str:
    """Return a sentence on one line, without marks of emphasis."""
    return " ".join(_MARKS.sub("", text).split())


def weigh_sentences(turns: Sequence[Turn], analyzer: Analyzer) -> list[WeighedSentence]:
    """Return the sentences of turns, in their order, each with its worth. Deterministic."""
    sentences: list[tuple[int, str, frozenset[str], Signs]] = []
    question: frozenset[str] = frozenset()
    asker = ""
    for place, turn in enumerate(turns):
        read = _read(turn, analyzer, question if asker != turn.speaker else frozenset())
        for number, (text, terms, signs) in enumerate(read):
            signs |= {"lead": float(number == 0), "opening": 1 / (1 + place)}
            sentences.append((place, text, terms, signs))
        question, asker = (
            frozenset(term for _, terms, signs in read if "question" in signs for term in terms),
            turn.speaker,
        )
    often = Counter(term for _, _, terms, _ in sentences for term in terms)
    total = len(sentences) or 1
    rarity = {term: log(1 + total / count) / log(1 + total) for term, count in often.items()}
    weighed: list[WeighedSentence] = []
    for place, text, terms, signs in sentences:
        # Sorted, because the order of a set differs between processes and sums of floats with it.
        signs["terms"] = sum(sorted(rarity[term] for term in terms)) / (len(terms) + _DAMPING)
        worth = max(_LEAST, sum(_WEIGHTS[name] * value for name, value in signs.items()))
        worth *= 1.0 if turns[place].personal else _OTHERS
        empty = not _SCRAPS.isdisjoint(signs) and not any(signs.get(name) for name in _CONTENT)
        weighed.append(WeighedSentence(place=place, text=text, terms=terms, worth=worth, empty=empty))
    return weighed


def _read(turn: Turn, analyzer: Analyzer, question: frozenset[str]) -> list[tuple[str, frozenset[str], Signs]]:
    """Return the sentences of one turn with the signs that can be seen in it; `asked` is what it may answer."""
    facts = extract(turn.text, speaker=turn.speaker.strip() or "user", at=turn.at) if turn.personal else []
    stated = [(fact.position, fact.confidence) for fact in facts]
    sentences: list[tuple[str, frozenset[str], Signs]] = []
    answers = bool(question)
    for start, end in message_sentence_spans(turn.text):
        text = strip_emphasis(turn.text[start:end])
        terms = frozenset(analyzer.terms(text))
        signs = _signs(text, terms, personal=turn.personal)
        if question and "question" not in signs:
            signs["takes_up"] = len(question & terms) / len(question)
            if answers and "chatter" not in signs:
                signs["answer"], answers = 1.0, False
        signs["fact"] = max((sure for (first, last), sure in stated if first < end and last > start), default=0.0)
        sentences.append((text, terms, signs))
    return sentences


def _signs(text: str, terms: frozenset[str], *, personal: bool) -> Signs:
    text = text.translate(_QUOTES)
    signs: Signs = {}
    counted = 1.0
    if asks(text):
        signs["question"], counted = 1.0, 0.5
    if personal:
        seen = (("did", _DID, counted), ("own", _OWN, counted), ("wish", _WISH, 1.0))
        signs |= {name: value for name, pattern, value in seen if pattern.search(text)}
    for name, pattern in (("number", _NUMBER), ("date", _DATE), ("name", _NAME)):
        if pattern.search(text):
            signs[name] = counted
    if _CHATTER.match(text):
        signs["chatter"] = 1.0
    if len(terms) < _FEWEST_TERMS or len(text) > LONGEST:
        signs["fragment"] = 1.0
    return signs
