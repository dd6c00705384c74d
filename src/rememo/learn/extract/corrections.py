"""Corrections: "actually it's Porto, not Lisbon" takes a value back that was said before."""

import re
from dataclasses import dataclass, replace

from rememo.learn.extract.found import FoundFact

_VALUE = r"[\w'\u2019.&-]+(?: [\w'\u2019.&-]+){0,3}?"
_FIRST = re.compile(
    rf"(?:^|[.!?\n]\s*)(?:(?:no|nope|actually|sorry|wait|oops|correction|well|hmm|oh|ah)[,:!]?\s+)*"
    rf"(?:(?:i\s+meant|i\s+mean|it'?s|it\s+is|that'?s|make\s+that|that\s+should\s+be|it\s+should\s+be)\s+)?(?:actually\s+)?(?:in\s+|at\s+)?"
    rf"(?P<new>{_VALUE}),?\s+(?:and\s+)?not\s+(?:in\s+|at\s+)?(?P<old>{_VALUE})\s*(?=$|[.!?\n])",
    re.IGNORECASE,
)
_SECOND = re.compile(
    rf"(?:^|[.!?\n]\s*)(?:(?:no|nope|actually|sorry|wait|oops|correction|well)[,:!]?\s+)*"
    rf"(?:it'?s\s+not|it\s+isn'?t|not)\s+(?P<old>{_VALUE}),?\s+(?:but\s+|it'?s\s+)?(?P<new>{_VALUE})\s*(?=$|[.!?\n])",
    re.IGNORECASE,
)
_MEANT = re.compile(
    rf"\bi\s+said\s+(?P<old>{_VALUE}),?\s+(?:but\s+)?i\s+meant\s+(?P<new>{_VALUE})\s*(?=$|[.!?\n,])", re.IGNORECASE
)
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Correction:
    """One value taken back for another, with the words that did it."""

    old: str
    new: str
    wording: str
    position: tuple[int, int]


def corrections(text: str) -> list[Correction]:
    """Return the corrections a short text makes without naming what they are about; a question makes none."""
    if (
        len(text) > _LONGEST
        or "?" in text
        or (" not " not in f" {text.lower()} " and "n't" not in text and "meant" not in text.lower())
    ):
        return []
    found: list[Correction] = []
    for pattern in (_FIRST, _SECOND, _MEANT):
        for match in pattern.finditer(text):
            start = match.start() + len(match.group()) - len(match.group().lstrip(" .!?\n"))
            position = (start, match.end())
            found.append(
                Correction(match["old"].strip(" .,"), match["new"].strip(" .,"), text[start : match.end()], position)
            )
    return found


def apply(correction: Correction, known: list[FoundFact]) -> FoundFact | None:
    """Return the fact that replaces the one with the old value, when exactly such a one is known."""
    for fact in reversed(known):
        if fact.object.casefold() == correction.old.casefold() and not fact.ends:
            return replace(
                fact, object=correction.new, corrects=fact.object, wording=correction.wording, position=correction.position, confidence=0.85
            )  # fmt: skip
    return None
