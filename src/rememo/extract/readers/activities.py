"""Activities, skills, appointments and trips."""

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import Value
from rememo.extract.phrases import after_determiner, items, phrase_end, place_end, points_elsewhere
from rememo.text.wordlists import word_set

_SPORTIVE = word_set(
    "running swimming cycling jogging hiking climbing bouldering lifting meditating journaling knitting painting drawing baking",
    "gardening dancing boxing surfing skating rowing sewing smoking vaping drinking gambling volunteering biking skiing sailing",
    "fencing fasting crocheting woodworking birdwatching snowboarding skateboarding weightlifting kickboxing blogging",
    "composting babysitting commuting",
)
_NOUNS = word_set(
    "yoga pilates therapy pottery meditation judo karate crossfit ballet boxing salsa photography calligraphy ceramics archery",
    "counselling counseling physio physiotherapy kickboxing taekwondo jiu-jitsu bjj zumba spinning aerobics tai_chi origami chess",
    "woodworking weightlifting fasting intermittent_fasting journaling embroidery beekeeping",
)
_LED = {
    "going": ("to", "for", "on"),
    "doing": (),
    "working": ("out",),
    "waking": ("up",),
    "walking": ("to",),
    "seeing": ("a",),
    "taking": (),
}
"""Gerunds that say what is done only with the words after them."""
_LED_LENGTH = 3
_TAKEN = word_set("lessons classes walks naps baths breaks")
_DANGLING = word_set("again regularly more often completely altogether entirely")
_BRIEFLY = word_set("minute second moment sec bit while today")
_LINKS = frozenset({"to", "the", "a", "for", "in", "at", "on", "with", "up", "my", "of"})
_UNTAUGHT = word_set("be not live let accept do fix get feel make use say explain love deal cope")
_GENERAL = word_set("work sleep bed school it that this him her them you")


