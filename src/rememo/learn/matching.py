"""Whether two wordings name the same thing: "go to the gym" and "going to the gym on Mondays". All texts in lower case."""

from functools import lru_cache

_SHORTEST_STEM = 2
_FILLING = frozenset("a an the my our your his her to of on in at for with every and".split())  # noqa: SIM905 - prose
"""Words that tell nothing apart."""
_DESCRIBING = frozenset("new old trip flight fly flying going go big little small".split())  # noqa: SIM905 - prose
"""Words that need not be said again: my old car is my car, the flight to Rome is the trip to Rome."""
_DOINGS = frozenset({"habit", "plans", "appointment", "owns", "event"})
"""Predicates whose values are known by their first word, too: "go to the gym on Mondays", "Volvo V70"."""


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word.removesuffix(ending)
            return word[:-1] if word[-1:] == word[-2:-1] and ending in ("ing", "ed") else word.removesuffix("e")
    return word


@lru_cache(16_384)
def _content(object: str) -> tuple[str, ...]:
    words = tuple(_stem(word) for word in object.split() if word not in _FILLING)
    return words or tuple(object.split())


def _named(object: str) -> tuple[str, ...]:
    words = " ".join(word for word in object.split() if word not in _DESCRIBING)
    return _content(words or object)


def is_same(object: str, other: str) -> bool:
    """Tell whether two objects, as objects are compared, are the same but for their endings: "smoking" and "smoke"."""
    return object == other or _content(object) == _content(other)


def covers(ended: str, object: str, predicate: str) -> bool:
    """Tell whether what is over takes in a value: no more meat is no more red meat, no more gym is no more gym on Mondays."""
    ended_words, object_words = _named(ended), _named(object)
    headed = ended_words[-1] == object_words[-1] or (predicate in _DOINGS and ended_words[0] == object_words[0])
    return headed and set(ended_words) <= set(object_words)
