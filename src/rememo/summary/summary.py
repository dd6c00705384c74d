"""Summaries as they are read, and what compressing did."""

from dataclasses import dataclass
from datetime import datetime

from rememo.errors import InvalidInput
from rememo.model.receipt import Receipt
from rememo.model.record_wrapper import RecordWrapper
from rememo.model.times import to_utc
from rememo.summary.stored import EXTRACTIVE, summary_body


@dataclass(frozen=True, slots=True)
class Summary(RecordWrapper):
    """What stands for some messages of a room."""

    @property
    def text(self) -> str:
        """How many messages, from when to when, and what they say."""
        return self.record.text

    @property
    def body(self) -> str:
        """What they say: whole sentences, a line a turn, with who said it; or what a model wrote."""
        return summary_body(self.record)

    @property
    def count(self) -> int:
        """How many messages it stands for."""
        return int(self.record.data["count"])

    @property
    def since(self) -> datetime:
        """When the first of them was said."""
        return to_utc(self.record.data["from"], "from")

    @property
    def until(self) -> datetime:
        """When the last of them was said."""
        return to_utc(self.record.data["to"], "to")

    @property
    def sources(self) -> list[str]:
        """The ids of the messages."""
        return list(self.record.data["sources"])

    @property
    def made_by(self) -> str:
        """`policy`, `update`, `compress`, or `limit`."""
        return str(self.record.data["made_by"])

    @property
    def writer(self) -> str:
        """`extractive`, or the class of the summariser that wrote it."""
        return str(self.record.data.get("writer", EXTRACTIVE))

    @property
    def fallback(self) -> str | None:
        """Why the summariser that was to write it did not, where that is so."""
        return self.record.data.get("fallback")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """What `compress` did; with nothing old enough, a count of 0 and nothing else."""

    count: int = 0
    """How many messages left."""
    rooms: tuple[str, ...] = ()
    """The rooms that some left, sorted."""
    since: datetime | None = None
    """When the first of them was said."""
    until: datetime | None = None
    """When the last of them was said."""
    summaries: tuple[str, ...] = ()
    """The ids of the summaries that were made."""
    receipts: tuple[Receipt, ...] = ()
    """One for each transaction; `memory.undo(receipt)` takes one back, the messages with it."""

    @property
    def receipt(self) -> Receipt:
        """The receipt, where one transaction was enough."""
        if len(self.receipts) != 1:
            raise InvalidInput(f"this was done in {len(self.receipts)} transactions; use .receipts")
        return self.receipts[0]
