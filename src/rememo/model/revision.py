"""Revisions: what a later statement made of an earlier record.

A record that was superseded, in whole or in part, has one revision record beside it that names what holds now. The earlier
record itself stays as it was said; reads look its revision up by id.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rememo.model.data_schemas import matches_schema
from rememo.model.record import REVISION, Record
from rememo.model.times import from_micros, to_micros

HitStatus = Literal["current", "superseded", "unknown"]
"""`current`: it is known to hold. `superseded`: something later took its place. `unknown`: nothing is known either way."""
SURE = 0.6
"""The confidence from which a revision counts by itself: the earlier statement is shown as superseded."""
REJECTED = "rejected"
POSSIBLE = 0.3
"""The least that is noted: the later statement is then looked at where a question finds the earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One statement of an earlier record that something later replaced or ended."""

    by: str
    """The record that holds now: a fact, or the message that said so. Empty for a fact of another room that nobody said."""
    reason: str
    """Why it is held to be revised: a fact's predicate, or the sign of change in the later message of the same room."""
    confidence: float
    """From 0 to 1."""
    at: datetime
    """When the later statement took effect."""
    wording: str | None = None
    """The statement of the earlier record that no longer holds; None for all of it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "by": self.by,
            "reason": self.reason,
            "confidence": self.confidence,
            "at": to_micros(self.at),
            "wording": self.wording,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Revision":
        """Read what `to_dict` wrote."""
        return cls(
            by=values["by"],
            reason=values["reason"],
            confidence=values["confidence"],
            at=from_micros(values["at"]),
            wording=values["wording"],
        )


def is_revision(record: Record) -> bool:
    """Whether a record was made by learning, and not by a caller who used the kind for something of his own."""
    return record.kind == REVISION and matches_schema(REVISION, record.data)


def revisions_of(record: Record) -> dict[str, Revision]:
    """Return the revisions that a revision record holds, by what made them."""
    return {key: Revision.from_dict(values) for key, values in record.data["revisions"].items()}


def rejections_of(record: Record) -> dict[str, Revision]:
    """Return the revisions of a revision record that somebody said are none, by what made them: they count for nothing."""
    return {key: Revision.from_dict(values) for key, values in record.data.get(REJECTED, {}).items()}
