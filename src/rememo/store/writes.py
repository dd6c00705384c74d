"""What a batch of writes asks for, and what it did."""

from dataclasses import dataclass
from datetime import datetime

from rememo.model.filters import Filter
from rememo.model.receipt import OnConflict, Outcome
from rememo.model.scope import Scope
from rememo.store.drafts import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Create a record; what happens when its id is taken is `on_conflict`."""

    draft: Draft
    on_conflict: OnConflict = "error"
    fresh: bool = False
    """The id was generated just now, so no record has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Close the version `expected` and open the next; another current version raises `VersionConflict`."""

    draft: Draft
    expected: int
    """0 reopens a record that is deleted or expired."""
    outcome: Outcome = "updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Close the current version of a record within `scope`."""

    id: str
    scope: Scope
    expected: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAll:
    """Close every current record that a filter means."""

    filter: Filter


Write = Put | Revise | Remove | RemoveAll


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one record."""

    id: str
    version: int
    outcome: Outcome
    kind: str
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What a committed batch did."""

    written: tuple[Written, ...]
    """In the order of the batch; a `RemoveAll` gives one for each record it closed."""
    recorded_at: datetime
    """The system time of the batch: greater than that of every batch of the tenant before it."""
    jobs: tuple[str, ...] = ()
    model_changed: bool = False
    """Vectors came with the batch that are not of the store's embedding model any more; jobs will make others."""
    repeated: bool = False
    """The idempotency key was known: this is what the first batch under it did, and nothing was written now."""
