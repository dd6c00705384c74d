"""Questions and claims as arrays: tokens with their flags, what is known of each claim, and how claims relate in time."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rememo.recall.answers.claim import Claim, ClaimQuestion
from rememo.recall.topics import find_topics

MOST_QUESTION_TOKENS: Final = 24
MOST_CLAIM_TOKENS: Final = 56
FLAGS: Final = 5
"""Of a token: it begins with a capital, is a number, continues a word, its word occurs in the question, and how near in
meaning its word is to one of the question's."""
CLAIM_FEATURES: Final = 21
RELATION_FEATURES: Final = 8

_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)?|[^\w\s]")
_DAY: Final = 86_400
_LOG_SCALE: Final = 6.0
"""About the logarithm of a year in days, so that most features lie between 0 and 1."""
_LEAST_SCORE: Final = 0.02
_AT_ONCE: Final = 1.0
"""Seconds: a question that follows at once is not asked before what it is about, though its time is cut to milliseconds."""
_ONE_CONVERSATION: Final = 0.17
"""Days (four hours)."""

Floats = NDArray[np.float32]
Tokenize = Callable[[str], list[int]]
"""Returns the tokens of one lower-case word."""
Stem = Callable[[str], Sequence[str]]
"""Returns the index terms of a word; none for a stop word."""
_LEAST_NORM: Final = 1e-6


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The tokens of a text, and the flags of each."""

    tokens: NDArray[np.int64]
    flags: Floats
    terms: frozenset[str]
    """What the text is indexed under."""
    meaning: Floats
    """The mean direction of its content words; zeros where it has none."""


@dataclass(frozen=True, slots=True)
class EncodedClaims:
    """What the network reads of one question."""

    question: EncodedText
    claims: Sequence[EncodedText]
    features: Floats
    """Claims by `CLAIM_FEATURES`."""
    relations: Floats
    """Claims by claims by `RELATION_FEATURES`: how the first of two claims relates to the second."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it is encoded."""

    tokens: list[int]
    flags: tuple[bool, bool]
    """It begins with a capital; it is a number."""
    term: str
    """What it is indexed under; empty for a stop word."""
    meaning: Floats
    """The direction of its vector."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """Turns texts into tokens with flags."""

    vectors: NDArray[np.float16]
    """The vector of each token."""
    tokenize: Tokenize
    stem: Stem

    def encode(self, question: ClaimQuestion, claims: Sequence[Claim]) -> EncodedClaims:
        """Return a question and the claims that may answer it as arrays."""
        words_by_text: dict[str, _Word] = {}
        question_words = self._words(question.text, MOST_QUESTION_TOKENS, words_by_text)
        stated = [self._words(claim.text, MOST_CLAIM_TOKENS, words_by_text) for claim in claims]
        terms = frozenset(word.term for word in question_words if word.term)
        meanings = np.array([word.meaning for word in question_words if word.term]).reshape(-1, self.vectors.shape[1])
        encoded: list[EncodedText] = []
        coverage = np.zeros((len(claims), 2), np.float32)
        for row, words in enumerate(stated):
            nearness = np.zeros((len(meanings), len(words)), np.float32)
            if words and len(meanings):
                nearness = np.maximum(meanings @ np.array([word.meaning for word in words]).T, 0)
                nearness[:, [not word.term for word in words]] = 0
                best = nearness.max(axis=1)
                coverage[row] = best.mean(), best.min()
            encoded.append(self._encode_text(words, MOST_CLAIM_TOKENS, terms, nearness.max(axis=0, initial=0)))
        return EncodedClaims(
            question=self._encode_text(
                question_words, MOST_QUESTION_TOKENS, frozenset(), np.zeros(len(question_words), np.float32)
            ),
            claims=encoded,
            features=np.concatenate([claim_features(question, claims), coverage], axis=1),
            relations=claim_relations(claims, encoded),
        )

    def _encode_text(
        self, words: Sequence[_Word], most: int, question_terms: frozenset[str], nearness: Floats
    ) -> EncodedText:
        tokens: list[int] = []
        flags: list[tuple[float, ...]] = []
        meaning = np.zeros(self.vectors.shape[1], np.float32)
        for word, near in zip(words, nearness.tolist(), strict=True):
            occurs = bool(word.term) and word.term in question_terms
            if word.term:
                meaning += word.meaning
            for place, token in enumerate(word.tokens):
                tokens.append(token)
                flags.append((*word.flags, place > 0, occurs, 1.0 if occurs else near))
        return EncodedText(
            tokens=np.array(tokens[:most] or [0], np.int64),
            flags=np.array(flags[:most] or [(0.0,) * FLAGS], np.float32),
            terms=frozenset(word.term for word in words if word.term),
            meaning=meaning / max(float(np.linalg.norm(meaning)), _LEAST_NORM),
        )

    def _words(self, text: str, most: int, words_by_text: dict[str, _Word]) -> list[_Word]:
        """Return the first words of a text; each has at least one token, so what lies beyond `most` words is never looked at."""
        words: list[_Word] = []
        for match in islice(_WORD.finditer(text), most):
            written = match.group()
            word = words_by_text.get(written)
            if word is None:
                tokens = self.tokenize(written.lower())
                vector = np.add.reduce(self.vectors.take(tokens, 0), 0, np.float32)
                meaning = vector / max(float(np.linalg.norm(vector)), _LEAST_NORM)
                term = next(iter(self.stem(written)), "")
                word = words_by_text[written] = _Word(tokens, (written[0].isupper(), written.isdigit()), term, meaning)
            words.append(word)
        return words


def claim_features(question: ClaimQuestion, claims: Sequence[Claim]) -> Floats:
    """Return what is known of each claim beside its words."""
    times = _times(claims)
    count = len(claims)
    order = np.argsort(np.argsort(times, kind="stable"), kind="stable")
    asked_until = (question.until or question.at).timestamp()
    scores = np.array([claim.score for claim in claims])
    asked_topics = find_topics(question.text.lower())
    by_meant = [bool(question.persons) and claim.speaker in question.persons for claim in claims]
    by_other = [bool(question.persons) and claim.speaker not in question.persons for claim in claims]
    names_meant = [any(person in claim.text.lower() for person in question.persons) for claim in claims]
    columns: list[Any] = [
        order / max(1, count - 1),
        order == count - 1,
        order == 0,
        np.log1p(np.abs(question.at.timestamp() - times) / _DAY) / _LOG_SCALE,
        times > asked_until + _AT_ONCE,
        np.full(count, question.until is not None),
        by_meant,
        by_other,
        names_meant,
        [claim.role == "assistant" for claim in claims],
        scores,
        np.log(np.maximum(scores, _LEAST_SCORE)),
        [claim.is_fact for claim in claims],
        [claim.is_asked for claim in claims],
        [claim.is_asked_of_another for claim in claims],
        [claim.is_current for claim in claims],
        [claim.is_superseded for claim in claims],
        [not asked_topics.isdisjoint(find_topics(claim.text.lower())) for claim in claims],
        np.full(count, np.log(count)),
    ]
    return np.clip(np.stack([np.asarray(column, np.float32) for column in columns], axis=1), -4, 4)


def claim_relations(claims: Sequence[Claim], texts: Sequence[EncodedText]) -> Floats:
    """Return how each claim relates to each other one: in time, by its speaker, by its words and by their meaning."""
    times = _times(claims)
    days = (times[:, None] - times[None, :]) / _DAY
    speakers = np.array([claim.speaker for claim in claims])
    meanings = np.array([text.meaning for text in texts])
    columns: list[Any] = [
        days > 0,
        days < 0,
        np.abs(days) < _ONE_CONVERSATION,
        np.sign(days) * np.log1p(np.abs(days)) / _LOG_SCALE,
        speakers[:, None] == speakers[None, :],
        np.eye(len(claims)),
        [
            [len(text.terms & other.terms) / (1 + min(len(text.terms), len(other.terms))) for other in texts]
            for text in texts
        ],
        meanings @ meanings.T,
    ]
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=-1)


def _times(claims: Sequence[Claim]) -> NDArray[np.float64]:
    return np.array([claim.at.timestamp() for claim in claims])
