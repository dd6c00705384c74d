"""Answer: what memory says to a question, with the records it rests on."""

from dataclasses import dataclass, field
from typing import Final

from rememo.llm.protocol import Usage
from rememo.model.record import Record

NOT_FOUND: Final = "That is not in memory."
EXTRACTIVE: Final = "extractive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What memory says to a question."""

    text: str
    """The answer; where there is none, that it is not in memory."""
    found: bool
    """Whether memory tells it."""
    citations: tuple[str, ...] = ()
    """The ids of the records that it rests on, the most important first."""
    records: tuple[Record, ...] = field(default=(), repr=False)
    """These records."""
    writer: str = EXTRACTIVE
    """The model that wrote it, or `extractive` for the records' own words."""
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    """The tokens that it took."""
    certainty: float = 0.0
    """How surely recall found it, from 0 to 1; of a model's answer 0."""
    fallback: str | None = None
    """Why a model that was to answer did not."""
