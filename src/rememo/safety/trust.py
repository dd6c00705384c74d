"""Trust: how far a record is trusted that was given no trust, by its role, its kind and where it came from."""

from collections.abc import Mapping
from typing import Final

FULL: Final = 1.0
_SAME: Final = {"chunk": "document", "http": "web", "https": "web"}


def default_trust(table: Mapping[str, float], *, kind: str, role: object, source: str | None) -> float:
    """Return the least trust that the table has for a role, a kind or a channel; what it does not name is trusted fully.

    A source's channel is what stands before its first colon: `web` for `https://example.org`, `mail` for `mail:ana`.
    """
    trust = table.get(_SAME.get(kind, kind), FULL)
    if isinstance(role, str):
        trust = min(trust, table.get(role, FULL))
    if source is not None:
        channel = source.partition(":")[0].casefold()
        trust = min(trust, table.get(_SAME.get(channel, channel), FULL))
    return trust
