"""State: what the providers had to say, joined; and what was left out of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rememo.runtime.lazy import lazy

Reason = Literal["private", "excluded", "no past", "failed", "slow", "too large", "wrong type", "busy"]
_CHOSEN = ("private", "excluded", "no past")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A provider that has no part in a state, and why."""

    name: str
    reason: Reason
    """`private`: it was not named. `excluded`: by `include` or `exclude`. `no past`: it knows the present only.
    `failed`: it raised. `slow`: it did not end in its time. `too large`, `wrong type`: what it returned.
    `busy`: earlier calls of it still hang."""
    says: str
    """In words, with the error's own."""


class State:
    """What the model is told about the moment: values for templates, data for programs, text for the prompt."""

    def __init__(
        self, *, text: str, values: str, data: str, left_out: Sequence[LeftOut], at: datetime, cached: bool = False
    ) -> None:
        """Hold content whose values and data are JSON texts: every state decodes a copy of its own when asked."""
        self.text = text
        """The providers' texts in the order of their positions, a blank line between them."""
        self.left_out = tuple(left_out)
        """The providers that have no part in it, by choice or by failure."""
        self.at = at
        """When it was composed."""
        self.cached = cached
        """Whether it was composed earlier, for the same message, and still holds."""
        self._values = values
        self._data = data

    @lazy
    def values(self) -> dict[str, Any]:
        """All providers' values under their own names; where two give the same name, that of the later position."""
        return json.loads(self._values)

    @lazy
    def data(self) -> dict[str, Any]:
        """Each provider's data, under the provider's name."""
        return json.loads(self._data)

    @property
    def failures(self) -> tuple[LeftOut, ...]:
        """Those that should have had a part and could not; empty when all went well."""
        return tuple(provider for provider in self.left_out if provider.reason not in _CHOSEN)

    @property
    def bytes(self) -> int:
        """What it weighs, about."""
        return len(self.text) + len(self._values) + len(self._data)

    def copy_from_cache(self) -> "State":
        """Return the same as a state of its own, from the cache."""
        return State(
            text=self.text, values=self._values, data=self._data, left_out=self.left_out, at=self.at, cached=True
        )

    def __eq__(self, other: object) -> bool:
        """Whether both say the same; when they were composed does not matter."""
        if not isinstance(other, State):
            return NotImplemented
        return (self.text, self._values, self._data, self.left_out) == (
            other.text,
            other._values,
            other._data,
            other.left_out,
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it holds what can be changed

    def __repr__(self) -> str:
        """Show how much there is, not all of it."""
        failed = ", ".join(f"{failure.name}: {failure.reason}" for failure in self.failures)
        return f"<State of {len(self.text):,} characters{f', without {failed}' if failed else ''}>"
