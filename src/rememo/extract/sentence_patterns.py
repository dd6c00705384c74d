"""Patterns over a whole sentence, whose verb is not the speaker's: "everyone calls me Bea", "green is my favourite colour"."""

from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.phrases import after_determiner, phrase_end, points_elsewhere
from rememo.extract.predicates import favourite
from rememo.extract.readers.numbers import EMAIL, PHONE
from rememo.extract.readers.places import street
from rememo.extract.readers.tastes import diet, dose
from rememo.extract.readers.things import name_end
from rememo.extract.readers.work import role
from rememo.text.wordlists import word_set

_AFTER = word_set(". , ! and but - ) ; for these now")
_BEFORE = word_set("and but because so that think guess say")
_NOT_FAVOURITES = word_set("part one thing bit way option moment")
_DESCRIBING = word_set("new own small little old coffee food online")
_LONGEST_NAME = 2
_NAMED = word_set(
    "podcast blog band company startup shop store bakery cafe restaurant newsletter channel boat app studio agency brand label farm",
    "business bookshop bookstore gallery brewery bar pub salon truck magazine nonprofit charity",
)
"""Things whose name often follows at once: "my podcast, Late Bloomers,"."""
_LONGEST_FAVOURITE = 4


def read_nicknames(finder: FactFinder, limit: int) -> None:
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


def read_favourites(finder: FactFinder, limit: int) -> None:
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
        noun = " ".join(low[at + 3 : end])
        named = 0 < at - begin <= _LONGEST_FAVOURITE and not points_elsewhere(words, begin, at)
        if named and noun and low[at + 3] not in _NOT_FAVOURITES:
            clause = Clause(words, start, finder.own_subject(at), at, "be", "base", at + 1, end)
            finder.add(clause, favourite(noun), words.slice(begin, at))
        return


def read_named_things(finder: FactFinder, limit: int) -> None:
    """Read "my podcast, Late Bloomers, …" and "the name of my bakery is Flour Power"."""
    words = finder.words
    low = words.low
    for at in range(1, limit - 1):
        owned = low[at - 1] in ("my", "our") or (low[at - 1] in _DESCRIBING and words.at(at - 2) in ("my", "our"))
        if low[at] not in _NAMED or words.capital(at) or not owned:
            continue
        named = low[max(at - 4, 0) : at - 1] == ["the", "name", "of"] and low[at + 1] in ("is", "'s")
        begin = at + 1 + (named or low[at + 1] == ",")
        end = name_end(finder, begin, limit)
        apposed = low[at + 1] != "," or words.at(end) in (",", ".", "")
        if end > begin and (named or apposed) and begin < limit and words.capital(begin):
            clause = Clause(words, at - 1, finder.own_subject(at), at, "be", "base", begin, end)
            finder.add(clause, "name", words.slice(begin, end), subject=f"{finder.speaker}'s {low[at]}", confidence=0.8)


def read_contacts(finder: FactFinder, limit: int) -> None:
    """Read "new number: 555-0199" and "use my new address: 7 Pine Road", whatever stands in front."""
    words = finder.words
    if "use" in words.low and "@" in words.low and not {"instead", "now"}.isdisjoint(words.low):
        match = EMAIL.search(finder.text, words.start[words.low.index("use")], words.end[limit - 1])
        if match:
            finder.add(
                Clause(words, 0, finder.own_subject(0), 0, "use", "base", 0, limit),
                "email",
                match.group(),
                confidence=0.85,
            )
    if not _CONTACTING.isdisjoint(words.low):
        _read_ways(finder, limit)
    if "new" not in words.low:
        return
    for at in range(limit - 2):
        if words.low[at] != "new":
            continue
        noun = words.find(_CONTACTS, at + 1, min(at + 4, limit))
        if noun >= limit - 2 or words.low[noun] not in _CONTACTS or words.low[noun + 1] != ":":
            continue
        clause = Clause(words, at, finder.own_subject(at), at, "be", "base", noun + 2, limit)
        predicate, pattern = _CONTACTS[words.low[noun]]
        if pattern is not None and (match := pattern.search(finder.text, words.start[noun], words.end[limit - 1])):
            finder.add(clause, predicate, match.group(), confidence=0.85)
        elif pattern is None:
            for value in street(finder, clause, noun + 2):
                finder.add(clause, predicate, value.text, confidence=0.85)


