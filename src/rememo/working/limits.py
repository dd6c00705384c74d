"""Limits of a workbench: how much of each kind pruning leaves."""

from dataclasses import asdict, dataclass
from typing import Any, Self, cast

from rememo.errors import InvalidInput
from rememo.model.check import check_limit

_MOST = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingLimits:
    """How many of each kind stay when a workbench is pruned."""

    max_messages: int = 100
    max_actions: int = 50
    max_thoughts: int = 200

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be meant."""
        for name in self.__slots__:
            check_limit(getattr(self, name), name, maximum=_MOST)

    def but(self, **changes: int | None) -> Self:
        """Return a copy with some numbers changed; None leaves one as it is."""
        given = {name: value for name, value in changes.items() if value is not None}
        return type(self)(**asdict(self) | given)

    @classmethod
    def read(cls, held: Any) -> Self:
        """Read what `asdict` made of them."""
        if not isinstance(held, dict) or set(held) != set(cls.__slots__):  # pyright: ignore[reportUnknownArgumentType] - JSON
            raise InvalidInput(f"limits must have {', '.join(cls.__slots__)}")
        return cls(**cast("dict[str, Any]", held))
