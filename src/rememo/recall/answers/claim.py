"""The input of answer selection: a question, and the statements that may answer it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimQuestion:
    """A question, and what is known of who asks it and when."""

    text: str
    at: datetime
    """When it is asked."""
    until: datetime | None = None
    """The end of the time that it asks about, where that is over by then."""
    persons: frozenset[str] = frozenset()
    """Whom it means, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What somebody stated."""

    text: str
    """As it was said, not as a fact puts it."""
    at: datetime
    score: float
    """Its search score as a share of the best one's; 0 where the search did not find it."""
    speaker: str = ""
    """Who said it, in lower case."""
    role: str = "user"
    is_fact: bool = False
    """Whether a fact was learned from it."""
    is_asked: bool = False
    """Whether that fact is of a kind that the question asks for, and of somebody or something that it names."""
    is_asked_of_another: bool = False
    """Whether that fact is of a kind that the question asks for, but of somebody or something else."""
    is_current: bool = False
    """Whether it is known to hold."""
    is_superseded: bool = False
    """Whether it is known to hold no longer."""