_REACHING = word_set("reach call text ring phone email mail message")
_SENDING = word_set("parcels parcel deliveries delivery deliver post letters mail packages ship")


_CONTACTING = _SENDING | {"me", "reached"}


def _read_ways(finder: FactFinder, limit: int) -> None:
    """Read where the speaker is reached, and where parcels go."""
    words = finder.words
    for at in range(limit - 2):
        by_me = words.low[at] == "me" and (words.at(at - 1) in _REACHING or words.at(at - 1) == "to")
        if (by_me or (words.low[at] == "reached" and at <= 1)) and words.low[at + 1] in ("at", "on", "under", "via"):
            _read_reachable(finder, at, limit)
        if words.low[at] == "to" and not _SENDING.isdisjoint(words.low[max(at - 3, 0) : at]):
            clause = Clause(words, max(at - 1, 0), finder.own_subject(at), at, "send", "base", at + 1, limit)
            for value in street(finder, clause, at + 1):
                finder.add(clause, "address", value.text, confidence=0.8)


def _read_reachable(finder: FactFinder, at: int, limit: int) -> None:
    """Read "reach me at …", "you can write to me at …"."""
    words = finder.words
    if words.low[at - 1] == "to" and words.at(at - 2) not in ("write", "mail", "text", "reply"):
        return
    if words.at(at - 2) in ("n't", "not", "never") or words.at(at - 3) in ("n't", "not", "never"):
        return
    begin = max(at - 1, 0)
    clause = Clause(words, begin, finder.own_subject(at), at, "reach", "base", at + 2, limit)
    start = words.start[min(at + 2, limit - 1)]
    for predicate, pattern in (("email", EMAIL), ("phone", PHONE)):
        if match := pattern.match(finder.text, start, words.end[limit - 1]):
            finder.add(clause, predicate, match.group(), confidence=0.85)
            return


def read_prescriptions(finder: FactFinder, limit: int) -> None:
    """Read "Dr Ames has put me on losartan", whoever did it."""
    words = finder.words
    if "me" not in words.low:
        return
    for at in range(1, limit - 2):
        if words.low[at] == "me" and words.low[at + 1] == "on" and words.low[at - 1] in ("put", "started", "got"):
            clause = Clause(words, at - 1, finder.own_subject(at), at, "take", "past", at + 2, limit)
            for value in dose(finder, clause, at + 2):
                finder.add(clause, "takes_medication", value.text, confidence=0.85)


_CONTACTS = {
    "number": ("phone", PHONE),
    "email": ("email", EMAIL),
    "mail": ("email", EMAIL),
    "address": ("address", None),
}


def read_last_day(finder: FactFinder, limit: int) -> None:
    """Read "today was my last day at IKEA": when it is, the job is over."""
    words = finder.words
    for at in range(limit - 4):
        if (
            words.low[at + 1 : at + 3] != ["last", "day"]
            or words.low[at] not in ("my", "his", "her")
            or words.low[at + 3] not in ("at", "with")
        ):
            continue
        end = name_end(finder, at + 4, limit)
        if words.low[at] == "my" and end > at + 4:
            clause = Clause(words, 0, finder.own_subject(at), at, "be", "base", at, limit)
            finder.add(
                clause, "works_at", words.slice(at + 4, end), when=finder.coming(clause) or (None, None), ends=True
            )


def read_as(finder: FactFinder, limit: int) -> None:
    """Read "As a vegetarian, I …": what one speaks as."""
    words = finder.words
    if words.at(0) != "as" or words.at(1) not in ("a", "an"):
        return
    end = words.find((",", "i", "my", "we"), 2, limit)
    if words.at(end + (words.at(end) == ",")) not in ("i", "my", "we"):
        return  # "As a chat assistant, you …"
    clause = Clause(words, 0, finder.own_subject(1), 1, "be", "base", 2, end)
    for predicate, reader in (("diet", diet), ("works_as", role)):
        for value in reader(finder, clause, 2):
            if value.end == end:
                finder.add(clause, predicate, value.text, confidence=0.8)


READINGS = (
    read_as, read_favourites, read_nicknames, read_named_things, read_contacts, read_last_day, read_prescriptions,
)  # fmt: skip
"""All of them; each is given the sentence at hand and how many of its words are asserted."""
