"""Facts as callers see them, made from records."""

from dataclasses import replace
from datetime import datetime

from rememo.engine.view import BOUND
from rememo.errors import InvalidInput
from rememo.extract.predicates import normalise_predicate
from rememo.model.check import check_label
from rememo.model.fact import Fact, FactStatus, Source
from rememo.model.filters import Condition
from rememo.model.record import Record
from rememo.model.times import to_utc


def bound_labels(record: Record) -> tuple[str, ...]:
    """Return the labels that those who told a fact were bound to."""
    return tuple(record.data.get(BOUND, ()))


def data_equals(name: str, value: str) -> Condition:
    """Return the condition that a field of the data equals a value."""
    return Condition("data", (name,), "$eq", value)


def to_fact(record: Record, at: datetime) -> Fact:
    """Return the fact of a record, with its status at a moment."""
    data = record.data
    status: FactStatus = data["status"]
    if status == "superseded" and record.valid_to is not None and record.valid_to > at:
        status = "current"
    versions = {statement["source"]: statement["version"] for statement in data["statements"] if "source" in statement}
    return Fact(
        id=record.id,
        subject=data["subject"],
        predicate=data["predicate"],
        object=data["object"],
        confidence=data["confidence"],
        sources=tuple(Source(id, versions[id]) for id in data["sources"] if id in versions),
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        status=status,
        wording=data["wording"],
        record=record,
    )


def merge_facts(first: Fact, other: Fact) -> Fact:
    """Return one fact of two rooms as one."""
    confidence = round(1 - (1 - first.confidence) * (1 - other.confidence), 6)
    return replace(first, confidence=confidence, sources=tuple(dict.fromkeys((*first.sources, *other.sources))))


def check_predicate(predicate: object) -> str:
    """Return the predicate that a wording means."""
    name = normalise_predicate(check_label(predicate, "predicate"))
    if not name:
        raise InvalidInput(f"a fact needs a predicate: {predicate!r} has no word in it")
    return name


def check_time(value: object, field: str) -> datetime | None:
    """Return a time in UTC; None stays None."""
    return None if value is None else to_utc(value, field)
