"""The result of extraction."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """One fact that a text states about somebody, before it is compared with what is known."""

    subject: str
    """The speaker's own name, a person's or pet's name, or "<speaker>'s sister" for one without a name."""
    predicate: str
    """Normal form; see ``rememo.extract.predicates``."""
    object: str
    """As the text spells it, without determiner."""
    confidence: float
    """0 to 1: how sure the rule is that the text says this."""
    valid_from: datetime | None = None
    """When it began, or the time of an event, plan or appointment; aware UTC."""
    valid_to: datetime | None = None
    """When it ended; aware UTC, excluded."""
    ends: bool = False
    """True when the text says that this is not, or no longer, so: "I used to live in Rome". The object is then
    ``EVERY`` of ``rememo.extract.predicates`` where all values are meant: "I quit my job"."""
    kind: str | None = None
    """What sort of thing the object is, where it goes by a name: the "dog" of Rex."""
    corrects: str | None = None
    """The object that this one replaces because it was wrong: "Porto, not Lisbon"."""
    wording: str
    """The clause, quoted: ``text[position[0]:position[1]]``."""
    position: tuple[int, int]
    """Where the wording stands in the text."""
