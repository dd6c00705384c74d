"""Hits: what recall found, how well, why, and whether it still holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rememo.model.record import Record
from rememo.model.revision import HitStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record with its score and the reasons for it."""

    record: Record
    """The version that was found."""
    score: float
    """From 0 to 1, comparable within one search and across embedders."""
    reasons: Mapping[str, float] = field(default_factory=dict[str, float])
    """What each part of recall lent to the score."""
    status: HitStatus = "unknown"
    """Whether what it says still holds."""
    superseded_by: str | None = None
    """The id of the record that holds now, where this one was superseded."""
    sources: tuple[Record, ...] = ()
    """The records that a fact was learned from: those that were found too, else the newest. One hit for all of them."""

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """The record's text."""
        return self.record.text
