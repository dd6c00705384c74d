"""Receipts: what a write did, and what is still to be made of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Literal

from rememo.errors import InvalidInput
from rememo.model.scope import Scope

Outcome = Literal["added", "updated", "replaced", "ignored", "deleted", "restored", "unchanged"]
"""What happened to a record; `unchanged` where a write found nothing to do."""
Status = Literal["pending", "learning", "done", "failed"]
OnConflict = Literal["error", "ignore", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of a write: everything in it is durable and findable, except in the `pending` one of an open batch."""

    ids: tuple[str, ...]
    """The records, in the order they were given."""
    versions: Mapping[str, int] = field(default_factory=dict[str, int])
    """The version each record has now; for a deleted one, the version that ended."""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    """What happened to each."""
    recorded_at: datetime | None = None
    """The system time of the write."""
    jobs: tuple[str, ...] = ()
    """The jobs this write enqueued."""
    status: Status = "done"
    """`pending` in an open batch, `learning` while jobs are open, `done`, or `failed` when one is dead."""
    quarantined: Mapping[str, str] = field(default_factory=dict[str, str])
    """The records that are held back until a person releases them, and why."""
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    """How much was taken out before storing, by kind."""
    notes: tuple[str, ...] = ()
    """What jobs report although they are done, such as that the daily token limit kept them from asking a model."""
    follow: Callable[["Receipt", float], "Receipt"] | None = field(default=None, repr=False, compare=False)
    """Looks the jobs up; set by the memory that wrote."""

    @property
    def id(self) -> str:
        """The one record of a single write."""
        if len(self.ids) != 1:
            raise InvalidInput(f"this receipt is for {len(self.ids)} records; use .ids")
        return self.ids[0]

    @property
    def version(self) -> int:
        """The version of the one record of a single write."""
        return self.versions[self.id]

    @property
    def outcome(self) -> Outcome:
        """What happened to the one record of a single write."""
        return self.outcomes[self.id]

    def wait(self, timeout: float = 30.0) -> "Receipt":
        """Return the receipt once its jobs are done; raises `JobFailed` when one is dead."""
        if self.follow is None or not self.jobs:
            return self
        return self.follow(self, timeout)


class AsyncReceipt(Receipt):
    """A receipt of an `AsyncMemory`: the same, with a `wait()` to be awaited."""

    __slots__ = ()
    __hash__ = Receipt.__hash__

    async def wait(  # pyright: ignore[reportIncompatibleMethodOverride] - what it is for
        self,
        timeout: float = 30.0,  # noqa: ASYNC109 - as the other has it
    ) -> "AsyncReceipt":
        """Return the receipt once its jobs are done; raises `JobFailed` when one is dead. The event loop goes on."""
        if self.follow is None or not self.jobs:
            return self
        import asyncio  # noqa: PLC0415 - not needed by those who do not wait

        return to_async_receipt(await asyncio.to_thread(self.follow, self, timeout))

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, however they are waited for."""
        if not isinstance(other, Receipt):
            return NotImplemented
        return all(getattr(self, part.name) == getattr(other, part.name) for part in fields(self) if part.compare)


def to_async_receipt(receipt: Receipt) -> AsyncReceipt:
    """Return a receipt as that of an `AsyncMemory`."""
    return AsyncReceipt(**{part.name: getattr(receipt, part.name) for part in fields(receipt)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One record that a write changed, as hooks receive it."""

    id: str
    version: int
    outcome: Outcome
    kind: str
    scope: Scope
    recorded_at: datetime
