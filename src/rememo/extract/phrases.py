"""Reading objects: where a noun phrase ends, and how a list of them is taken apart."""

from collections.abc import Iterator

from rememo.extract.tokens import Words
from rememo.text.wordlists import word_set

_STOPS = word_set(
    "because since when while so but although though which who whom that where if unless until as than then now",
    "due obtained too also either completely totally entirely altogether lol haha tho tbh imo imho ngl rn lmao xd omg idk anyway anymore again instead together",
    "currently these btw right not yet please thanks honestly actually lately recently already before after",
    "during every each at with for on from by to about like more most very is are was were am be been has have",
    "ages had do does did will would can could should might i we he she they it you",
)
_SIGNS = frozenset(',;:-()[]{}!?.…/"')
_DETERMINERS = word_set("a an the my our some any his her their")
_QUANTIFIERS = word_set("bit little lot lots all kinds sort sorts of")
_POINTING = word_set(
    "it this that these those them him her me you us what how when where why who whom which one ones everything",
    "theirs mine yours ours hers nothing something anything everyone here there myself yourself your his their its my our both either neither",
)
_EMPTY = word_set(
    "idea ideas thing things way part option version sound look fact suggestion suggestions one stuff point"
)
_LONGEST = 8


def phrase_end(
    words: Words, first: int, limit: int, *, through: frozenset[str] = frozenset(), times: frozenset[int] = frozenset()
) -> int:
    """Return the word after the noun phrase that begins here. ``through`` are words it may contain; it stops before a time."""
    at = first
    while at < limit and at - first < _LONGEST:
        word = words.low[at]
        if words.start[at] in times or (word[0].isdigit() and ":" in word):
            break
        if word in through and at > first:
            at += 1
            continue
        if (
            word in _SIGNS
            or (word in ("any", "a") and words.at(at + 1) in ("more", "lot", "bit"))
            or word in ("and", "or")
            or word in _STOPS
            or word == "in"
            or (word in ("n't", "'s", "'m", "'re") and word != "'s")
        ):
            break
        if word == "'s" and not (at + 1 < limit and words.low[at + 1].isalpha()):
            break
        at += 1
    while at > first and words.low[at - 1] in ("just", "really", "quite", "of", "not", "the", "a", "in", "near"):
        at -= 1
    return at


def items(
    words: Words, first: int, limit: int, *, through: frozenset[str] = frozenset(), times: frozenset[int] = frozenset()
) -> Iterator[tuple[int, int]]:
    """Yield the parts of a list: "French, German and a bit of Spanish". A part after "and" that is a new clause ends it."""
    at = first
    while at < limit:
        start = after_determiner(words, at, limit)
        end = phrase_end(words, start, limit, through=through, times=times)
        if end == start:
            return
        yield start, end
        joined = end
        while joined < limit and words.low[joined] in (",", "and", "or", "plus", "also", "as", "well"):
            joined += 1
        if joined == end or joined >= limit:
            return
        at = joined


def after_determiner(words: Words, index: int, limit: int) -> int:
    """Skip "a", "the", "a bit of", "all kinds of", adverbs of degree."""
    at = index
    while at < limit and (
        words.low[at] in _DETERMINERS
        or words.low[at]
        in ("really", "quite", "such", "very", "pretty", "just", "especially", "particularly", "mostly", "mainly")
    ):
        at += 1
    if at < limit and words.low[at] in _QUANTIFIERS:
        mark = at
        while mark < limit and words.low[mark] in _QUANTIFIERS:
            mark += 1
        if words.low[mark - 1] == "of":
            at = mark
    return at


def points_elsewhere(words: Words, first: int, end: int) -> bool:
    """Tell whether a phrase only points at something in the conversation: "it", "that idea", "the second option"."""
    return words.low[first] in _POINTING or words.low[end - 1] in _EMPTY or words.low[end - 1] in _POINTING


def place_end(words: Words, first: int, limit: int, times: frozenset[int]) -> int:
    """Return the word after a place: "Austin, Texas", "the Netherlands", "a village near Graz"."""
    start = after_determiner(words, first, limit)
    at = start
    if at < limit and words.capital(at) and words.start[at] not in times:
        while (
            at < limit
            and words.start[at] not in times
            and (
                words.capital(at)
                or (
                    words.low[at] in ("de", "of", "la", "le", "am", "upon", "on", "the", "do", "del")
                    and words.capital(at + 1)
                )
            )
        ):
            at += 1
        if words.at(at) == "," and words.capital(at + 1) and words.at(at + 1) not in ("i", "my", "and", "but"):
            end = at + 2
            while end < limit and words.capital(end) and words.low[end] != "i":
                end += 1
            at = end if words.at(end) in _AFTER_PLACE else at
        return at
    return phrase_end(words, start, limit, through=frozenset({"near", "outside", "of"}), times=times)


_AFTER_PLACE = frozenset(("", ",", ".", "!", "and", "but", ";", "with", "since", "now", "for"))


def normal_case(words: Words, first: int, end: int) -> bool:
    """Tell whether some word of the phrase has a capital, or the sentence has none anyway."""
    return words.lower_case or any(words.capital(at) for at in range(first, end))


_CLOSING = word_set(
    ", . ! ; - ) and but so because for since now too btw anymore lol these by ( as at with any or not again who"
)


def closes(words: Words, index: int, limit: int, times: frozenset[int]) -> bool:
    """Tell whether the complement is complete here, so that "a vegan restaurant" is no diet."""
    return index >= limit or words.start[index] in times or words.low[index] in _CLOSING


def joined(words: Words, index: int, limit: int) -> int:
    """Return the word after the next comma or "and" from here on, or ``limit``."""
    at = index
    while at < limit and words.low[at] not in (",", "and", "but"):
        at += 1
    while at < limit and words.low[at] in (",", "and", "but", "also", "now", "currently"):
        at += 1
    return at
