"""Counting tokens: what fits a model's window.

The default counter encodes with the vocabulary that the static embedder's weights carry, so nothing is downloaded. Its
counts are those of a Llama tokenizer; other models differ by some percent, and their own counter can be given instead.
"""

import re
import threading
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, cast

from rememo.errors import InvalidInput, MissingExtra
from rememo.model.check import dump_json
from rememo.recall.embed.wordpieces import WordPieces

MESSAGE_TOKENS: Final = 4
"""What a message costs beside its text: its role and the marks around it."""
IMAGE_TOKENS: Final = 765
"""What an image costs, whatever its size: that of a picture of 1024 by 1024 in full detail."""

_MOST_WORDS: Final = 65_536
_LONGEST_REMEMBERED: Final = 48
_BLANKS: Final = re.compile(r"[^\S\n]{2,}|[^\S\n ]")


class TokenCounter(Protocol):
    """Counts the tokens of a text for some model. Safe to call from threads."""

    def count(self, text: str) -> int:
        """Return how many tokens a text has; 0 for an empty one."""
        ...


class PieceCounter:
    """Counts by byte-pair encoding, word by word; a word met before costs one look-up."""

    def __init__(self, pieces: WordPieces) -> None:
        """Count with a vocabulary."""
        self._pieces: Final = pieces
        self._known: dict[str, int] = {}
        self._lock: Final = threading.Lock()

    def count(self, text: str) -> int:
        """Return how many tokens a text has: its words, its line breaks, and each run of other blanks."""
        known = self._known
        total = text.count("\n") + len(_BLANKS.findall(text))
        for word in text.split():
            held = known.get(word)
            total += self._learn(word) if held is None else held
        return total

    def _learn(self, word: str) -> int:
        count = len(self._pieces.encode(word))
        if len(word) <= _LONGEST_REMEMBERED:
            with self._lock:
                if len(self._known) >= _MOST_WORDS:
                    self._known = {}
                self._known[word] = count
        return count


@lru_cache(maxsize=1)
def default_counter() -> PieceCounter:
    """Return the counter that is always there; it loads when first asked for."""
    spec = find_spec("wordllama")
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise MissingExtra('counting tokens needs the package wordllama: pip install "rememo"')
    return PieceCounter(WordPieces.from_file(Path(places[0]) / "tokenizers" / "l2_supercat_tokenizer_config.json"))


def check_counter(value: object) -> TokenCounter:
    """Return a counter: the default one for None; what cannot count is refused."""
    if value is None:
        return default_counter()
    if not callable(getattr(value, "count", None)) or isinstance(value, str | bytes | list | tuple):
        raise InvalidInput(f"counter must have a method count(text) -> int, not be {value!r}")
    return cast("TokenCounter", value)


def message_tokens(counter: TokenCounter, text: str, data: Mapping[str, Any]) -> int:
    """Return what a message costs: its text, name, tool calls and images, and the marks around it."""
    total = MESSAGE_TOKENS + counter.count(text)
    if name := data.get("name"):
        total += counter.count(str(name))
    if calls := data.get("tool_calls"):
        total += counter.count(dump_json(calls))
    return total + IMAGE_TOKENS * len(data.get("images") or ())


def cut_to(counter: TokenCounter, text: str, most: int) -> str:
    """Return the longest beginning of a text that has at most `most` tokens with the mark of its cut; "" if none has."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(text[:middle].rstrip() + " …") <= most:
            low = middle
        else:
            high = middle - 1
    # Whole words, where there are any.
    space = text.rfind(" ", 0, low + 1)
    kept = text[: space if space > low // 2 else low].rstrip()
    return f"{kept} …" if kept and counter.count(f"{kept} …") <= most else ""
