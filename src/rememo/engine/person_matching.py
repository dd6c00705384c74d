"""Person matching: how well the person a record is about fits the persons that a question is about."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rememo.model.fact import folded
from rememo.model.record import Record
from rememo.recall.subjects import other_subject
from rememo.recall.types import Question

_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|myself|me|we|we're|our|us)\b", re.IGNORECASE)
_SECOND_PERSON: Final = re.compile(r"\b(?:you|your|yours|you're|you've)\b", re.IGNORECASE)
OF_ANOTHER: Final = 0.6
"""What is left of the score of what another person says of themselves."""
_OF_KIN: Final = 0.9
"""What is left of the score of what is said of the speaker's sister, where the question is about the speaker."""


def folded_speaker(record: Record) -> str:
    """Return who says "I" in a record, as names are compared; empty where nobody is known to."""
    return folded(str(record.data.get("name") or record.scope.user or ""))


class PersonMatcher:
    """Scores how well records fit the persons that a question is about."""

    def __init__(self, names: Iterable[str], question: Question, terms_of: Callable[[str], Sequence[str]]) -> None:
        self._names = set(map(folded, names))
        self._named = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(self._names)))})\b", re.IGNORECASE)
        self._asked = frozenset(question.terms)
        self._of_asker = bool(_FIRST_PERSON.search(question.text))
        self._terms_of = terms_of

    def factor(self, record: Record, *, stranger: bool) -> float:
        """Return what is left of a record's score.

        Whoever talks with a person may well be speaking of them; a stranger's "I" is the stranger.
        """
        if record.kind == "fact":
            return 1.0 if not self._names or self._named.search(record.text) else OF_ANOTHER
        if record.kind not in ("message", "note", "post", "thought"):
            return 1.0
        speaker = folded_speaker(record)
        text = record.text
        if self._names and speaker and speaker not in self._names and record.data.get("role", "user") == "user":
            if not _FIRST_PERSON.search(text) or _SECOND_PERSON.search(text) or self._named.search(text):
                return 1.0
            return OF_ANOTHER if stranger else 1.0
        subject = self._terms_of(other_subject(text.casefold().replace("\u2019", "'"))) if self._of_asker else ()
        return _OF_KIN if subject and self._asked.isdisjoint(subject) else 1.0
