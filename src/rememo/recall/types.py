"""What ranking takes and gives: frozen records of arrays that any store can fill.

A *document* is a record of the scope, named by its row in the `model.timeline.Timeline`. Rows may stand in any order; the ranking does
not depend on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.intp]
Integers: TypeAlias = NDArray[np.signedinteger]
Floats: TypeAlias = NDArray[np.floating]
Flags: TypeAlias = NDArray[np.bool_]

Mode: TypeAlias = Literal["hybrid", "words", "vector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Where one term of the question occurs in the scope: all places, since their number says how rare it is."""

    term: str
    documents: Integers
    """Rows of the timeline, each at most once, in any order."""
    frequencies: Integers
    """How often the term occurs in each."""
    weight: float = 1.0
    """How much the question asks for it: 1 for its own words, less for words near to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What words and vectors found."""

    postings: tuple[Postings, ...] = ()
    """One for each term of the question that occurs; a term that is left out counts as known nowhere."""
    vector_documents: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    """Rows with a vector score, each at most once; best the whole scope, at least the few hundred nearest."""
    vector_scores: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    """The cosine of each with the question."""
    vector_background: tuple[float, float] | None = None
    """Mean and standard deviation of the cosine over the whole scope; needed if `vector_scores` is only its top."""
    vector_prior: tuple[float, float] = (0.1, 0.13)
    """The same between unrelated texts of any kind (`embed.background`): what small scopes are measured against."""
    eligible: Flags | None = None
    """Which documents of the timeline the filters admit; None for all. The others still lend score to neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWindow:
    """A span of time that the question names, both ends in milliseconds since 1970 UTC, the end not included."""

    start: int
    end: int
    text: str = ""
    """The words that name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, understood: `question.understand` makes it of a text."""

    text: str
    """The question as asked."""
    terms: tuple[str, ...]
    """The terms to look up, each once."""
    meaning: str
    """The text to embed."""
    at: int
    """The moment of asking, in milliseconds since 1970 UTC."""
    speakers: tuple[int, ...] = ()
    """Whose words are meant, by number."""
    windows: tuple[TimeWindow, ...] = ()
    """The times that the question names."""
    wants_recent: bool = False
    """Whether it asks for the latest state."""
    unspecific: bool = False
    """Whether it names no topic, only persons and times: "what did I say yesterday?"."""
    mode: Mode = "hybrid"
    limit: int = 10
    threshold: float = 0.0
    """Hits with a lower score are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The hits, best first."""

    documents: Rows
    """Rows of the timeline."""
    scores: NDArray[np.float64]
    """From 0 to 1, never rising."""
    parts: Mapping[str, NDArray[np.float64]]
    """What each part of the ranking gave each hit, by name: they sum up to the score."""
    folded: tuple[tuple[int, ...], ...]
    """For each hit the documents that say the same and were folded into it."""

    def __len__(self) -> int:
        """Count the hits."""
        return len(self.documents)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """How much each part of the ranking counts. The defaults stand on plateaus: halves and doubles change little."""

    saturation: float = 0.9
    """BM25's k1: how soon repeating a term stops adding; low, because messages are short."""
    length_share: float = 0.5
    """BM25's b: how far long documents are held back."""
    word_candidates: int = 1_000
    """How many occurrences of words are worked out in full; beyond it only the documents that look best by words."""
    lent_to_next: float = 0.8
    """How much of a word's count a message lends to the messages beside it."""
    lent_to_second: float = 0.5
    """The same for the ones after those."""
    self_contained: float = 60.0
    """Terms at which a message lends and takes half: long ones stand for themselves."""
    session_gap: int = 4 * 3600 * 1000
    """Milliseconds of silence in a room that end a session; nothing is lent across."""
    lending_kinds: tuple[str, ...] = ("message", "post")
    """Kinds that follow one another in a room; other kinds neither lend nor take."""
    meaning: float = 0.5
    """Weight of vectors beside words."""
    meaning_lent: float = 0.25
    """How much less vectors lend to neighbours than words do."""
    meaning_candidates: int = 300
    """How many of the nearest vectors take part."""
    answer: float = 0.5
    """How much a message that asks lends to the one that answers."""
    too_short: float = 1.0
    """Terms at which a message counts half: one that says nothing answers nothing."""
    speaker: float = 0.3
    """Lift of what a meant speaker said."""
    time: float = 0.5
    """Lift of what was said in a time that the question names."""
    recency: float = 0.2
    """Lift of the newest where the question asks for the latest state."""
    recency_half_life: int = 30 * 86_400_000
    """Milliseconds after which that lift is halved."""
    importance: float = 0.5
    """Spread between what is least and most important."""
    fold: bool = True
    """Whether documents of one speaker with the same terms become one hit."""
