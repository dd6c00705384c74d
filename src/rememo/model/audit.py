"""Audit: who did what, when and from where. What was written or read is never copied into it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rememo.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditActor:
    """Who does something, and from where; None is unknown."""

    actor: str | None = None
    session: str | None = None
    address: str | None = None


@dataclass(slots=True, kw_only=True)  # not frozen: one is made for every write
class NewAuditEntry:
    """An audit entry to append; the store assigns its number and hash."""

    operation: str
    scope: Scope
    who: AuditActor
    at: datetime
    detail: Mapping[str, Any] | str
    """Counts, kinds and the outcome, or their JSON text where it is at hand: no personal data."""
    ids: Sequence[str] = ()
    flags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the audit trail."""

    number: int
    """From 1 in each tenant, without a gap."""
    at: datetime
    operation: str
    """`write`, `clear`, `undo`, `rollback`, `kv.set`, `export`, `erase`, `denied` and the like."""
    detail: Mapping[str, Any]
    """Counts, kinds and the outcome."""
    scope: Scope
    """What was written, or the view that asked."""
    actor: str | None
    session: str | None
    address: str | None
    ids: tuple[str, ...]
    """The records or keys; of a large write only their digest is kept, as the detail `ids_sha256`."""
    flags: tuple[str, ...]
    """The flags that compliance checks raised."""
    redacted: tuple[str, ...]
    """What an erasure has taken out of it: `who` (actor, session, address), `what` (labels, ids, flags), or nothing."""
    hash: str
    """Over this line and the hash of the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """Where a tenant's trail ends. Kept outside the store, it shows later whether anything up to it was changed."""

    count: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """What `audit.verify` found: a whole chain, or each fault with the number of its line."""

    faults: tuple[str, ...]
    """The first hundred."""
    head: AuditHead
    """Up to where was looked."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A change about to be made, as compliance checks receive it."""

    operation: str
    scope: Scope
    """Of the view that asks for it."""
    who: AuditActor
    ids: tuple[str, ...]
    """The records to be written or deleted; what a filter will delete is not known yet."""
    kinds: tuple[str, ...]
    """The kinds of what is to be written, each once."""
    texts: tuple[str, ...] = field(default=(), repr=False)
    """What is to be written, for checks that asked for it (`content=True`)."""
