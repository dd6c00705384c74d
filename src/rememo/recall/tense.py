"""Which time a question asks about: what holds now, or what held before."""

import re
from typing import Final

_PAST: Final = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|initially|earlier|back then|at first|in the past|at the time|(?:i|we|he|she|they) once"
    r"|no longer|any ?more|ex-\w+|before (?:\w+ )?(?:that|this|then|moving|switching|changing|i|we|he|she|they|now|it|the (?:move|change|switch))"
    r"|(?:before|prior to)(?= (?:my |the |our )?[A-Z])|(?:was|were|did) .{0,60}?(?:before|prior to)(?= \d)|do for (?:a living|work)(?= (?:in|before|back))|did (?:\S+ ){1,2}do for (?:a living|work)|before\s*\?*$|(?:my|his|her|their|our|the|'s) (?:old|last|first|prior)\b|history of)",
    re.IGNORECASE,
)
_STATE_IN_THE_PAST: Final = re.compile(
    r"\bdid (?:\S+ ){1,3}?(?:live|work|have|own|drive|use|like|eat|drink|study|play|want|prefer|plan|stay|go by|call|hold|wear|pay|rent|believe|belong)\b"
    r"|\b(?:was|were) (?:\S+ ){1,3}?(?:living|working|using|driving|studying|planning|staying|eating|drinking|married|called|named|based)\b",
    re.IGNORECASE,
)
_PRESENT: Final = re.compile(
    r"\b(?:now|nowadays|currently|current|latest|these days|at the moment|still|today)\b", re.IGNORECASE
)

_HAPPENED: Final = re.compile(
    r"\b(?:did|didn't|was|wasn't|were|weren't|had)\b|^\W*(?:who|which \w+|what \w+) \w+ed\b|\bwhen (?!is\b|are\b|am\b|do\b|does\b|will\b)|\bha(?:s|ve) (?:\S+ ){1,3}?\w+(?:ed|en)\b",
    re.IGNORECASE,
)

_ASKS: Final = re.compile(
    r"^\W*(?:(?:hey|hi|so|and|ok|okay|btw|quick question|remind me|tell me|again)[,:]?\s+){0,3}"
    r"(?:what|who|whose|where|which|when|why|how|am|is|are|do|does|have|has|can|should|will|would|did|was|were|in (?:which|what))\b",
    re.IGNORECASE,
)
_ANOTHER_SENTENCE: Final = re.compile(r"[.!?]\s+\S")
_HAS_DONE: Final = re.compile(
    r"\bha(?:s|ve) (?:\S+ ){1,3}?(?:\w+(?:ed|en)|read|made|done|gone|been|bought|had|met|found|got|won|seen)\b",
    re.IGNORECASE,
)
_WAS: Final = re.compile(
    r"\b(?:who|what|which|where|whose|how) (?:\S+ ){0,3}?(?:was|were)\b|^\W*(?:who|which \w+|what \w+) \w+ed\b|\bhow did (?:\S+ ){1,3}?get (?:around|to)\b",
    re.IGNORECASE,
)
_TOLD: Final = re.compile(
    r"\b(?:used to|previously|formerly|originally|initially|back then|at first|in the past)\b", re.IGNORECASE
)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|im|ive|my|mine|me|we|our|ours|us)\b", re.IGNORECASE)
_LONGEST_QUESTION: Final = 16
"""Words of a question beyond which it is no plain question but a request with its story."""


def asks_for_state(text: str) -> bool:
    """Tell whether a text is a plain question for what is so: where somebody lives, what is used, who is in charge."""
    return is_plain_question(text) and not _HAS_DONE.search(text) and not asks_what_happened(text)


def asks_for_past_state(text: str) -> bool:
    """Tell whether a text is a plain question for what was so: where somebody lived, what was used, who was in charge."""
    return is_plain_question(text) and (asks_about_past(text) or bool(_WAS.search(text)))


def is_plain_question(text: str) -> bool:
    """Tell whether a text is one short question, and no request with its story."""
    if len(text.split(maxsplit=_LONGEST_QUESTION)) > _LONGEST_QUESTION:
        return False
    return bool(_ASKS.match(text) or text.rstrip().endswith("?")) and not _ANOTHER_SENTENCE.search(text)


def asks_about_the_world(text: str) -> bool:
    """Tell whether a text is a question that says nothing of whoever asks it."""
    return is_plain_question(text) and bool(_ASKS.match(text)) and not _FIRST_PERSON.search(text)


def asks_about_past(text: str) -> bool:
    """Tell whether a question wants what held before rather than what holds now."""
    if _PAST.search(text):
        return True
    return bool(_STATE_IN_THE_PAST.search(text)) and not _PRESENT.search(text)


def asks_what_happened(text: str) -> bool:
    """Tell whether a question wants something that happened, whatever holds now."""
    return bool(_HAPPENED.search(text)) and not _PRESENT.search(text)


def tells_of_past(text: str) -> bool:
    """Tell whether a statement says what was so before, by itself."""
    return bool(_TOLD.search(text))
