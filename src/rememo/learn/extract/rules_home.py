"""Home and origin: where somebody lives, was born and grew up, and that they moved."""

from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.phrases import after_determiner, place_end
from rememo.learn.extract.places import is_place, place_at

_IN = frozenset({"in", "near", "outside", "around"})
_FAR = 5


def living(finder: Finder, clause: Clause) -> bool:
    """Read "live in", "lived in … until", "living with my parents in Leeds"."""
    words = finder.words
    if clause.modal or clause.adverbs & {"almost", "practically", "basically", "literally"}:
        return False
    at = clause.rest
    while at < clause.end and words.low[at] not in _IN and words.low[at] not in (",", "and", "for"):
        at += 1
    if at >= clause.end or words.low[at] not in _IN or at - clause.rest > _FAR:
        return False
    if words.start[at] in finder.time_starts:
        return False
    begun, ended = finder.since(clause)
    over = clause.ends or clause.negated
    if clause.past and not clause.perfect and not clause.used_to and begun is None:
        over = True
    place = place_at(finder, clause, at + 1)
    if not place:
        return False
    finder.add(clause, "lives_in", place, when=(begun, ended), ends=over)
    return True


def moving(finder: Finder, clause: Clause) -> bool:
    """Read "moved (from Hamburg) to Vienna", "relocated to", "moved out of Brooklyn", "settled in"."""
    words = finder.words
    if (
        clause.modal
        or clause.negated
        or clause.progressive
        or clause.going_to
        or clause.used_to
        or not (clause.past or clause.perfect)
    ):
        return False
    if clause.adverbs & {"almost", "nearly"}:
        return False
    low = words.low
    when = finder.since(clause, change=True)
    at = clause.rest
    if low[at : at + 2] == ["out", "of"]:
        place = place_at(finder, clause, at + 2)
        if place and any(words.capital(index) for index in range(at + 2, clause.end)):
            finder.add(clause, "lives_in", place, when=when, ends=True)
            return True
        return False
    if words.at(at) == "from":
        end = place_end(words, at + 1, clause.end, finder.time_starts)
        if words.at(end) == "to" and end > at + 1:
            finder.add(clause, "lives_in", words.slice(after_determiner(words, at + 1, end), end), ends=True, when=when)
            at = end
    while words.at(at) in ("back", "over", "up", "down", "out", "away", "house"):
        at += 1
    link = words.at(at)
    if link not in ("to", "into") and not (clause.lemma == "settle" and link == "in"):
        return False
    place = place_at(finder, clause, at + 1)
    if not place:
        return False
    finder.add(clause, "lives_in", place, when=when, ends=False)
    return True


def born(finder: Finder, clause: Clause) -> bool:
    """Read "was born in Lagos", "was born on 12 October 1990", "raised in", "grew up in"."""
    words = finder.words
    if clause.negated or clause.modal:
        return False
    at = clause.rest
    times = [time for time in finder.times_of(clause, "past") if time.direction == "in"]
    before = len(finder.facts)
    for time in times:
        if time.precision == "day" and any(sign.isdigit() for sign in time.text) and time.start < finder.at:
            finder.add(clause, "birthday", time.text.removeprefix("on ").removeprefix("in "))
        elif time.precision == "year" and time.text.lower().startswith("in ") and time.start.year < finder.at.year:
            finder.add(clause, "birth_year", time.text.split()[-1], confidence=0.85)
    starts = finder.time_starts
    if words.at(at) == "and" and words.at(at + 1) in ("raised", "bred"):
        at += 2
    raised_too = at > clause.rest
    if at < clause.end and words.start[at] in starts:
        at = next(
            (index for index in range(at, clause.end) if words.low[index] == "in" and words.start[index] not in starts),
            at,
        )
    if words.at(at) in ("in", "near") and words.start[at] not in starts:
        place = place_at(finder, clause, at + 1)
        if place:
            finder.add(clause, "born_in", place)
            if raised_too:
                finder.add(clause, "grew_up_in", place)
            _raised_elsewhere(finder, clause, at)
    return len(finder.facts) > before


def _raised_elsewhere(finder: Finder, clause: Clause, start: int) -> None:
    words = finder.words
    for at in range(start, clause.end - 2):
        if words.low[at] in ("raised", "bred") and words.low[at + 1] == "in":
            place = place_at(finder, clause, at + 2)
            if place:
                finder.add(clause, "grew_up_in", place)


def growing(finder: Finder, clause: Clause) -> bool:
    """Read "grew up in a small town near Cork", "was raised in"."""
    words = finder.words
    if clause.modal or clause.negated or not clause.past:
        return False
    at = clause.rest
    if clause.lemma == "grow":
        if words.at(at) != "up":
            return False
        at += 1
    if words.at(at) not in ("in", "near", "on", "outside"):
        return False
    place = place_at(finder, clause, at + 1)
    if place:
        finder.add(clause, "grew_up_in", place)
    return bool(place)


def coming(finder: Finder, clause: Clause) -> bool:
    """Read "come from Slovenia"."""
    words = finder.words
    if clause.modal or clause.negated or clause.past or clause.progressive or words.at(clause.rest) != "from":
        return False
    begin = after_determiner(words, clause.rest + 1, clause.end)
    end = place_end(words, clause.rest + 1, clause.end, finder.time_starts)
    if end <= begin or not is_place(finder, clause.rest + 1, begin, end):
        return False
    finder.add(clause, "from", words.slice(begin, end))
    return True
