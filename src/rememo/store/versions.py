"""Versions with what belongs to them, and as changes in their order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rememo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """A version with what belongs to it, for taking it away and bringing it back."""

    record: Record
    speaker: str | None
    vector: NDArray[np.float32] | None


ChangeMark = tuple[int, int, int]
"""A place among changes: the system time in microseconds, 0 for an end and 1 for a beginning, the version's number."""


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A version that began, or was ended by a delete."""

    mark: ChangeMark
    record: Record
