"""Health of the servers that a memory uses beside its store."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The last known health of one server; nothing is sent to find out."""

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
