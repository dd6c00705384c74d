"""A text cut into words with their places, and the circumstances in which its time words are read."""

import re
from collections.abc import Mapping
from datetime import date, datetime

from rememo.recall.time.mention import Lean
from rememo.recall.time.stretch import Stretch, midnight

_TOKEN = re.compile(r"\d+|[^\W\d_]+|[^\w\s]")
_LOOKAHEAD = 12
_PLAIN = {"\u2019": "'", "\u2013": "-", "\u2014": "-"}
LONGEST_NUMBER = 4

Parsed = tuple[Stretch, int] | None
"""What a rule read and the index of the first word after it."""


class Reading:
    """The words of one text. ``words`` is lower-cased and padded with empty strings, so that rules may look ahead."""

    def __init__(self, text: str, at: datetime, *, lean: Lean, anchors: Mapping[str, date]) -> None:
        self.text = text
        self.at = at.replace(tzinfo=None)
        self.today = midnight(self.at.date())
        self.lean: Lean = lean
        tokens = list(_TOKEN.finditer(text))
        self.count = len(tokens)
        self.raw = [token.group() for token in tokens]
        self.words = [_PLAIN.get(token) or token.lower() for token in self.raw] + [""] * _LOOKAHEAD
        self.starts = [token.start() for token in tokens]
        self.ends = [token.end() for token in tokens]
        self.anchors: dict[str, list[tuple[tuple[str, ...], date]]] = {}
        for phrase, day in anchors.items():
            words = tuple(token.lower() for token in _TOKEN.findall(phrase))
            if words:
                self.anchors.setdefault(words[0], []).append((words, day))
        for choices in self.anchors.values():
            choices.sort(key=lambda choice: -len(choice[0]))

    def has(self, index: int, phrase: tuple[str, ...]) -> bool:
        """Tell whether the phrase stands at this word."""
        return tuple(self.words[index : index + len(phrase)]) == phrase

    def glued(self, index: int) -> bool:
        """Tell whether this word follows the one before without a space."""
        return 0 < index < self.count and self.starts[index] == self.ends[index - 1]

    def number(self, index: int) -> int | None:
        """Return a short number written in digits, standing free of letters, signs and other digits."""
        word = self.words[index]
        if not word.isdecimal() or len(word) > LONGEST_NUMBER:
            return None
        before = self.text[self.starts[index] - 1] if self.starts[index] else " "
        return None if before.isalnum() or before in "$€£#_/.\\=@+%&" else int(word)

    def index_at(self, index: int, position: int) -> int:
        """Return the first word at or after ``index`` that begins at or after the position."""
        while index < self.count and self.starts[index] < position:
            index += 1
        return index
