"""Places, employers, schools and professions: whether a phrase is one, and where it ends."""

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.phrases import after_determiner, phrase_end, place_end, points_elsewhere

_LONGEST_TOWN = 3
_LONGEST_SCHOOL = 4


def is_place(finder: Finder, start: int, begin: int, end: int) -> bool:
    """Tell whether a phrase can be somewhere one lives: a name, or a dwelling; "fear" and "the moment" are not."""
    words = finder.words
    if any(words.low[at] in lexicon.UNREAL_PLACES for at in range(begin, end)) or points_elsewhere(words, begin, end):
        return False
    if any(words.capital(at) for at in range(begin, end)):
        return True
    determined = begin > start
    if determined:
        return any(words.low[at] in lexicon.DWELLINGS for at in range(begin, end)) and any(
            words.low[at] in ("near", "outside", "of", "called") for at in range(begin, end)
        )
    return words.lower_case and end - begin <= _LONGEST_TOWN and words.low[begin].isalpha()


def workplace(finder: Finder, start: int, limit: int) -> str:
    """Return an employer that stands here, or nothing: a name, or a kind of place that employs people."""
    words = finder.words
    begin = after_determiner(words, start, limit)
    if begin >= limit or words.low[start] in (
        "my",
        "his",
        "her",
        "their",
        "your",
        "this",
        "that",
        "it",
        "me",
        "myself",
        "free",
        "home",
        "him",
        "us",
        "them",
    ):
        return ""
    at = begin
    if words.capital(at) or words.low[at][0].isdigit():
        while (
            at < limit
            and words.start[at] not in finder.time_starts
            and (
                words.capital(at)
                or words.low[at][0].isdigit()
                or (
                    words.low[at] in ("of", "and", "the", "de", "for")
                    and words.capital(at + 1)
                    and words.low[at + 1] != "i"
                )
            )
        ):
            at += 1
        return words.slice(begin, at)
    end = phrase_end(words, begin, limit, times=finder.time_starts)
    if end == begin:
        return ""
    if words.at(end - 1) in ("called", "named") or words.at(end) in ("called", "named"):
        return ""
    named_at = next((at for at in range(begin, end) if words.low[at] in ("called", "named")), 0)
    if named_at:
        stop = named_at + 1
        while stop < limit and (words.capital(stop) or (words.low[stop] == "and" and words.capital(stop + 1))):
            stop += 1
        return words.slice(named_at + 1, stop)
    pair = f"{words.at(end - 2)} {words.low[end - 1]}"
    known = words.low[end - 1] in lexicon.WORKPLACES or pair in lexicon.WORKPLACES
    if words.at(end - 1) in ("there", "here", "now"):
        return ""
    lower = (
        words.lower_case
        and begin == start
        and end - begin <= _SHORT
        and words.low[begin] not in lexicon.UNREAL_PLACES
        and words.low[begin] not in ("night", "nights", "scale", "least", "all", "times", "once", "speed")
    )
    return words.slice(begin, end) if known or lower else ""


def occupation(finder: Finder, clause: Clause, noun: int) -> bool:
    """Read "(a) software engineer (at Mozilla) (in Marseille)"; False when the noun is no profession."""
    words = finder.words
    end = phrase_end(words, noun, clause.end, times=finder.time_starts)
    if end == noun:
        return False
    dwelling = next((at for at in range(noun + 1, end) if words.low[at] in ("living", "based", "working")), end)
    if (
        dwelling < end
        and words.low[dwelling] != "working"
        and words.at(dwelling + 1) == "in"
        and not clause.past
        and not clause.negated
    ):
        place = place_at(finder, clause, dwelling + 2)
        if place:
            finder.add(clause, "lives_in", place, confidence=0.85)
    end = dwelling
    head = words.low[end - 1]
    pair = f"{words.at(end - 2)} {head}"
    plain = head in lexicon.OCCUPATIONS and not (head in lexicon.NOT_OCCUPATIONS and end - noun == 1)
    if not plain and pair not in lexicon.OCCUPATIONS:
        return False
    if (
        words.at(end) == "of"
        or points_elsewhere(words, noun, end)
        or words.low[noun] in ("good", "bad", "great", "terrible", "better", "natural", "born", "bit")
    ):
        return False
    if clause.negated and not clause.ends and not finder.any_more(clause):
        return True  # "I'm not a doctor" ends nothing
    over = clause.negated or clause.ends or (clause.past and not clause.perfect and clause.lemma == "be")
    when = finder.since(clause)
    finder.add(clause, "works_as", words.slice(noun, end), when=when, ends=over)
    if words.at(end) in ("at", "for", "with") and (place := workplace(finder, end + 1, clause.end)):
        finder.add(
            clause,
            "studies_at" if head in ("student", "undergraduate", "undergrad") else "works_at",
            place,
            when=when,
            ends=over,
        )
    return True


_SHORT = 2


def place_at(finder: Finder, clause: Clause, start: int) -> str:
    """Return the place that stands here, the town rather than the flat in it, or nothing."""
    words = finder.words
    end = place_end(words, start, clause.end, finder.time_starts)
    begin = after_determiner(words, start, clause.end)
    if end <= begin:
        return ""
    # "a studio flat in Bristol": the town says more than the flat.
    if words.low[end - 1] in lexicon.DWELLINGS and words.at(end) == "in":
        inner = place_end(words, end + 1, clause.end, finder.time_starts)
        if inner > end + 1 and is_place(finder, end + 1, after_determiner(words, end + 1, clause.end), inner):
            return words.slice(after_determiner(words, end + 1, clause.end), inner)
    return words.slice(begin, end) if is_place(finder, start, begin, end) else ""


def school_at(finder: Finder, start: int, limit: int) -> str:
    """Return a school by name: capitals, or a word for one."""
    words = finder.words
    begin = after_determiner(words, start, limit)
    at = begin
    while (
        at < limit
        and words.start[at] not in finder.time_starts
        and (
            words.capital(at)
            or (
                words.low[at] in ("of", "and", "the", "for", "de") and words.capital(at + 1) and words.at(at + 1) != "i"
            )
        )
    ):
        at += 1
    if at > begin:
        return words.slice(begin, at)
    end = phrase_end(words, begin, limit, times=finder.time_starts)
    if words.lower_case and end > begin and end - begin <= _LONGEST_SCHOOL and begin == start:
        return words.slice(begin, end)
    return ""
