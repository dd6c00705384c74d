"""Values that cannot both hold: times, days, amounts, numbers, handles, passwords. By type, as they are written."""

import re
from collections.abc import Mapping
from typing import Final

_TYPES: Final = {
    "time": r"\b\d{1,2}:\d\d\b|\b\d{1,2}(?:\.\d\d)? ?(?:am|pm)\b|\bnoon\b|\bmidnight\b|\bat \d{1,2}\b",
    "day": r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweekends?\b",
    "date": (
        r"\b\d{1,2}(?:st|nd|rd|th)\b"
        r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b(?: \d{1,2}\b)?"
    ),
    "money": r"[$€£]\s?\d[\d.,]*|\d[\d.,]* ?(?:euros?|dollars?|pounds?|k\b|usd|eur)|\b\d{1,3},\d{3}\b",
    "phone": r"\+?\b\d{3,5}[ -]\d{3,}[\d -]*\b",
    "handle": r"(?<![\w@])[\w.]{0,64}@\w[\w.]*",
    "code": r"\b(?=[a-z]{0,32}\d)(?=\d{0,32}[a-z])[a-z0-9]{5,64}\b",
    "number": (
        r"\b\d[\d.]*\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|fifty)\b"
    ),
}
_PATTERNS: Final = {name: re.compile(pattern) for name, pattern in _TYPES.items()}

Values = Mapping[str, frozenset[str]]
"""The values of a sentence by their type."""


def find_values(sentence: str) -> Values:
    """Return the values in a plain sentence by their type; none of a type that it has not."""
    values_by_type = {name: frozenset(pattern.findall(sentence)) for name, pattern in _PATTERNS.items()}
    return {name: values for name, values in values_by_type.items() if values}


def differ(earlier: Values, later: Values) -> bool:
    """Tell whether two sentences have values of one type and none of them in common."""
    return any(values.isdisjoint(later[name]) for name, values in earlier.items() if name in later)
