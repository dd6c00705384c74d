"""Record: one remembered thing in one of its versions."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Self

from rememo.errors import InvalidInput
from rememo.model.scope import Scope
from rememo.model.times import to_utc

STATE = "state"
"""What an agent holds: kept in versions like everything, listed and counted, but never found by search."""
REVISION = "revision"
"""What became of an earlier record: kept beside it in versions like everything, and shown only where it is asked for."""
UNSEARCHED = (STATE, REVISION)
"""The kinds that search never looks among."""
KINDS = frozenset(
    {
        "message",
        "fact",
        "document",
        "chunk",
        "relationship",
        "goal",
        "task",
        "action",
        "thought",
        "post",
        "summary",
        "note",
        *UNSEARCHED,
    }
)
LISTED = tuple(sorted(KINDS - {REVISION}))
"""The kinds that a filter without kinds means: a revision belongs to a record as an index entry does, and is none itself."""
FOUND = tuple(sorted(KINDS - set(UNSEARCHED)))
"""The kinds that search looks among."""
_TIMES = ("created_at", "recorded_at", "superseded_at", "occurred_at", "valid_from", "valid_to", "expires_at")


def check_kind(value: object) -> str:
    """Return a kind that exists."""
    if not isinstance(value, str) or value not in KINDS:
        raise InvalidInput(f"there is no kind {value!r}; the kinds are {', '.join(sorted(KINDS))}")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One version of a remembered thing; the current version has no `superseded_at`."""

    id: str
    """Unique within the tenant; a UUIDv7 unless given."""
    version: int
    """1, 2, 3 … without a gap, but for old versions that were thinned."""
    kind: str
    """What it is: one of `KINDS`."""
    text: str
    """What was said, as it was said."""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """The structured content of its kind."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """The caller's own fields, for filters."""
    scope: Scope
    """The tenant and the labels it belongs to."""
    created_at: datetime
    """When its first version was recorded; never changes."""
    recorded_at: datetime
    """System time: when this version became known."""
    superseded_at: datetime | None = None
    """System time: when this version stopped being current."""
    occurred_at: datetime | None = None
    """Event time: when it happened, where that is known."""
    valid_from: datetime | None = None
    """From when it holds in the world."""
    valid_to: datetime | None = None
    """Until when it holds in the world."""
    expires_at: datetime | None = None
    """From then on it is invisible."""
    deleted: bool = False
    """This version ended by a delete, not by a newer version."""
    pinned: bool = False
    """Kept by every pruning."""
    importance: float | None = None
    """From 0 to 1, where it was given."""
    source: str | None = None
    """Where it came from: a channel, a tool, an address, a record's id."""
    trust: float = 1.0
    """From 0 to 1: how far its source is trusted."""
    quarantine: str | None = None
    """Why it is held back: not recalled and not learned from until a person releases it. None for what is free."""

    @property
    def updated_at(self) -> datetime:
        """When it last changed: the moment this version was recorded."""
        return self.recorded_at

    @property
    def at(self) -> datetime:
        """The moment lists are ordered by: when it happened, else when it was first recorded."""
        return self.occurred_at or self.created_at

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; `from_dict` gives an equal record back."""
        values: dict[str, Any] = dict(zip(_NAMES, _all(self), strict=True))
        scope = self.scope
        values["scope"] = {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user, "room": scope.room}
        for name in _TIMES:
            if values[name] is not None:
                values[name] = values[name].isoformat()
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        fields = dict(values)
        try:
            fields["scope"] = Scope(**fields["scope"])
            for name in _TIMES:
                if fields.get(name) is not None:
                    fields[name] = to_utc(fields[name], name)
            return cls(**fields)
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"this is not a record: {error}") from None


_NAMES = tuple(field_.name for field_ in fields(Record))
_all = attrgetter(*_NAMES)
