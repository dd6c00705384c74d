"""Facts: what is known about somebody or something, from where, and for when."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

from rememo.model.record import Record

FactStatus = Literal["current", "superseded", "disputed", "retracted"]
"""`superseded`: it held until something ended it. `disputed`: another value contradicts it, and the conflict is not settled.
`retracted`: it was taken back, or only ever denied."""


class Source(NamedTuple):
    """The version of a record that a fact was learned from."""

    id: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that is held to be so."""

    id: str
    """Follows from scope, subject, predicate and object: the same fact has the same id, however it is learned."""
    subject: str
    """Whom or what it is about."""
    predicate: str
    """In normal form: `lives_in`, `favourite_colour`."""
    object: str
    """The value, as it was spelled."""
    confidence: float
    """From 0 to 1; several sources gather: 1 - (1-a)(1-b)…"""
    sources: tuple[Source, ...] = ()
    """The records it was learned from, first one first."""
    valid_from: datetime | None = None
    """Since when it has been true; None where that is not known."""
    valid_to: datetime | None = None
    """Until when it held, itself excluded; None while it holds."""
    status: FactStatus = "current"
    wording: str | None = None
    """How it was last put, quoted."""
    record: Record = field(repr=False, compare=False)
    """The record it is kept in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Facts that cannot all be so, left to be decided by somebody."""

    subject: str
    predicate: str
    facts: tuple[Fact, ...]
    """The one that was said first, first."""


@lru_cache(16_384)
def folded(text: str) -> str:
    """Return the form in which subjects and objects are compared."""
    return " ".join(text.casefold().split())


def source_ids(record: Record) -> tuple[str, ...]:
    """Return the ids of the records that a stored fact stands on; none where the kind was used for something else."""
    ids = record.data.get("sources") if record.kind == "fact" else None
    return (
        tuple(source for source in cast("list[Any]", ids) if isinstance(source, str)) if isinstance(ids, list) else ()
    )


def predicate_of(record: Record) -> str:
    """Return the predicate of a stored fact; empty where the kind was used for something else."""
    predicate = record.data.get("predicate") if record.kind == "fact" else None
    return predicate if isinstance(predicate, str) else ""


def subject_of(record: Record) -> str:
    """Return the subject of a stored fact in the form in which subjects are compared; empty where it has none."""
    match: object = record.data.get("match") if record.kind == "fact" else None
    return str(cast("dict[str, Any]", match).get("subject", "")) if isinstance(match, dict) else ""