def activity(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read something one does again and again: "running", "going to the gym", "yoga"."""
    words = finder.words
    low = words.low
    word = low[at]
    end = phrase_end(words, at, clause.end, through=_LINKS, times=finder.time_starts)
    if end == at or not _BRIEFLY.isdisjoint(low[at:end]) or points_elsewhere(words, at, end):
        return []
    while end > at + 1 and low[end - 1] in _DANGLING:
        end -= 1
    if word == "drinking" and end > at + 1:
        return []
    if word in _NOUNS or word in _SPORTIVE:
        stop = at + 1 if word in _NOUNS or words.at(at + 1) in ("for", "to", "with", "again", "because") else end
        return [Value(text=words.slice(at, max(stop, at + 1)), end=end)]
    if word not in _LED or end == at + 1 or low[at + 1] in _GENERAL or low[end - 1] in _GENERAL:
        return []
    following = _LED[word]
    if following and low[at + 1] not in following and not (word == "going" and low[at + 1] in _SPORTIVE):
        return []
    if word == "taking" and (low[end - 1] not in _TAKEN or end - at < _LED_LENGTH):
        return []
    if word == "waking" and low[end - 1] not in ("early", "earlier"):
        return []
    if word == "doing" and _NOUNS.isdisjoint(low[at + 1 : end]) and lexicon.SPORTS.isdisjoint(low[at + 1 : end]):
        return []
    return [Value(text=words.slice(at, end), end=end)]


def hobby(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what was taken up or given up: any one noun or gerund."""
    words = finder.words
    end = phrase_end(words, at, clause.end, times=finder.time_starts)
    if not 0 < end - at <= 3 or words.low[at] in ("the", "my", "this", "your", "a", "too", "so"):  # noqa: PLR2004 - a name
        return []
    return [] if points_elsewhere(words, at, end) else [Value(text=words.slice(at, end), end=end)]


def skill(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a doing in its plain form: "sail", "play the ukulele"."""
    words = finder.words
    through = frozenset({"the", "a", "in", "on", "with"})
    end = phrase_end(words, at, clause.end, through=through, times=finder.time_starts)
    if end == at or words.low[at] in _UNTAUGHT:
        return []
    return [Value(text=words.slice(at, end), end=end)]


def appointment(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an appointment with whom it is: "a meeting with Karl"."""
    words = finder.words
    begin, end = next(items(words, at, clause.end, through=frozenset({"'s"}), times=finder.time_starts), (0, 0))
    if begin == end or words.low[end - 1] not in lexicon.APPOINTMENTS:
        return []
    stop = end
    if words.at(end) in ("with", "to", "at", "for", "in") and words.start[end] not in finder.time_starts:
        named = finder.reader.name_end(words, end + 1, clause.end)
        stop = named if named > end + 1 else end
    return [Value(text=words.slice(begin, stop), end=stop)]


_PREPOSITION = 5
"""Characters that "for " or "on " may take before a time."""


def coming(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "my exam (is) on the 20th": the thing itself is the appointment, and the time must follow at once."""
    words = finder.words
    thing = clause.subject.thing
    if lexicon.APPOINTMENTS.isdisjoint(thing.split()):
        return []
    at = min(at + (words.at(at) in ("scheduled", "booked", "set")), clause.end - 1)
    times = finder.times_of(clause, "future")
    if not times or times[0].position[0] > words.start[at] + _PREPOSITION:
        return []
    return [Value(text=_spelled(finder, clause), end=clause.end)]


def _spelled(finder: FactFinder, clause: Clause) -> str:
    """Return the thing a clause is about as it was written, without "my"."""
    after = clause.subject.after
    count = len(clause.subject.thing.split())
    return finder.words.slice(after - count, after)


def off(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what is cancelled: an appointment or a trip."""
    words = finder.words
    if words.at(at) not in ("my", "our", "the"):
        return []
    through = frozenset({"with", "to", "in", "at"})
    end = phrase_end(words, at + 1, clause.end, through=through, times=finder.time_starts)
    end = words.find(("off",), at + 2, end)
    named, text = words.low[at + 1 : end], words.slice(at + 1, end)
    if {"trip", "flight", "holiday", "vacation", "visit"}.isdisjoint(named):
        return [] if lexicon.APPOINTMENTS.isdisjoint(named) else [Value(text=text, end=end)]
    return [Value(text=text, end=end, predicate="plans")]


def planned(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "(be) in London": where one will be."""
    words = finder.words
    end = place_end(words, at, clause.end, finder.time_starts)
    if end <= at or not words.capital(at) or words.start[at] in finder.time_starts or words.at(end) == "as":
        return []  # who is "at Helvia as an engineer" works there
    return [Value(text=f"be {words.slice(at - 1, end)}", end=end)]


def trip(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "a trip to Vienna"."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    noun = next((index for index in range(begin, min(begin + 3, clause.end)) if words.low[index] in _TRIPS), None)
    if noun is None or words.at(noun + 1) not in ("to", "in"):
        return []
    if clause.lemma == "have" and words.low[noun] in lexicon.APPOINTMENTS:
        return []
    end = place_end(words, noun + 2, clause.end, finder.time_starts)
    if end <= noun + 2 or not words.capital(after_determiner(words, noun + 2, end)):
        return []
    return [Value(text=words.slice(begin, end), end=end)]


_TRIPS = word_set("holiday vacation weekend getaway visit honeymoon trip flight flights tickets train cruise")


def off_itself(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what the clause is about as something that is cancelled: "my meeting with Karl is off"."""
    named = clause.subject.thing.split()
    if not {"trip", "flight", "holiday", "vacation", "visit"}.isdisjoint(named):
        return [Value(text=_spelled(finder, clause), end=at, predicate="plans")]
    return [] if lexicon.APPOINTMENTS.isdisjoint(named) else [Value(text=_spelled(finder, clause), end=at)]


def gone_to(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read where somebody no longer goes: "to the gym"; the habit is the going."""
    words = finder.words
    end = phrase_end(words, at + 1, clause.end, through=_LINKS, times=finder.time_starts)
    if words.low[at] != "to" or end - at < 2 or words.low[end - 1] in _GENERAL:  # noqa: PLR2004 - "to" and where
        return []
    if clause.progressive:
        return [Value(text=f"going {words.slice(at, end)}", end=end, predicate="plans")]
    return [Value(text=f"go {words.slice(at, end)}", end=end)]


def off_to(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read where one is off to."""
    words = finder.words
    end = place_end(words, at, clause.end, finder.time_starts)
    if end <= at or not words.capital(at):
        return []
    return [Value(text=f"off to {words.slice(at, end)}", end=end)]


def moved(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the appointment that a clause puts to another time: what was said of it before is no longer so."""
    if lexicon.APPOINTMENTS.isdisjoint(clause.subject.thing.split()):
        return []
    return [Value(text=_spelled(finder, clause), end=at, corrects=True)]


def moved_object(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the appointment that somebody puts to another time: "we postponed the wedding"."""
    words = finder.words
    if words.at(at) not in ("my", "our", "the"):
        return []
    end = phrase_end(words, at + 1, clause.end, times=finder.time_starts)
    if end == at + 1 or words.low[end - 1] not in lexicon.APPOINTMENTS:
        return []
    return [Value(text=words.slice(at + 1, end), end=end, corrects=True)]


def verb_itself(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the verb as what is done: "I don't run anymore"."""
    return [Value(text=clause.lemma, end=at)] if finder.words.low[clause.verb_at] else []
