"""What ranking takes and gives: frozen records of arrays that any store can fill.

A *document* is a record of the scope, named by its row in the `Timeline`. Rows may stand in any order; the ranking does
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

NOBODY = -1
"""The speaker number of a document without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Every document of the scope, whether a filter admits it or not: neighbours give meaning to each other.

    All arrays have one entry a document. Numbers of rooms, speakers and kinds are the store's own, small and dense.
    """

    room: Integers
    """Which conversation; documents of one room are neighbours in time."""
    time: NDArray[np.int64]
    """When it happened, in milliseconds since 1970 UTC; equal times keep the order of rows."""
    length: Integers
    """How many terms it is indexed under, repetitions included."""
    speaker: Integers
    """Index into `speakers`, or `NOBODY`."""
    kind: Integers
    """Index into `kinds`."""
    importance: Floats
    """From 0 to 1; 0.5 is ordinary."""
    trust: Floats
    """From 0 to 1; 1 is ordinary."""
    speakers: tuple[str, ...] = ()
    """The labels of users, as named by `speaker`."""
    kinds: tuple[str, ...] = ("message",)
    """The names of kinds, as named by `kind`."""
    fingerprint: NDArray[np.int64] | None = None
    """`analyze.fingerprint` of each document's terms: equal ones are folded. None folds nothing."""

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.time)


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
    vector_documents: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    """Rows with a vector score; best the whole scope, at least the few hundred nearest."""
    vector_scores: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    """The cosine of each with the question."""
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
    """What is asked."""

    text: str
    at: int
    """The moment of asking, in milliseconds since 1970 UTC."""
    asker: str | None = None
    """The label of the asking user: whom "I" and "my" mean."""
    windows: tuple[TimeWindow, ...] = ()
    """The times that the question names."""
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
    """What each part of the ranking gave each hit, by name; they sum up to the strength behind the score."""
    folded: tuple[tuple[int, ...], ...]
    """For each hit the documents that say the same and were folded into it."""
