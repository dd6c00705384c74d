"""Sentences as revisions compare them: whom each is about, what it gives a value to, and whether it tells what is so."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from rememo.learn.extract.verbs import FORMS
from rememo.learn.extract.wordlists import word_set
from rememo.learn.revise.signs import Sign, plain, signs_in

Terms = Callable[[str], Sequence[str]]

SPECIFIC: Final = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:noon|midnight|january|february|march|april|june|july|august|september|october|november|december)\b"
)
"""Figures, days and months: values that cannot both hold."""
_COMPLEMENT: Final = re.compile(
    r"\b(to|on|for|at|in|with|from|during|before|after|by) (?:the |my |our |a |an |every |each )?([a-z][\w'-]+)"
)
_FRAME: Final = re.compile(
    r"^(?:(?:so|and|but|also|oh|ok|okay|hey|hi|fyi|btw|note|remember|update|reminder|actually),? )*"
    r"(?P<subject>(?:my|our|the|his|her|their|[a-z][\w-]+'s) (?:[\w&'-]+ ){0,6}?[\w&'-]+)"
    r" (?:is|are|will be|should be|=|has been|have been|was) (?:now |actually |currently |still |at |on |in |due )*(?P<value>.+)$"
)
_NEGATED: Final = re.compile(r"n't\b|\b(?:not|never|no longer|without)\b")
_SELF: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|we|we're|we've|my|our)\b")
_OWN: Final = re.compile(
    r"^(?:(?:so|and|but|also|oh|ok|okay|hey|hi|hello|well|yes|no|yeah|fyi|btw|update|actually|honestly|lately|recently|now|currently|today"
    r"|big news|good news|bad news|turns out|it turns out|unfortunately|sadly|finally|sorry|just)[,:!.]* (?:that )?)*"
    r"(?:i|we|i'm|i've|i'll|i'd|we're|we've|we'll|my|our)\b"
)
_SUBJECT_VERB: Final = re.compile(
    r"\b(?:i|we|he|she|they|it)(?: (?:also|just|always|usually|really|often|mostly|still|normally|now|only|never))? ([a-z']+)"
)
_PAST_BE: Final = re.compile(r"\b(?:was|were|had|did|didn't|used to|wasn't|weren't)\b")
_PAST_VERBS: Final = word_set("was were had did didn't")
_AUXILIARIES: Final = word_set("is are was were will has have had can could would should isn't aren't won't 's")
OFTEN: Final = word_set("thing lot day time week year month morning today yesterday tomorrow way people")
"""Nouns that stand in too many sentences to tie two of them together."""
_LONGEST_SUBJECT: Final = 8


@dataclass(frozen=True)
class Sentence:
    """One sentence as it is compared."""

    text: str
    """As it stands in its record."""
    terms_of: Terms = field(repr=False, compare=False)

    @cached_property
    def plain(self) -> str:
        """In the form that patterns are tried on."""
        return plain(self.text).rstrip(".!")

    @cached_property
    def terms(self) -> frozenset[str]:
        """As they are indexed."""
        return frozenset(self.terms_of(self.text))

    @cached_property
    def signs(self) -> list[Sign]:
        """The signs of change in it."""
        return signs_in(self.plain)

    @cached_property
    def frame(self) -> tuple[frozenset[str], str] | None:
        """What a plain "X is Y" is about, and Y."""
        match = _FRAME.match(self.plain)
        if match is None:
            return None
        subject = frozenset(self.terms_of(match["subject"]))
        return (subject, match["value"]) if subject else None

    @cached_property
    def complements(self) -> frozenset[tuple[str, str]]:
        """Where, when and for what something is done: ("to", "work")."""
        found = ((match[1], match[2]) for match in _COMPLEMENT.finditer(self.plain))
        return frozenset(
            (where, noun) for where, noun in found if noun not in OFTEN and not (where == "to" and _acts(noun))
        )

    @cached_property
    def by_self(self) -> bool:
        """Whether it is the speaker who does or is something: no wish, request, question or word about others."""
        return bool(_OWN.match(self.plain))

    @cached_property
    def speaks_of_self(self) -> bool:
        """Whether the speaker occurs in it."""
        return bool(_SELF.search(self.plain))

    @cached_property
    def subject(self) -> frozenset[str]:
        """The terms before its first verb: whom or what it is about, where that is not the speaker."""
        words = self.plain.split()
        for place, word in enumerate(words[:_LONGEST_SUBJECT]):
            if word in FORMS or word in _AUXILIARIES or (place and word.endswith("ed")):
                return frozenset(self.terms_of(" ".join(words[:place]))) if place else frozenset()
        return frozenset()

    @cached_property
    def negated(self) -> bool:
        """Whether it says that something is not so."""
        return bool(_NEGATED.search(self.plain))

    @cached_property
    def happened(self) -> bool:
        """Whether it tells what happened once, and not what is so, is usual or is planned."""
        match = _SUBJECT_VERB.search(self.plain)
        if match is None:
            return bool(_PAST_BE.search(self.plain))
        known = FORMS.get(match[1])
        if known is not None:
            return known[1] == "past"
        return match[1] in _PAST_VERBS or match[1].endswith("ed")

    @cached_property
    def specific(self) -> bool:
        """Whether it has a figure, a day or a month."""
        return bool(SPECIFIC.search(self.plain))


def _acts(word: str) -> bool:
    """Whether a word after "to" is what one does, not where one goes; "work" is both, and mostly a place there."""
    return word in FORMS and word != "work"
