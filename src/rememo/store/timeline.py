"""What recall reads of a scope: its timeline, where words stand, and which vectors are near."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What ranking must know of every record in a scope, one entry a record, sorted by number.

    The same object comes back as long as nothing in the scope has changed, so what is worked out of it can be kept.
    """

    numbers: NDArray[np.int64]
    rooms: NDArray[np.int32]
    """Which conversation; -1 for none."""
    times: NDArray[np.int64]
    """`Record.at` in milliseconds since 1970."""
    speakers: NDArray[np.int32]
    """Index into `speaker_names`; -1 for none."""
    kinds: NDArray[np.int8]
    """Index into `kind_names`."""
    lengths: NDArray[np.int32]
    """How many terms its text has."""
    importance: NDArray[np.float32]
    """0.5 where it was not told."""
    trust: NDArray[np.float32]
    fingerprints: NDArray[np.int64]
    asks: NDArray[np.bool_]
    """Whether its text asks something."""
    speaker_names: tuple[str, ...]
    kind_names: tuple[str, ...]
    grown_from: "Timeline | None" = None
    """The one before, when this one only has more entries at its end."""
    worked_out: dict[str, Any] = field(default_factory=dict[str, Any])
    """For the reader: what it made of this timeline and wants to find again."""


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
