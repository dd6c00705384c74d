"""Counting tokens: what fits a model's window.

The default counter encodes with the vocabulary that the static embedder's weights carry, so nothing is downloaded. Its
counts are those of a Llama tokenizer; other models differ by some percent, and their own counter can be given instead.
"""

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol, cast

from rememo.errors import InvalidInput
from rememo.model.check import dump_json
from rememo.text.wordfiles import vocabulary_file
from rememo.text.wordpieces import WordPieces

MESSAGE_TOKENS: Final = 4
"""What a message costs beside its text: its role and the marks around it."""
IMAGE_TOKENS: Final = 765
"""What an image costs, whatever its size: that of a picture of 1024 by 1024 in full detail."""

MOST_TOKENS: Final = 100_000_000
"""The largest budget that can be meant."""

_MOST_WORDS: Final = 65_536
_LONGEST_REMEMBERED: Final = 48
_LONGEST_COUNTED: Final = 4_096
"""Of a longer word (a file in base64, a page without spaces) the beginning is counted and the rest taken to be like it."""
_ASCII_BLANKS: Final = ("  ", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f")
_BLANKS: Final = re.compile(r"[^\S\n]{2,}|[^\S\n ]")


class TokenCounter(Protocol):
    """Counts the tokens of a text for some model. Safe to call from threads."""

    def count(self, text: str) -> int:
        """Return how many tokens a text has; 0 for an empty one."""
        ...


class _Counts(dict[str, int]):
    """How many tokens words have, computed when first met and kept within bounds. Look-ups of known words stay in C."""

    def __init__(self, pieces: WordPieces) -> None:
        super().__init__()
        self._pieces: Final = pieces

    def __missing__(self, word: str) -> int:
        count = len(self._pieces.encode(word[:_LONGEST_COUNTED]))
        if len(word) > _LONGEST_COUNTED:
            return math.ceil(count * len(word) / _LONGEST_COUNTED)
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = count
        return count


class PieceCounter:
    """Counts by byte-pair encoding, word by word; a word met before costs one look-up. Safe for threads."""

    def __init__(self, pieces: WordPieces) -> None:
        """Count with a vocabulary."""
        self._counts: Final = _Counts(pieces)

    def count(self, text: str) -> int:
        """Return how many tokens a text has: its words, its line breaks, and each run of other blanks."""
        total = sum(map(self._counts.__getitem__, text.split())) + text.count("\n")
        if text.isascii() and not any(blank in text for blank in _ASCII_BLANKS):
            return total  # nearly always, and seven times as fast as looking for runs
        return total + len(_BLANKS.findall(text))


@lru_cache(maxsize=1)
def default_counter() -> PieceCounter:
    """Return the counter that is always there; it loads when first asked for."""
    return PieceCounter(WordPieces.from_file(vocabulary_file()))


def check_counter(value: object) -> TokenCounter:
    """Return a counter: the default one for None; what cannot count is refused."""
    if value is None:
        return default_counter()
    if not callable(getattr(value, "count", None)) or isinstance(value, str | bytes | list | tuple):
        raise InvalidInput(f"counter must have a method count(text) -> int, not be {value!r}")
    return cast("TokenCounter", value)


def count(counter: TokenCounter, text: str) -> int:
    """Return how many tokens a text has; a counter that does not answer with a whole number from 0 is refused."""
    count = counter.count(text)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:  # pyright: ignore[reportUnnecessaryIsInstance] - counters come from anywhere
        raise InvalidInput(f"the counter's count() must return a whole number from 0, not {count!r}")
    return count


def message_tokens(counter: TokenCounter, text: str, data: Mapping[str, Any]) -> int:
    """Return what a message costs: its text, name, tool calls and images, and the marks around it."""
    total = MESSAGE_TOKENS + count(counter, text)
    if name := data.get("name"):
        total += count(counter, str(name))
    if calls := data.get("tool_calls"):
        total += count(counter, dump_json(calls))
    return total + IMAGE_TOKENS * len(data.get("images") or ())


def chat_tokens(counter: TokenCounter, messages: Iterable[Mapping[str, Any]]) -> int:
    """Return what messages in the chat shape cost together."""
    total = 0
    for message in messages:
        content: str | list[dict[str, Any]] = message.get("content") or ""
        parts = content if isinstance(content, list) else []
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in parts)
        images = [part for part in parts if part.get("type") == "image_url"]
        total += message_tokens(counter, text, {**message, "images": images})
    return total


def cut_to(counter: TokenCounter, text: str, most: int) -> str:
    """Return the longest beginning of a text that has at most `most` tokens with the mark of its cut; "" if none has."""
    low, high = 0, min(len(text), 64)
    # Found by doubling first: of a very long text only the beginning is ever counted.
    while high < len(text) and count(counter, text[:high].rstrip() + " …") <= most:
        low, high = high, min(len(text), high * 2)
    while low < high:
        middle = (low + high + 1) // 2
        if count(counter, text[:middle].rstrip() + " …") <= most:
            low = middle
        else:
            high = middle - 1
    # Whole words, where there are any.
    space = text.rfind(" ", 0, low + 1)
    beginning = text[: space if space > low // 2 else low].rstrip()
    return f"{beginning} …" if beginning and count(counter, f"{beginning} …") <= most else ""
