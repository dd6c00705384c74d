"""Items: what a model may be shown, one thing at a time and put together."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from rememo.model.record import Record

Recall = Literal["room", "user", "agent", "tenant"]
"""How far recall looks: the view itself, all rooms of its user and agent, all users of its agent, or the whole tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One thing that a model may be shown."""

    id: str
    """The record's id; of a profile, the key it is kept under."""
    kind: str
    """The record's kind, or `profile`."""
    text: str
    """What it says, without anything that came out of recall before."""
    at: datetime | None = None
    """When it was said or happened; of facts, when it was first said."""
    score: float = 0.0
    """How well it answers, from 0 to 1; 0 where nothing was asked."""
    speaker: str | None = None
    """Who said it, of messages."""
    record: Record | None = field(default=None, repr=False)
    """The version that it shows; a profile has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model is shown, in two shapes of the same content; neither costs more than the budget."""

    text: str
    """Everything as one text in a fence, for a prompt of your own; empty when there is nothing to show."""
    messages: list[dict[str, Any]]
    """In the chat shape: a system message with what was recalled, then the latest turns. The question is not added."""
    records: tuple[Record, ...]
    """What is shown: `[1]` in the text is the first, and so on; last those that stand in the messages only."""
    tokens: int
    """What the text or the messages cost, whichever is more, by the counter in use."""
    left_out: tuple[ContextItem, ...] = ()
    """What was found and did not fit, best first."""
