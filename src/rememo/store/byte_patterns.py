"""Needles: pieces of texts to be looked for among the bytes of a file, thousands at once."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_PIECE_CHARS = 32
"""Characters; a page may end inside a longer one."""
_MIN_BYTES = 12
"""Bytes; shorter ones stand everywhere."""
_MAX_PATTERNS = 20_000
_PAIRS = 3


def pieces_of(text: str) -> list[str]:
    """Return what a text is looked for by: its beginning, its middle and its end; nothing for one that is too short."""
    middle = max(0, len(text) // 2 - _PIECE_CHARS // 2)
    pieces = (text[:_PIECE_CHARS], text[middle : middle + _PIECE_CHARS], text[-_PIECE_CHARS:])
    return [piece for piece in dict.fromkeys(pieces) if len(piece.encode()) >= _MIN_BYTES]


class BytePatterns:
    """Pieces of texts, and which of them were found."""

    def __init__(self) -> None:
        self._pieces: dict[bytes, str] = {}
        self._tables: list[NDArray[np.bool_]] | None = None
        self._starts: dict[bytes, list[bytes]] = {}
        self.found: set[str] = set()
        self.elsewhere = 0
        """How many were found that others have too."""
        self.texts = 0
        """How many texts they stand for."""

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._pieces)

    @property
    def longest(self) -> int:
        """The length of the longest in bytes."""
        return max((len(piece) for piece in self._pieces), default=1)

    def add(self, text: str) -> list[str]:
        """Look for a text too, and return by which pieces; none for one that is too short to be specific, or one too many."""
        return self.add_pieces(pieces_of(text))

    def add_pieces(self, pieces: list[str]) -> list[str]:
        """Look for a text too of which only the pieces are known."""
        if not pieces or len(self._pieces) >= _MAX_PATTERNS:
            return []
        self._pieces |= {piece.encode(): piece for piece in pieces}
        self._tables = None
        self.texts += 1
        return pieces

    def found_also_in(self, texts: Iterable[str]) -> set[str]:
        """Return which of those that were found stand in some texts."""
        rest = BytePatterns()
        rest._pieces = {piece.encode(): piece for piece in self.found}
        for text in texts:
            rest.search(text.encode())
        return rest.found

    def discount(self, shared: set[str]) -> None:
        """Take out of what was found what others have too."""
        self.elsewhere += len(self.found & shared)
        self.found -= shared

    def search(self, data: bytes) -> None:
        """Look among some bytes."""
        self.found |= self.matches(data)

    def matches(self, data: bytes) -> set[str]:
        """Return which pieces stand among some bytes."""
        if not self._pieces or len(data) < _MIN_BYTES:
            return set()
        if self._tables is None:
            self._tables = _tables(self._pieces)
            self._starts = {}
            for piece in self._pieces:
                self._starts.setdefault(piece[:_MIN_BYTES], []).append(piece)
        values = np.frombuffer(data, np.uint8).astype(np.uint16)
        pairs = values[:-1] | values[1:] << 8
        count = len(pairs) - 2 * (_PAIRS - 1)
        maybe = np.ones(count, np.bool_)
        for place, table in enumerate(self._tables):
            maybe &= table[pairs[2 * place : 2 * place + count]]
        matching: set[str] = set()
        for start in np.flatnonzero(maybe).tolist():
            for piece in self._starts.get(data[start : start + _MIN_BYTES], ()):
                if data.startswith(piece, start):
                    matching.add(self._pieces[piece])
        return matching


def _tables(pieces: Iterable[bytes]) -> list[NDArray[np.bool_]]:
    """Return, for each of the first pairs of bytes, which pairs a piece may have there."""
    tables = [np.zeros(1 << 16, np.bool_) for _ in range(_PAIRS)]
    for piece in pieces:
        for place, table in enumerate(tables):
            table[piece[2 * place] | piece[2 * place + 1] << 8] = True
    return tables
