"""The table's shape: a row says which frame of words states which fact. How frames are written is told in ``PatternRow``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder

Mood = Literal["now", "ing", "can", "perfect", "been", "past", "gone", "negated", "cannot", "future", "never"]
"""How a clause is put: "I live", "I'm living", "I can live", "I've lived", "I've been living", "I lived", "I no longer live", "I don't live",
"I can't live", "I'll live", "I've never lived". ``PatternRow.holds`` may also name "ahead" (a present or future that comes with a
coming date), "planned" (a past that does), "since" (a perfect that says since when) and "lasting" (a present without any time)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One object that a reader found."""

    text: str
    end: int
    """The word after it."""
    predicate: str = ""
    """Instead of the row's."""
    subject: str = ""
    """Instead of the clause's."""
    kind: str = ""
    """What sort of thing it is: the species of a pet that goes by its name."""
    corrects: bool = False
    """Whether it takes back what was said of the same object before: another time for an appointment."""
    also: tuple[tuple[str, str, str], ...] = ()
    """Further facts that come with it, when it holds: subject, predicate, object."""


Reader = Callable[[FactFinder, Clause, int], Sequence[Value]]
"""Returns the values that stand at a word, none when it is not of this sort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternRow:
    """One way to say one kind of fact.

    ``frame`` is what must follow the verb, its parts between spaces:

    - ``in|near`` one of these words; ``[back|over]`` any number of these words; ``...`` up to six words that do not matter;
    - ``<place>`` the object, by the name of a reader; ``<place!>`` one that must stand there and is not kept;
    - ``<SPORTS>`` things from a list of the lexicon (``<SPORTS+INSTRUMENTS>`` from either), ``<=SPORTS>`` one of them;
    - ``.`` the end of the complement; ``$`` the same, where no preposition follows;
    - ``(work)`` a sentence that speaks of work, ``(!work)`` one that does not, ``(now)`` a clause that says "now".
    """

    verbs: str = ""
    """Dictionary forms of the verbs; "be" for complements ("am allergic to")."""
    things: str = ""
    """For "my <thing> is …": the things, with "_" for a space. Then there are no verbs."""
    frame: str
    gives: str
    """The predicate."""
    holds: str = ""
    """The moods in which the fact is so."""
    over: str = ""
    """The moods in which the fact is not, or no longer, so."""
    opposite: str = ""
    """The predicate that "not" turns it to: liking and disliking."""
    passive: bool | None = False
    """The verb stands in the passive: "was diagnosed", "got promoted". None: either will do."""
    change: bool = False
    """The verb is the beginning or the end itself ("moved", "quit"): its time is when that was."""
    who: str = "person pet"
    """Which subjects: person, pet, thing, speaker, stranger (a name met for the first time), anybody (such a name, and a past), none (nobody in particular)."""
    value: str = ""
    """The object when it is not read: "retired"."""
    aside: bool = False
    """Whether the clause is read on as what happened: who finished a PhD is no student any more, and has an event."""
    confidence: float = 0.9
    examples: tuple[str, ...]
    """What it reads, as ``"text => predicate: object; !predicate: object"``: its tests. ``!`` marks what is over,
    ``Ana.works_at: CERN`` another subject than the speaker, who is called "me"; nothing after "=>" for what it must not read."""


def state(verbs: str, frame: str, gives: str, *examples: str, holds: str = "now ing perfect been", over: str = "gone past negated",
          opposite: str = "", who: str = "person pet", value: str = "", passive: bool | None = False, confidence: float = 0.9) -> PatternRow:  # fmt: skip
    """Return a row for something that lasts: "I live in …"."""
    return PatternRow(
        verbs=verbs, frame=frame, gives=gives, holds=holds, over=over, opposite=opposite, who=who, value=value,
        passive=passive, confidence=confidence, examples=examples,
    )  # fmt: skip


def change(verbs: str, frame: str, gives: str, *examples: str, holds: str = "past perfect", who: str = "person pet",
           value: str = "", passive: bool | None = False, confidence: float = 0.9) -> PatternRow:  # fmt: skip
    """Return a row for a verb with which something begins: "I moved to …"."""
    return PatternRow(
        verbs=verbs, frame=frame, gives=gives, holds=holds, change=True, who=who, value=value, passive=passive,
        confidence=confidence, examples=examples,
    )  # fmt: skip


def ending(verbs: str, frame: str, gives: str, *examples: str, over: str = "past perfect", who: str = "person pet",
           value: str = "", passive: bool | None = False, aside: bool = False, confidence: float = 0.9) -> PatternRow:  # fmt: skip
    """Return a row for a verb with which something is over: "I sold my …"."""
    return PatternRow(
        verbs=verbs, frame=frame, gives=gives, over=over, change=True, who=who, value=value, passive=passive,
        aside=aside, confidence=confidence, examples=examples,
    )  # fmt: skip


def thing(things: str, frame: str, gives: str, *examples: str, holds: str = "now", over: str = "gone", value: str = "",
          confidence: float = 0.9) -> PatternRow:  # fmt: skip
    """Return a row for "my <thing> is …"."""
    return PatternRow(
        things=things, frame=frame, gives=gives, holds=holds, over=over, who="thing", value=value, confidence=confidence,
        examples=examples,
    )  # fmt: skip
