"""Archives: what was put away before it was removed."""

from dataclasses import dataclass
from datetime import datetime

from rememo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """One archive, as its manifest tells it."""

    name: str
    created_at: datetime
    policy: str
    """The policy that removed what it holds."""
    records: int
    versions: int
    bytes: int
    """Its size, compressed."""
    sha256: str
    """Of the object as it is stored."""
    sealed: bool
    """Its lines open with the keyring of the memory only."""
    holds: tuple[str, ...]
    """Digests of the labels (agents, users, rooms) of its records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveHit:
    """A record found in an archive."""

    archive: str
    record: Record
    score: float
    """The share of the question's words that it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came back out of an archive."""

    records: int
    """How many were gone and are there again."""
    versions: int
    """How many versions had been forgotten here and were loaded."""
    present: int
    """How many were there already; they are as they were."""
