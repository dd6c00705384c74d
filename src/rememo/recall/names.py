"""Names in a question: whose words are meant.

A speaker whom the question names is a reason to prefer what they said, not a word to look for: in a conversation of two,
everything is said by one of them or to them. "I" and "my" mean the asking user, "you" the one who is asked.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from rememo.text.wordlists import word_set

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019](?!s\b)[^\W\d_]+)*")
_FIRST_PERSON = frozenset({"i", "my", "me", "mine", "myself", "i'm", "i've", "i'd", "i'll"})
_SECOND_PERSON = frozenset({"you", "your", "yours", "yourself", "you've", "you'd", "you'll", "you're"})
# "Can you remind me …", "I was wondering …": how one asks, not what about.
_POLITE = re.compile(
    r"\b(?:(?:can|could|would|will|do|please) you|(?:remind|tell|give|show|help|let) me"
    r"|(?<!do )(?<!did )i(?: was|'m| am|'d| would|'ve been)? (?:wondering|wonder|curious|looking back|looking for|going back|going through"
    r"|checking|trying to (?:remember|recall|find)|like to know|want to know|need to know|think|remember|recall|believe))\b"
)
_NAME_INSIDE = re.compile(r"(?<=[a-z,'] )([A-Z][a-z][^\W\d_]+)")
_CALENDAR = word_set(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september",
    "october november december christmas easter",
)
_SHORTEST_NICKNAME = 3
_MOST_NICKNAMED = 500
"""Words in labels beyond which nicknames are not looked for: in a crowd they would be nobody's anyway."""
_ROLES = frozenset({"user", "users", "assistant", "agent", "bot", "system", "tool", "human", "ai"})
"""Words in labels that say what somebody is, not who."""


@lru_cache(maxsize=256)
def _speakers_by_word(speakers: tuple[str, ...]) -> dict[str, frozenset[int]]:
    """Which speakers have a word in their label, by case-folded word."""
    numbers_by_word: dict[str, set[int]] = {}
    for number, label in enumerate(speakers):
        for word in _WORD.findall(label):
            if word.casefold() not in _ROLES:
                numbers_by_word.setdefault(word.casefold(), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in numbers_by_word.items()}


def named_speakers(text: str, speakers: Sequence[str]) -> dict[int, frozenset[str]]:
    """Return the speakers whom `text` names, by number, each with the words of the text that are their name.

    A beginning of three letters or more with a capital inside the text ("Mel") names a speaker if it can be only one;
    it is no full name, so it stays a word to look for.
    """
    by_word = _speakers_by_word(tuple(speakers))
    if not by_word:
        return {}
    named: dict[int, set[str]] = {}
    for place, word in enumerate(_WORD.findall(text)):
        folded = word.casefold()
        for number in by_word.get(folded, ()):
            named.setdefault(number, set()).add(word)
        if folded not in by_word and place > 0:
            for number in _nicknamed(word, folded, by_word):
                named.setdefault(number, set())
    return {number: frozenset(words) for number, words in sorted(named.items())}


def other_names(text: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """Return the words of `text` that are written like names inside a sentence, but for those of speakers."""
    by_word = _speakers_by_word(tuple(speakers))
    names = dict.fromkeys(match[1] for match in _NAME_INSIDE.finditer(text))
    return tuple(name for name in names if name.casefold() not in by_word and name.casefold() not in _CALENDAR)


def meant_persons(text: str, *, asker: str | None, addressee: str | None) -> tuple[str, ...]:
    """Return the labels that "I" and "you" stand for in `text`, of those that are known."""
    question = _POLITE.sub(" ", " ".join(text.casefold().replace("\u2019", "'").split()))
    words = set(_WORD.findall(question))
    persons: list[str] = []
    if asker is not None and words & _FIRST_PERSON:
        persons.append(asker)
    if addressee is not None and words & _SECOND_PERSON:
        persons.append(addressee)
    return tuple(persons)


def _nicknamed(word: str, folded: str, by_word: dict[str, frozenset[int]]) -> frozenset[int]:
    if len(word) < _SHORTEST_NICKNAME or not word[0].isupper() or len(by_word) > _MOST_NICKNAMED:
        return frozenset()
    meant = {number for name, numbers in by_word.items() if name.startswith(folded) for number in numbers}
    return frozenset(meant) if len(meant) == 1 else frozenset()
