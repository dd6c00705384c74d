"""Which time a question asks about: what holds now, or what held before."""

import re
from typing import Final

_PAST: Final = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|originally|initially|earlier|back then|at first|in the past|at the time|once"
    r"|no longer|any ?more|ex-\w+|before (?:\w+ )?(?:that|this|then|moving|switching|changing|i|we|he|she|they|now|it|the (?:move|change|switch))"
    r"|(?:before|prior to)(?= [A-Z])|before\s*\?*$|(?:my|his|her|their|our|the|'s) (?:old|last|first|prior)\b|history of)",
    re.IGNORECASE,
)
_STATE_IN_THE_PAST: Final = re.compile(
    r"\bdid (?:\S+ ){1,3}?(?:live|work|have|own|drive|use|like|eat|drink|study|play|want|prefer|plan|stay|go by|call)\b"
    r"|\b(?:was|were) (?:\S+ ){1,3}?(?:living|working|using|driving|studying|planning|staying|eating|drinking|married|called|named|based)\b",
    re.IGNORECASE,
)
_PRESENT: Final = re.compile(
    r"\b(?:now|nowadays|currently|current|latest|these days|at the moment|still|today)\b", re.IGNORECASE
)

_HAPPENED: Final = re.compile(
    r"\b(?:did|didn't|was|wasn't|were|weren't|had)\b|\bwhen (?!is\b|are\b|am\b|do\b|does\b|will\b)|\bha(?:s|ve) (?:\S+ ){1,3}?\w+(?:ed|en)\b",
    re.IGNORECASE,
)


def asks_about_past(text: str) -> bool:
    """Tell whether a question wants what held before rather than what holds now."""
    if _PAST.search(text):
        return True
    return bool(_STATE_IN_THE_PAST.search(text)) and not _PRESENT.search(text)


def asks_what_happened(text: str) -> bool:
    """Tell whether a question wants something that happened, whatever holds now."""
    return bool(_HAPPENED.search(text)) and not _PRESENT.search(text)
