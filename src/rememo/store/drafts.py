"""The content of a version about to be written, validated and analysed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from rememo.model.job import NewJob
from rememo.model.scope import Scope

Analyze = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What a store must be able to make of a text by itself, when it moves or loads versions."""

    terms: Analyze
    fingerprint: Callable[[Sequence[str]], int]
    asks: Callable[[str], bool]


@dataclass(slots=True, kw_only=True)  # not frozen: that would triple the price of making one, and it stays inside
class Draft:
    """The content of a version about to be written, validated and analysed."""

    id: str
    kind: str
    text: str
    scope: Scope
    data: str = "{}"
    """JSON text."""
    metadata: str = "{}"
    """JSON text."""
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    importance: float | None = None
    source: str | None = None
    trust: float = 1.0
    quarantine: str | None = None
    """Why it is not to be found; None for what is free."""
    speaker: str | None = None
    """Who said it, for names in questions."""
    terms: Sequence[str] = ()
    """What the analyser made of the text."""
    fingerprint: int = 0
    """Equal for texts that say the same; a signed 64-bit number."""
    asks: bool = False
    """Whether the text asks something."""
    vector: NDArray[np.float32] | None = None
    """Its embedding, if it has one."""
    embedded_by: int | None = None
    """The number of the model that made the vector, or found that there is nothing to embed; None: no model was asked.

    A version that the store's model was not asked about gets an `embed` job with it.
    """
    vector_of: int | None = None
    """The version of the same record whose vector it has."""
    created_at: datetime | None = None
    """When the record was first made; None leaves that to the store."""
    jobs: tuple[NewJob, ...] = ()
    """Jobs that this version causes."""
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    """What was taken out of it, for the receipt; it is not stored."""
