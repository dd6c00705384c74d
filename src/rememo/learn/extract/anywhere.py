"""Statements whose verb is not the speaker's, read wherever they stand: "everyone calls me Bea", "green is my favourite colour"."""

from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.phrases import after_determiner, phrase_end, points_elsewhere
from rememo.learn.extract.wordlists import word_set
from rememo.learn.predicates import favourite

_AFTER = word_set(". , ! and but - ) ; for")
_BEFORE = word_set("and but because so that think guess say")
_NOT_FAVOURITES = word_set("part one thing bit way option moment")
_LONGEST_NAME = 2
_LONGEST_FAVOURITE = 4


def read_nicknames(finder: Finder, limit: int) -> None:
    """Read "(you can) call me Bea", "everyone calls me Bea", "I go by Bea"."""
    words = finder.words
    low = words.low
    for at in range(limit - 2):
        called = low[at] in ("call", "calls") and low[at + 1] == "me"
        if not called and not (low[at] == "go" and low[at + 1] == "by" and words.at(at - 1) == "i"):
            continue
        if words.at(at - 1) in ("n't", "not", "never") or words.at(at - 2) in ("n't", "not", "if"):
            continue
        end = finder.reader.name_end(words, at + 2, limit)
        if at + 2 < end <= at + 2 + _LONGEST_NAME and (end >= limit or low[end] in _AFTER):
            clause = Clause(words, max(at - 1, 0), finder.own_subject(at), at, "call", "base", at + 2, end)
            finder.add(clause, "nickname", words.slice(at + 2, end), confidence=0.85)


def read_favourites(finder: Finder, limit: int) -> None:
    """Read "green is my favourite colour", whatever stands in front."""
    words = finder.words
    low = words.low
    for at in range(1, limit - 3):
        if low[at] not in ("is", "'s", "are") or low[at + 1] not in ("my", "our") or low[at + 2] != "favourite":
            continue
        start = at
        while start > 0 and low[start - 1].isalpha() and low[start - 1] not in _BEFORE:
            start -= 1
        begin = after_determiner(words, start, at)
        end = phrase_end(words, at + 3, limit, times=finder.time_starts)
        thing = " ".join(low[at + 3 : end])
        named = 0 < at - begin <= _LONGEST_FAVOURITE and not points_elsewhere(words, begin, at)
        if named and thing and low[at + 3] not in _NOT_FAVOURITES:
            clause = Clause(words, start, finder.own_subject(at), at, "be", "base", at + 1, end)
            finder.add(clause, favourite(thing), words.slice(begin, at))
        return
