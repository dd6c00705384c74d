"""Selects what answers a question among statements: the network behind a plain interface."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from rememo.recall.answers.claim import Claim, ClaimQuestion
from rememo.recall.answers.encoding import Encoder, Stem
from rememo.recall.answers.network import ANSWERS, OUTDATED, AnswerNetwork
from rememo.recall.embed.word_vectors import word_vectors
from rememo.recall.stopwords import STOPWORDS

_WEIGHTS: Final = Path(__file__).parent / "weights.npz"
_WORD: Final = re.compile(r"[^\W\d_]+")
_ENGLISH: Final = 0.25
"""Share of English stop words from which texts are English: there it is 0.4 and more, in German or Spanish below 0.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the network says of one claim."""

    answers: float
    """The logarithm of the probability that it answers, among the claims that were given."""
    outdated: float
    """The probability that it would be an answer but no longer holds."""


class AnswerSelector:
    """Tells for each of several claims whether it answers a question, and whether it no longer holds. Thread-safe."""

    def __init__(self, stem: Stem) -> None:
        """Take the function that returns the index terms of a word."""
        self._stem = stem

    def select(self, question: ClaimQuestion, claims: Sequence[Claim]) -> list[Verdict] | None:
        """Return a verdict for each claim; None where the texts are not English, which is all that the network reads."""
        if not claims or not reads_english([question.text, *(claim.text for claim in claims)]):
            return None
        words = word_vectors()
        encoded = Encoder(words.vectors, words.tokenize, self._stem).encode(question, claims)
        logits = _network().logits(encoded)
        likely = logits[:, ANSWERS] - logits[:, ANSWERS].max()
        likely = likely - np.log(np.exp(likely).sum())
        outdated = 1 / (1 + np.exp(-logits[:, OUTDATED]))
        return [
            Verdict(answers=float(answers), outdated=float(over))
            for answers, over in zip(likely, outdated, strict=True)
        ]


def reads_english(texts: Sequence[str]) -> bool:
    """Tell whether texts are English, by their stop words."""
    words = [word.lower() for text in texts for word in _WORD.findall(text)]
    stop_words = STOPWORDS["english"]
    return sum(word in stop_words for word in words) >= _ENGLISH * len(words)


@cache
def _network() -> AnswerNetwork:
    with np.load(_WEIGHTS) as weights:
        return AnswerNetwork(dict(weights), word_vectors().vectors)
