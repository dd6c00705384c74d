"""Relationships: who or what is connected with whom, how, and how strongly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rememo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """One connection, from an entity to a target."""

    id: str
    entity: str
    target: str
    type: str
    """In normal form: `sister`, `works_at`."""
    strength: float
    """From 0 to 1; each interaction closes a tenth of the distance to 1."""
    sentiment: float | None = None
    """From -1 (hostile) to 1 (fond), where it is known."""
    count: int = 0
    """How many interactions there were."""
    first_interaction: datetime | None = None
    last_interaction: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    record: Record = field(repr=False, compare=False)
    """The record it is kept in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """What is connected with an entity, within some steps."""

    nodes: tuple[str, ...]
    """The entity itself first, then nearest first."""
    edges: tuple[Relationship, ...]
    """Every relationship between two of the nodes."""
