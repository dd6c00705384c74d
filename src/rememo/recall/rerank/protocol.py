"""What orders hits anew, and how the rest of Rememo asks for it."""

import math
from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Says how well texts answer a question. Safe to call from threads; whatever it raises, there are hits."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a number for each text, in order, the higher the better: from 0 to 1, or any (they are squashed)."""
        ...


def unit_scores(scores: Sequence[float], expected: int) -> list[float] | None:
    """Return what a reranker answered as numbers from 0 to 1; None for an answer that cannot be meant."""
    numbers = [float(score) for score in scores]
    if len(numbers) != expected or not all(map(math.isfinite, numbers)):
        return None
    if all(0 <= score <= 1 for score in numbers):
        return numbers
    return [1 / (1 + math.exp(-max(-500.0, min(500.0, score)))) for score in numbers]
