"""The timeline of a scope: what ranking must know of every record in it, as columns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOBODY = -1
"""The speaker of a record without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Every record of the scope, whether a filter admits it or not: neighbours give meaning to each other.

    All arrays have one entry a record. A store gives them in the order of numbers; ranking does not depend on the order.
    The same object comes back as long as nothing in the scope has changed, so what is derived from it can be kept.
    """

    numbers: NDArray[np.int64]
    """The store's own numbers of versions."""
    rooms: NDArray[np.int32]
    """Which conversation, -1 for none; records of one room are neighbours in time."""
    times: NDArray[np.int64]
    """`Record.at` in milliseconds since 1970 UTC; equal times keep the order of rows."""
    speakers: NDArray[np.int32]
    """Who said it: index into `speaker_names`, or `NOBODY`. What the assistant said is not the user's."""
    kinds: NDArray[np.int8]
    """Index into `kind_names`."""
    lengths: NDArray[np.int32]
    """How many terms its text is indexed under, repetitions included."""
    importance: NDArray[np.float32]
    """From 0 to 1; 0.5 where none was given."""
    trust: NDArray[np.float32]
    """From 0 to 1; 1 is ordinary."""
    fingerprints: NDArray[np.int64]
    """`analyze.fingerprint` of each record's terms: equal ones are folded, 0 never is."""
    asks: NDArray[np.bool_]
    """Whether its text asks something (`analyze.asks`): the next message then probably answers."""
    speaker_names: tuple[str, ...]
    kind_names: tuple[str, ...]
    grown_from: "Timeline | None" = None
    """The one before, when this one only has more entries at its end."""
    cache: dict[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """For readers: what they derived from this timeline and want to find again."""

    def __len__(self) -> int:
        """Count the records."""
        return len(self.times)
