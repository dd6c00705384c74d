"""Limits of a workbench: how much of each kind it holds."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self, cast

from rememo.collections.base import value_id
from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.model.check import check_limit

LIMITS: Final = "limits"
"""The use and the name of the value that holds the limits of a scope."""
LIMITED: Final = {"message": "max_messages", "action": "max_actions", "thought": "max_thoughts"}
"""Kinds, and what limits them."""
_MOST = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingLimits:
    """How many of each kind stay when a workbench is pruned."""

    max_messages: int = 100
    max_actions: int = 50
    max_thoughts: int = 200
    enforced: tuple[str, ...] = ()
    """Those that were set: they hold after every write. The others hold for `prune` alone."""

    def __post_init__(self) -> None:
        """Refuse invalid numbers."""
        for name in LIMITED.values():
            check_limit(getattr(self, name), name, maximum=_MOST)
        if unknown := set(self.enforced) - set(LIMITED.values()):
            raise InvalidInput(f"enforced must be some of {', '.join(LIMITED.values())}, not {min(map(repr, unknown))}")

    def but(self, **changes: int | None) -> Self:
        """Return a copy with some numbers changed; None leaves one as it is."""
        changed: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
        return replace(self, **changed)

    def enforcing(self, **changes: int | None) -> Self:
        """Return a copy with some numbers changed, which hold after every write from now on."""
        changed = {name for name, value in changes.items() if value is not None}
        enforced = tuple(name for name in LIMITED.values() if name in changed or name in self.enforced)
        return replace(self.but(**changes), enforced=enforced)

    def to_json(self) -> dict[str, Any]:
        """Return them as a JSON object."""
        return asdict(self) | {"enforced": [*self.enforced]}

    @classmethod
    def read(cls, stored: Any) -> Self:
        """Read what `to_json` made of them; those of before have nothing that is enforced."""
        numbers = set(LIMITED.values())
        if not isinstance(stored, dict) or not numbers <= set(stored) <= {*numbers, "enforced"}:  # pyright: ignore[reportUnknownArgumentType] - JSON
            raise InvalidInput(f"limits must have {', '.join(LIMITED.values())}")
        fields = dict(cast("dict[str, Any]", stored))
        enforced: object = fields.pop("enforced", ())
        if not isinstance(enforced, list | tuple):
            raise InvalidInput("enforced must be a list of the limits that hold after every write")
        return cls(**fields, enforced=tuple(str(name) for name in cast("list[Any]", enforced)))


def stored_limits(view: View) -> WorkingLimits | None:
    """Return the limits of exactly this view's scope, or None when none were set."""
    record = view.find(value_id(view.engine, view.scope, LIMITS, LIMITS))
    return None if record is None else WorkingLimits.read(record.data.get("value"))
