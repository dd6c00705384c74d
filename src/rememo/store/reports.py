"""What a store reports of itself: statistics, health, the result of a check and of a thinning step."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What a store holds of one tenant, and what the whole store weighs."""

    records: int
    """Current records of the kinds that are listed."""
    versions: int
    """Current and past versions of every kind."""
    vectors: int
    kinds: Mapping[str, int]
    """Current records by kind, of those that are listed."""
    jobs: Mapping[str, int]
    keys: int
    file_bytes: int
    log_bytes: int
    free_bytes: int
    model: str | None = None
    """The embedding model whose vectors the store keeps; None where it keeps none."""
    words_only: str | None = None
    """Why this process searches by words alone though there are vectors; None where it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHealth:
    """The health of a whole store, of all tenants: cheap to ask, and without a count of what it holds."""

    jobs: Mapping[str, int]
    """Jobs by state."""
    file_bytes: int
    log_bytes: int
    free_bytes: int
    """Within what the store weighs."""
    disk_bytes: int | None
    """What is free where a file lies; None where a server looks after that."""
    engine: str
    """What it is kept by, and in which version."""
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it could do better, and how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What `verify` found: nothing wrong, or each fault named."""

    faults: tuple[str, ...]
    """What is damaged."""
    checked: Mapping[str, int]
    unchecked: tuple[str, ...] = ()
    """What could not be looked into, and why."""
    missing_vectors: tuple[str, ...] = ()
    """Tenant by tenant, how many versions have no vector and no job that will make it."""
    owed_vectors: int = 0
    """How many versions have no vector yet and a job that will make it."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong and nothing is missing."""
        return not self.faults and not self.missing_vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinningResult:
    """What a step of thinning did, or would do."""

    versions: int
    """How many versions are gone."""
    records: int
    """Of how many records."""
    ids: tuple[str, ...]
    following: str | None
    """Where the next step starts; None when this was the last."""
