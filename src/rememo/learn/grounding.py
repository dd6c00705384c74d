"""Grounding: whether a text contains what a model extracted from it, or the model made it up."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from rememo.model.fact import folded
from rememo.recall.time import find_times

_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
_MOST_WORDS: Final = 80
"""In a quote; a longer one quotes a page, not a statement."""


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return the position of a quote in a text; case and punctuation between its words do not matter."""
    words = _WORD.findall(quote)
    if not words or len(words) > _MOST_WORDS:
        return None
    # Where words are not parted by blanks, a word of the quote may stand inside one of the text.
    before = r"\b" if words[0][0].isascii() else ""
    after = r"\b" if words[-1][-1].isascii() else ""
    pattern = before + r"\W+".join(map(re.escape, words)) + after
    match = re.search(pattern, text, re.IGNORECASE)
    return None if match is None else match.span()


def contains_words(text: str, value: str) -> bool:
    """Return whether a text contains all words of a value, in any order."""
    return bool(words := _words(value)) and (words <= _words(text) or find_quote(value, text) is not None)


def same_value(value: str, other: str) -> bool:
    """Return whether two values mean the same: they are equal, or one contains all words of the other."""
    first, second = _words(value), _words(other)
    return folded(value) == folded(other) or bool(first and second and (first <= second or second <= first))


def parse_stated_time(stated: str | None, text: str, at: datetime) -> datetime | None:
    """Return the time that a model extracted; None where it is no time, or the text mentions none."""
    if not stated or not (_DIGIT.search(text) or find_times(text, at=at)):
        return None
    try:
        time = datetime.fromisoformat(stated.strip())
    except ValueError:
        return None
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        return None


@lru_cache(4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(folded(text)))
