"""Signs of change: how a sentence says that something is over, has another value now, or was said wrongly.

A table: each row is a kind of sign, a pattern, and how sure it is. The groups of a pattern name what a sentence tells:
`old` is what is over, `topic` is what has another value now. Patterns are tried on a sentence in lower case with plain
apostrophes; all repetition in them is bounded, so time is linear in the text.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

SignKind = Literal["ended", "replaced", "moved", "switched", "corrected", "denied", "now"]
"""`ended`: `old` is over. `replaced`: something else took the place of `old`. `moved`: `topic` has another value. `switched`: `new` took the
place of another thing of its class. `corrected`: what was said a moment ago was wrong. `denied`: the opposite of an earlier statement. `now`: what follows is so from now on."""

_WORDS: Final = r"(?:[^\s,;.!?]+ ){0,4}?[^\s,;.!?]+"
_SOME: Final = r"(?:[^\s,;.!?]+ ){0,3}?"
_STOPS: Final = r"(?=$|[,;.!?]| (?:and|but|because|since|so|after|before|last|yesterday|today|now|for good|anymore|any more|with|when|as|due|this|in|on|there|\\d+|an? (?:day|week|month|year|while)|(?:two|three|four|five|six|a few|a couple of) (?:days|weeks|months|years))\b)"
_BE: Final = r"(?:is|are|was|were|has been|have been|got|gets|'s|'re)"
_OLD: Final = rf"(?P<old>{_WORDS}){_STOPS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignRow:
    """One row of the table."""

    kind: SignKind
    pattern: re.Pattern[str]
    confidence: float
    examples: tuple[str, ...]
    """Sentences that carry the sign; tests try them."""
    loose: bool = False
    """It says what is over, but not that it was ever so: more must fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A sign of change in a sentence."""

    kind: SignKind
    confidence: float
    wording: str
    """The words that are the sign."""
    old: str = ""
    new: str = ""
    topic: str = ""
    loose: bool = False


def _row(kind: SignKind, pattern: str, confidence: float, *examples: str, loose: bool = False) -> SignRow:
    return SignRow(kind=kind, pattern=re.compile(pattern), confidence=confidence, examples=examples, loose=loose)


_CHANGED: Final = r"(?:switched|switching|moved|moving|changed|changing|migrated|migrating|went|upgraded|converted|transferred|shifted|swapped)"
_SELF: Final = r"\b(?:i|we|i've|we've|i have|we have)(?: just| recently| also| finally| now)*"
_OPENER: Final = r"^(?:(?:actually|sorry|wait|no|oh|hmm|ok|okay|please|um|oops)[,!.]* )*"
_DROPPED: Final = (
    r"(?:quit|quitting|stopped|gave up|given up|giving up|dropped out of|ditched|abandoned|sold|cancelled|canceled|called off|got rid of"
    r"|gave away|unsubscribed from|resigned from|broke up with|split up with|lost my|lost our)"
)
TABLE: Final = (
    _row("replaced", rf"\b{_CHANGED} (?:over )?{_SOME}from (?P<old>{_WORDS}) to\b", 0.9,
         "we migrated the project from mysql to postgresql", "i switched from coffee to tea"),
    _row("replaced", rf"\b{_CHANGED} (?:over |back )?{_SOME}to {_WORDS} from {_OLD}", 0.85, "i moved to oat milk from soy milk"),
    _row("replaced", rf"{_SELF} (?:replaced|traded|traded in|swapped|exchanged|ditched) {_OLD}", 0.85,
         "i replaced the old kettle with a new one", "we swapped friday for monday"),
    _row("replaced", rf"\b(?:instead of|rather than|in place of) {_OLD}", 0.75, "i take the train to work instead of the bus", loose=True),
    _row("ended", rf"\bno longer {_OLD}", 0.9, "i no longer use vim", "she is no longer working at the bank"),
    _row("ended", rf"(?:n't|\bnot|\bnever) (?P<old>{_WORDS}) (?:anymore|any more(?=$|[,;.!?]| (?:and|but|because|since|so)\b))", 0.9,
         "i don't like jazz anymore", "i don't smoke any more"),
    _row("ended", rf"\b{_DROPPED} {_OLD}", 0.85, "i quit smoking three weeks ago", "i sold the toyota last week", "i cancelled the rome trip"),
    _row("ended", rf"(?P<old>{_WORDS}) {_BE} (?:now )?(?:cancelled|canceled|called off|off the table|sold|discontinued|deprecated)\b", 0.85,
         "the meeting with laura is cancelled"),
    _row("ended", rf"(?P<old>{_WORDS}) (?:died|passed away|fell through|closed down|shut down)\b", 0.8, "rex died yesterday"),
    _row("moved", rf"(?P<topic>{_WORDS}) (?:{_BE} )?(?:now )?(?:moved|pushed|pushed back|postponed|rescheduled|changed|bumped|delayed|shifted|brought forward)"
         r" (?:back |forward |up )?(?:to|until|till|by)\b", 0.85, "standup moved to 10:30 from now on", "the deadline for the report was pushed to march 15"),
    _row("moved", rf"\b(?:moved|pushed|postponed|rescheduled|changed|delayed|shifted) (?P<topic>{_WORDS}) (?:back |forward |up )?(?:to|until|till|by)\b", 0.8,
         "we moved the review to thursday"),
    _row("moved", rf"{_SELF} (?:changed|switched|have new|have a new|got a new|got new|have got a new) (?P<topic>{_WORDS}){_STOPS}", 0.75,
         "i changed gyms", "i got a new phone number"),
    _row("moved", rf"{_SELF} a new (?P<topic>{_WORDS}){_STOPS}", 0.75, "i have a new phone number"),
    _row("moved", rf"\b(?:my|our|the|his|her|their) new (?P<topic>{_WORDS}) (?:is|are|will be)\b", 0.75, "my new manager is tom"),
    _row("corrected", rf"\b(?:i meant|i mean|correction|my mistake|my bad|scratch that|i was wrong|typo|i misspoke|sorry|actually)\b.{{0,60}}?\bnot {_OLD}", 0.9,
         "sorry, i meant 9am, not 7am", "actually it's on tuesday, not on monday"),
    _row("corrected", rf"{_OPENER}(?:i meant|correction|scratch that|i misspoke|make (?:it|that)|it's actually|it should be)\b", 0.8,
         "actually make it six people on saturday", "i meant thursday"),
    _row("switched", rf"\b(?:switched|switching|moved over|changed|converted|gone back|went back|going back|upgraded|downgraded|moved on) (?:over |back )?to (?P<new>{_WORDS}){_STOPS}", 0.75,
         "i switched to green tea because coffee made me jittery", "i've switched back to android"),
    _row("denied", r"(?:n't\b|\bnot\b|\bnever\b|\bno longer\b)", 0.75, "i'm not allergic to peanuts after all"),
    _row("now", r"(?<!right )(?<!by )(?<!until )(?<!a while )\bnow\b(?! that\b)|\b(?:nowadays|these days|from now on|going forward|instead"
         r"|switched to|moved to|changed to|went with|decided on|settled on)\b", 0.7,
         "i cycle to work now", "i switched to linux on my laptop"),
)  # fmt: skip
_ANY: Final = re.compile(
    r"n't\b|\b(?:not|never|no longer|switch|moved|moving|chang|migrat|went|upgrad|downgrad|convert|transfer|shift|swap|replac|trad|exchang|ditch|instead"
    r"|rather|in place|any ?more|quit|stop|gave|giv|drop|abandon|sold|cancel|call|got|unsubscrib|resign|broke|split|lost|off|discontinued|deprecated|died"
    r"|passed|fell|closed|shut|push|postpon|reschedul|bump|delay|brought|new|meant|mean|correction|mistake|bad|scratch|wrong|typo|misspoke|sorry"
    r"|actually|make|should be|now|nowadays|these days|going|gone|decided|settled)"
)
"""Without any of these a sentence carries no sign: most sentences are done here."""
_QUOTES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\n": " "})
_UNREAL: Final = re.compile(
    r"(?:n't|\b(?:not|never|if|would|should|could|might|may|want to|wanted to|going to|gonna|try to|trying to|need to|let's|please)) (?:\S+ )?$|\bto $"
)
"""What makes of a change a wish, a condition or its contrary."""
_LEAD: Final = re.compile(r"^(?:(?:my|our|the|his|her|their|this|that|a|an|to|at|for|in|on|with|all|both|both of) )+")
_EMPTY: Final = frozenset(
    {"it", "that", "this", "them", "there", "him", "her", "me", "us", "i", "we", "you", "he", "she", "they", "so"}
)


def plain(sentence: str) -> str:
    """Return a sentence in the form that patterns are tried on."""
    return " ".join(sentence.translate(_QUOTES).lower().split())


def signs_in(sentence: str) -> list[Sign]:
    """Return the signs of change that a plain sentence carries, the surest first; one of each kind."""
    if not _ANY.search(sentence):
        return []
    found: dict[SignKind, Sign] = {}
    for row in TABLE:
        match = row.pattern.search(sentence)
        if match is None or row.kind in found:
            continue
        groups = match.groupdict()
        named = {name: _noun(words) for name, words in groups.items()}
        if not all(named.values()) or _UNREAL.search(sentence, max(0, match.start() - 24), match.start()):
            continue
        found[row.kind] = Sign(
            kind=row.kind, confidence=row.confidence, wording=match.group()[:80], loose=row.loose, **named
        )
    return list(found.values())


def _noun(words: str) -> str:
    """Return a group's words without what leads up to the thing they name; nothing for a mere pronoun."""
    words = _LEAD.sub("", words.strip())
    return "" if words in _EMPTY else words
