"""Short ids: the last characters of an id, which are easier to type than all of it."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rememo.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from rememo.memory import Memory

_LENGTH: Final = 8
_MADE: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|derived-[0-9a-f]{32}")
"""Ids that Rememo makes."""
_SHORT: Final = re.compile(r"[0-9a-f]{4,12}")


def shorten(id: str) -> str:
    """Return the short form of an id; ids that somebody chose stay as they are."""
    # The beginning of a UUIDv7 is its time, which records made together share; its end is random.
    return id[-_LENGTH:] if _MADE.fullmatch(id) else id


def find_id(memory: "Memory", id: str) -> str:
    """Return the whole id of a record of this tenant; anything that is not a short form is returned as it is.

    Records that ended, expired or are quarantined are found too.
    """
    if not _SHORT.fullmatch(id):
        return id
    from rememo.engine.view import view_of

    engine = view_of(memory).engine
    everything = engine.store.touched(memory.bound, datetime.fromtimestamp(0, UTC), None, engine.now())
    if id in everything:
        return id
    matches = {whole for whole in everything if whole.endswith(id) and _MADE.fullmatch(whole)}
    if not matches:
        raise NotFound(f"no record's id ends in {id!r}; `rememo search` and `rememo list` print short ids")
    if len(matches) > 1:
        raise InvalidInput(f"{len(matches)} ids end in {id!r}: {', '.join(sorted(matches))}; give one of them whole")
    return matches.pop()
