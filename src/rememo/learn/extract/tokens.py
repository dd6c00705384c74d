"""Words with their places. Contractions are taken apart, and the usual ways to write them without apostrophe as well."""

import re

_TOKEN = re.compile(r"[^\W\d_]\w*(?:[-'\u2019&]\w+)*|\d+(?:[.,:/]\d+)*(?:st|nd|rd|th)?|[^\w\s]")
_TAILS = ("'m", "'re", "'ve", "'ll", "'d", "'s")
_SPLIT: dict[str, tuple[str, ...]] = {
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
        capitals = 0
        for match in _TOKEN.finditer(text, begin, finish):
            word = match.group()
            first, last = match.span()
            if word[0].isupper() and word != "I" and not word.startswith(("I'", "I\u2019")) and self.low:
                capitals += 1
            lowered = word.lower().replace("\u2019", "'")
            pieces = _SPLIT.get(lowered) or _pieces(lowered)
            if len(pieces) == 1:
                self._put(_SAME.get(lowered, lowered), word, first, last)
            else:
                tail = len(pieces[1]) - ("'" in pieces[1] and "'" not in lowered)
                middle = max(first + 1, last - tail)
                self._put(pieces[0], text[first:middle], first, middle)
                self._put(pieces[1], text[middle:last], middle, last)
        self.lower_case = capitals == 0
        """No capital after the first word: names cannot be told by their capitals here."""

    def _put(self, low: str, raw: str, start: int, end: int) -> None:
        self.low.append(low)
        self.raw.append(raw)
        self.start.append(start)
        self.end.append(end)

    def __len__(self) -> int:
        return len(self.low)

    def at(self, index: int) -> str:
        """Return the word, or an empty string beyond either end."""
        return self.low[index] if 0 <= index < len(self.low) else ""

    def capital(self, index: int) -> bool:
        """Tell whether the word is written with a capital."""
        return 0 <= index < len(self.raw) and self.raw[index][:1].isupper()

    def slice(self, first: int, after: int) -> str:
        """Return the text of these words as it stands."""
        return self.text[self.start[first] : self.end[after - 1]] if after > first else ""


def _pieces(word: str) -> tuple[str, ...]:
    if "'" not in word:
        return (word,)
    if word.endswith("n't") and len(word) > len("n't"):
        return word[:-3], "n't"
    for tail in _TAILS:
        if word.endswith(tail) and len(word) > len(tail):
            return word[: -len(tail)], tail
    return (word,)
