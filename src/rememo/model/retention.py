"""Retention: what is to be kept, and what a run of `maintain()` did about it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from rememo.model.scope import Scope

PolicyAction = Literal["compress", "remove", "duplicates", "references", "orphans", "versions"]
"""What a policy does: let messages leave into summaries, remove records, remove copies, mend references, remove relationships without ends, thin versions."""
Archived = Literal["important", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """One rule of what is kept; it holds for the scope it was set in."""

    name: str
    does: PolicyAction
    scope: Scope
    kinds: tuple[str, ...] = ()
    """Which records it concerns."""
    older_than: float | None = None
    """Seconds: records whose moment lies longer ago leave; old versions are thinned after that time."""
    at_most: int | None = None
    """How many a room may hold: of facts the surest and newest stay, of others the newest."""
    max_bytes: int | None = None
    """How much text, data and metadata all of them together may have: the oldest leave first."""
    forget: float | None = None
    """Seconds: what ended longer ago is physically gone, with all its versions."""
    keep_pinned: bool = True
    keep_important: float | None = None
    """Records of that importance or more stay."""
    archive: Archived | None = None
    """What is archived before it is removed; nothing leaves that could not be archived."""
    allow_all: bool = False
    """It may remove everything there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRun:
    """What one policy did, or in a dry run would do."""

    policy: str
    does: PolicyAction
    scope: Scope
    found: int = 0
    """How many it is about: records to remove or to mend, versions to thin."""
    done: int = 0
    """How many were removed, mended or thinned; less than `found` where somebody changed one meanwhile. 0 in a dry run."""
    ids: tuple[str, ...] = ()
    """The first of them."""
    batches: tuple[datetime, ...] = ()
    """The system times of its writes: what `retention.undo` takes back."""
    archives: tuple[str, ...] = ()
    """The archives that were written before."""
    refused: str | None = None
    """Why it did nothing, where it would have removed everything."""
    failed: str | None = None
    """Why it stopped, where its archive could not be written; what it did before stands, and the next run goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """What `maintain()` did, or in a dry run would do."""

    dry_run: bool
    reclaimed: int
    """Expired records, keys and states, old idempotency keys and finished jobs; nothing that could be read."""
    runs: tuple[PolicyRun, ...] = ()
    """One for each policy, in their order."""

    @property
    def ok(self) -> bool:
        """Whether no policy was refused or failed."""
        return not any(run.refused or run.failed for run in self.runs)

    @property
    def found(self) -> int:
        """How many records and versions the policies are about."""
        return sum(run.found for run in self.runs)

    @property
    def done(self) -> int:
        """How many records and versions they removed, mended or thinned."""
        return sum(run.done for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What taking a run back did."""

    restored: int
    left: int
    """Records that changed since, or whose versions were thinned."""
