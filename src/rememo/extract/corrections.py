"""Corrections: "actually it's Porto, not Lisbon" takes a value back that was said before."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from rememo.extract.extracted_fact import ExtractedFact
from rememo.recall.time import TimeMention, find_times

_VALUE = r"[\w'\u2019.&-]+(?: [\w'\u2019.&-]+){0,3}?"
_FIRST = re.compile(
    rf"(?:^|[.!?\n]\s*)(?:(?:no|nope|actually|sorry|wait|oops|correction|well|hmm|oh|ah)[,:!]?\s+)*"
    rf"(?:(?:i\s+meant|i\s+mean|it'?s|it\s+is|that'?s|make\s+that|that\s+should\s+be|it\s+should\s+be)\s+)?(?:(?:spelled|spelt|written|called)\s+)?(?:actually\s+)?(?:in\s+|at\s+)?"
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
    corrections_made: list[Correction] = []
    for pattern in (_FIRST, _SECOND, _MEANT):
        for match in pattern.finditer(text):
            start = match.start() + len(match.group()) - len(match.group().lstrip(" .!?\n"))
            position = (start, match.end())
            corrections_made.append(
                Correction(match["old"].strip(" .,"), match["new"].strip(" .,"), text[start : match.end()], position)
            )
    return corrections_made


def apply(correction: Correction, facts: list[ExtractedFact], at: datetime) -> ExtractedFact | None:
    """Return the fact that replaces the one with the old value or the old time, when exactly such a one is known."""
    for fact in reversed(facts):
        if fact.ends:
            continue
        if fact.object.casefold() == correction.old.casefold():
            return _replaced(correction, fact, object=correction.new)
        if fact.valid_from is not None and (time := _other_time(correction, fact.valid_from, at)) is not None:
            return _replaced(correction, fact, valid_from=time.start, valid_to=time.end)
    return None


def _replaced(correction: Correction, fact: ExtractedFact, **values: str | datetime) -> ExtractedFact:
    quoted = {"wording": correction.wording, "position": correction.position}
    return replace(fact, corrects=fact.object, confidence=0.85, **quoted, **values)


def _other_time(correction: Correction, begin: datetime, at: datetime) -> TimeMention | None:
    """Return the new time of "Tuesday, not Monday" when Monday is when the fact begins."""
    old, new = (find_times(text, at, lean="future") for text in (correction.old, correction.new))
    return new[0] if old and new and old[0].start <= begin < old[0].end else None
