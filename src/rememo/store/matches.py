"""What a search reads of a scope beside its timeline: where terms occur, and which vectors are near."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class WordMatch:
    """Where one term stands within a scope."""

    term: str
    numbers: NDArray[np.int64]
    """Store-private numbers of versions, sorted."""
    counts: NDArray[np.int8]
    """How often it stands in each; 3 means three or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Versions near a vector, best first."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.float32]
    """The cosine of each."""
    mean: float = 0.0
    """Over the whole scope, whatever else the filter says."""
    deviation: float = 0.0
    """The standard deviation over the whole scope."""
