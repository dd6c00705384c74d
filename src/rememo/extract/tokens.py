"""Words with their places. Contractions are taken apart, and the usual ways to write them without apostrophe as well."""

import re
from collections.abc import Container

_TOKEN = re.compile(
    r"[^\W\d_]\w*(?:[-'\u2019&]\w+)*(?:\.(?:io|js|ai|dev|app)(?!\w))?|\d+(?:[.,:/]\d+)*(?:st|nd|rd|th)?|[^\w\s]"
)
_TAILS = ("'m", "'re", "'ve", "'ll", "'d", "'s")
_SPLIT: dict[str, tuple[str, str]] = {
    "im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "doesnt": ("does", "n't"), "didnt": ("did", "n't"),
    "cant": ("can", "n't"), "can't": ("can", "n't"), "cannot": ("can", "not"), "wont": ("will", "n't"), "won't": ("will", "n't"),
    "isnt": ("is", "n't"), "arent": ("are", "n't"), "wasnt": ("was", "n't"), "havent": ("have", "n't"), "hasnt": ("has", "n't"),
    "wouldnt": ("would", "n't"), "couldnt": ("could", "n't"), "shouldnt": ("should", "n't"), "hes": ("he", "'s"),
    "shes": ("she", "'s"), "theyre": ("they", "'re"), "weve": ("we", "'ve"), "gonna": ("going", "to"), "wanna": ("want", "to"),
    "thats": ("that", "'s"), "whats": ("what", "'s"), "ain't": ("are", "n't"), "aint": ("are", "n't"), "youre": ("you", "'re"),
}  # fmt: skip
_SAME = {"u": "you", "ur": "your", "w": "with", "favorite": "favourite", "fav": "favourite", "fave": "favourite", "&": "and",
         "\u2013": "-", "\u2014": "-", "anymore": "anymore", "luv": "love", "bc": "because", "cuz": "because", "cos": "because", "coz": "because"}  # fmt: skip


class Words:
    """The words of one sentence: ``low`` in plain lower case, ``raw`` as written, ``start``/``end`` places in the whole text."""

    __slots__ = ("end", "low", "lower_case", "raw", "start", "text")

    def __init__(self, text: str, begin: int, finish: int) -> None:
        self.text = text
        self.low: list[str] = []
        self.raw: list[str] = []
        self.start: list[int] = []
        self.end: list[int] = []
        put_low, put_raw, put_start, put_end = self.low.append, self.raw.append, self.start.append, self.end.append
        same = _SAME.get
        capitals = False
        for match in _TOKEN.finditer(text, begin, finish):
            word = match.group()
            first, last = match.span()
            lowered = word.lower()
            if lowered != word and self.low and word != "I" and not word.startswith(("I'", "I\u2019")):
                capitals = True
            if lowered.startswith("soo") and not lowered.strip("so"):
                lowered = "so"
            pieces = _split(lowered)
            if pieces is None:
                put_low(same(lowered, lowered))
                put_raw(word)
                put_start(first)
                put_end(last)
                continue
            tail = len(pieces[1]) - ("'" in pieces[1] and "'" not in lowered and "\u2019" not in lowered)
            middle = max(first + 1, last - tail)
            for piece, start, end in ((pieces[0], first, middle), (pieces[1], middle, last)):
                put_low(piece)
                put_raw(text[start:end])
                put_start(start)
                put_end(end)
        self.lower_case = not capitals and bool(self.raw) and not self.raw[0][:1].isupper() and "I" not in self.raw
        """Written without any capital: names cannot be told by theirs here."""

    def __len__(self) -> int:
        return len(self.low)

    def at(self, index: int) -> str:
        """Return the word, or an empty string beyond either end."""
        return self.low[index] if 0 <= index < len(self.low) else ""

    def capital(self, index: int) -> bool:
        """Tell whether the word is written with a capital."""
        return 0 <= index < len(self.raw) and self.raw[index][:1].isupper()

    def find(self, listed: Container[str], first: int, after: int) -> int:
        """Return where the first of some words stands from ``first`` on, and ``after`` where none does."""
        return next((index for index in range(first, after) if self.low[index] in listed), after)

    def join(self, first: int, after: int, word: str) -> None:
        """Take several words for one, which stands where they stand."""
        self.low[first:after] = [word]
        self.raw[first:after] = [self.slice(first, after)]
        self.start[first:after] = [self.start[first]]
        self.end[first:after] = [self.end[after - 1]]

    def insert(self, index: int, word: str) -> None:
        """Read a word that was left out before another one; it takes no room."""
        self.low.insert(index, word)
        self.raw.insert(index, "")
        self.start.insert(index, self.start[index])
        self.end.insert(index, self.start[index])

    def slice(self, first: int, after: int) -> str:
        """Return the text of these words as it stands."""
        return self.text[self.start[first] : self.end[after - 1]] if after > first else ""


def _split(word: str) -> tuple[str, str] | None:
    """Return the two parts of a contraction, or None for an ordinary word."""
    if word in _SPLIT:
        return _SPLIT[word]
    if "'" not in word:
        return _split(word.replace("\u2019", "'")) if "\u2019" in word else None
    if word.endswith("n't") and len(word) > len("n't"):
        return word[:-3], "n't"
    for tail in _TAILS:
        if word.endswith(tail) and len(word) > len(tail):
            return word[: -len(tail)], tail
    return None
