"""A value type over a record: what a collection returns."""

from dataclasses import dataclass

from rememo.model.record import Record


@dataclass(frozen=True, slots=True)
class RecordWrapper:
    """A record with names for what stands in its data."""

    record: Record

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id
