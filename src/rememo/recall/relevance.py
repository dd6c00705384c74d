"""Relevance: scores that mean the same in a scope of five records and in one of fifty thousand.

Among many records one that has nothing to do with a question still shares some of its words, or lies near it in meaning; the
best of few does not come as close. How close the best comes by chance grows with the logarithm of what a scope holds. A
score is measured against that, and the order of hits stays as it was.
"""

import math
from typing import Final

FLOOR: Final = 0.42
"""What is less relevant than this is better not said.

On LoCoMo, 99 % of the questions that a conversation answers lie above, and 9 % of those about another one."""
_SLOPE, _LEVEL = 0.084, -0.046
"""How the strength that the best record reaches by chance grows with the logarithm of a scope's terms."""
_SMALLEST, _LARGEST = 40, 5_000
"""Terms between which it grows. In long texts it grows on, but so does what answers."""


_WORDS_ALONE: Final = 1.85
"""How much less strength words have by themselves than with vectors beside them, by chance and in answers alike."""


def calibrate(score: float, terms: int, *, words_only: bool = False) -> float:
    """Return a score as it would be in a large scope that is searched by words and meaning.

    `terms` is how many terms the scope is indexed under; `words_only` says that no vectors took part.
    """
    scale = _chance(_LARGEST) / _chance(terms)
    return 1 - (1 - score) ** (scale * _WORDS_ALONE if words_only else scale)


def _chance(terms: int) -> float:
    return _SLOPE * math.log(min(max(terms, _SMALLEST), _LARGEST)) + _LEVEL
