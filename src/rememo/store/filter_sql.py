"""The condition of a filter as SQL: text made of constants, and the values as parameters. Each dialect supplies what differs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.model.filters import Condition, Filter
from rememo.model.record import REVISION, UNSEARCHED
from rememo.model.scope import Scope
from rememo.model.times import to_micros

Sql = tuple[str, list[Any]]
_LAST = chr(0x10FFFF)
SEARCHED = f"kind NOT IN ({', '.join(repr(kind) for kind in UNSEARCHED)})"
"""The condition of being something that search looks among."""
IS_LISTED = f"kind <> '{REVISION}'"
"""The condition of being of one of the kinds `LISTED`."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a store says what a filter means."""

    sign: str
    """What stands for a value."""
    within: Callable[[Scope], Sql]
    """The condition of a scope: the tenant first."""
    ids: Callable[[Sequence[str]], Sql]
    """The condition of being one of some ids."""
    condition: Callable[[Condition], Sql]
    """The condition on a place in metadata or data."""

    def where(self, filter: Filter, moment: datetime, *more: Sql) -> Sql:
        """Return the condition of a filter, without kinds and without the choice between current and past versions."""
        sign = self.sign
        conditions = [self.within(filter.scope), *more]
        if filter.ids is not None:
            conditions.append(self.ids(filter.ids))
        if filter.after is not None:
            conditions.append((f"at >= {sign}", [to_micros(filter.after)]))
        if filter.before is not None:
            conditions.append((f"at < {sign}", [to_micros(filter.before)]))
        if filter.rooms:
            # A range, which an index answers; no character is above the last.
            conditions.append((f"room >= {sign} AND room < {sign}", [filter.rooms, filter.rooms + _LAST]))
        if filter.pinned is not None:
            conditions.append((f"pinned = {sign}", [filter.pinned]))
        if filter.valid_at is not None:
            holds = f"(valid_from IS NULL OR valid_from <= {sign}) AND (valid_to IS NULL OR valid_to > {sign})"
            conditions.append((holds, [to_micros(filter.valid_at)] * 2))
        if filter.quarantined is not None:
            conditions.append((f"quarantine IS {'NOT ' if filter.quarantined else ''}NULL", []))
        conditions += map(self.condition, filter.conditions)
        conditions.append((f"(expires_at IS NULL OR expires_at > {sign})", [to_micros(filter.known_at or moment)]))
        return " AND ".join(sql for sql, _ in conditions), [value for _, values in conditions for value in values]
