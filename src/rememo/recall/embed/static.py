"""The embedder that is always there: averaged word vectors, no download, tens of thousands of texts a second.

A text's vector is the sum of the vectors of its content words, brought to unit length. Sums of words are remembered,
so a warm text costs a look-up a word and one addition of rows.
"""

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from rememo.recall.analyze import Analyzer
from rememo.recall.embed.protocol import Vector
from rememo.recall.embed.word_vectors import WordVectors, word_vectors
from rememo.runtime.lazy import lazy
from rememo.runtime.locks import ForkLock

_DIMENSION: Final = 256
_NAME: Final = f"wordllama-l2-{_DIMENSION}-content-"
_MOST_ROWS: Final = 32_768
"""Remembered pieces of text: 32 MB of sums at most, then the table starts afresh."""
_LONGEST_REMEMBERED: Final = 48
_EMPTY: Final = 0
_LONG: Final = 1
"""Rows of zeros: for pieces without content, and for long ones, which are not remembered."""


class StaticEmbedder:
    """Embeds texts as the average of their content words' vectors. Loads when first used; safe for threads."""

    def __init__(self, language: str = "english") -> None:
        """Leave out the stop words of `language`, a snowball name."""
        self._analyzer: Final = Analyzer(language)
        self._loading: Final = ForkLock()
        self._table: _PieceTable | None = None

    @property
    def name(self) -> str:
        """The weights, their size, and the language whose stop words are left out."""
        return _NAME + self._analyzer.language

    @classmethod
    def language_of(cls, name: str) -> str | None:
        """Return the language of the one that has this name; None where no static embedder has it."""
        return name.removeprefix(_NAME) if name.startswith(_NAME) else None

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        return _DIMENSION

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the unit-length vector of each text; None for one without a letter or digit."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> Vector | None:
        table = self._table
        if table is None or table.full:
            table = self._new_table()
        rows = [table[piece] for piece in text.split()]
        # Read after the look-ups: the matrix grows, and a newer one holds every row that an older one did.
        total = cast("Vector", np.add.reduce(table.matrix.take(rows, 0), 0)) if rows else None
        if _LONG in rows:
            words = [
                word
                for piece in text.split()
                if len(piece) > _LONGEST_REMEMBERED
                for word in self._analyzer.content(piece, never_empty=False)
            ]
            total = cast("Vector", total) + self._weights.sum_of_words(words)
        square = 0.0 if total is None else float(total.dot(total))
        if not square:
            total = self._weights.sum_of_words(self._analyzer.content(text))
            square = float(total.dot(total))
        return cast("Vector", total / square**0.5) if square else None

    def _new_table(self) -> "_PieceTable":
        with self._loading:
            table = self._table
            if table is None or table.full:  # somebody may have been faster
                table = self._table = _PieceTable(self._weights, self._analyzer)
        return table

    @lazy
    def _weights(self) -> WordVectors:
        return word_vectors()


class _PieceTable(dict[str, int]):
    """Remembers where in `matrix` the summed vector of a piece of text stands.

    A row is written before its number is given out, and rows never change, so readers need no lock.
    """

    def __init__(self, weights: WordVectors, analyzer: Analyzer) -> None:
        super().__init__()
        # The system gives memory to zeros when they are first written to, so that a large table of few words is small.
        self.matrix: Vector = np.zeros((_MOST_ROWS, _DIMENSION), dtype=np.float32)
        self._used = 2
        self._weights = weights
        self._analyzer = analyzer
        self._writing = ForkLock()

    @property
    def full(self) -> bool:
        """Whether the next text should start a new table. Texts under way may still add their words to this one."""
        return self._used >= _MOST_ROWS or len(self) >= 4 * _MOST_ROWS

    def __missing__(self, piece: str) -> int:
        if len(piece) > _LONGEST_REMEMBERED:
            return _LONG
        words = self._analyzer.content(piece, never_empty=False)
        total = self._weights.sum_of_words(words) if words else None
        with self._writing:
            return self.setdefault(piece, _EMPTY if total is None else self._append(total))

    def _append(self, total: Vector) -> int:
        row = self._used
        if row == len(self.matrix):
            self.matrix = np.concatenate([self.matrix, np.zeros_like(self.matrix)])
        self.matrix[row] = total
        self._used = row + 1
        return row
