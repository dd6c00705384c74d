"""Hits: what recall found, how well, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rememo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record with its score and the reasons for it."""

    record: Record
    """The version that was found."""
    score: float
    """From 0 to 1, comparable within one search and across embedders."""
    reasons: Mapping[str, float] = field(default_factory=dict[str, float])
    """What each part of recall lent to the score."""

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """The record's text."""
        return self.record.text
