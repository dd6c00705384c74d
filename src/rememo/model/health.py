"""Health: how a server is that a memory leans on beside its store."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is known of one server now, without asking it."""

    name: str
    """What it is for, such as `kv`."""
    place: str
    """Its address, without a password."""
    ok: bool
    """Whether the last call reached it."""
    says: str = ""
    """What is wrong, and what goes on without it."""
    since: datetime | None = None
    """Since when it is lost."""
    failures: int = 0
    """Calls that did not reach it since the memory was opened."""
