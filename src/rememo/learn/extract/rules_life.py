"""Journeys and turns of life: visits, weddings, partings, deaths, ages reached, what one got."""

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.lexicon import AGES
from rememo.learn.extract.phrases import items, place_end
from rememo.learn.extract.places import school_at
from rememo.learn.extract.rules_having import acquiring, having
from rememo.learn.extract.rules_tastes import dieting
from rememo.learn.extract.rules_work import promoted, starting
from rememo.learn.extract.wordlists import word_set

_SCHOOL = word_set("university college school elementary academy uni high institute kindergarten preschool")


_OLDEST = 120


def going(finder: Finder, clause: Clause) -> bool:
    """Read "went to Vietnam in 2018", "visited Prague", "have been to Peru and Bolivia"."""
    words = finder.words
    if clause.lemma == "go" and dieting(finder, clause):
        return True
    if clause.lemma == "go" and not (
        clause.past or clause.perfect or clause.negated or clause.modal or clause.going_to
    ):
        return _schooling(finder, clause)
    if (
        clause.modal
        or clause.negated
        or clause.progressive
        or clause.going_to
        or clause.used_to
        or not (clause.past or clause.perfect)
    ):
        return False
    at = clause.rest
    if clause.lemma != "visit":
        while words.at(at) in (
            "back",
            "over",
            "down",
            "up",
            "on",
            "a",
            "trip",
            "holiday",
            "vacation",
            "twice",
            "once",
            "all",
            "around",
            "only",
            "already",
        ):
            at += 1
        if words.at(at) != "to":
            return False
        at += 1
    before = len(finder.facts)
    times = [time for time in finder.times_of(clause, "past") if not time.recurring and time.start <= finder.at]
    when = (
        (
            times[0].moment if times[0].direction != "before" else None,
            times[0].end if times[0].direction == "in" else None,
        )
        if times
        else (None, None)
    )
    while at < clause.end:
        end = place_end(words, at, clause.end, finder.time_starts)
        begin = at + 1 if words.at(at) == "the" else at
        if (
            end <= begin
            or not words.capital(begin)
            or words.low[begin] in lexicon.EVERYDAY_PLACES
            or words.low[begin] == "i"
        ):
            break
        finder.add(clause, "visited", words.slice(begin, end), when=when, confidence=0.85)
        if words.at(end) not in (",", "and") or not words.capital(end + 1):
            break
        at = end + 1
        if words.at(at) == "and":
            at += 1
    return len(finder.facts) > before


def _schooling(finder: Finder, clause: Clause) -> bool:
    """Read "goes to Lincoln High School"; "go to Rome" is no school."""
    words = finder.words
    if words.at(clause.rest) != "to" or (clause.progressive and finder.times_of(clause, "future")):
        return False
    school = school_at(finder, clause.rest + 1, clause.end)
    if not school or not any(word in _SCHOOL for word in school.lower().split()):
        return False
    finder.add(clause, "studies_at", school, ends=clause.ends)
    return True


def dating(finder: Finder, clause: Clause) -> bool:
    """Read "I'm dating Luis"."""
    words = finder.words
    start = clause.rest
    if words.at(start) in ("a", "this") and words.at(start + 2) in ("called", "named"):
        start += 3
    end = finder.reader.name_end(words, start, clause.end)
    if (
        end == start
        or clause.negated
        or clause.modal
        or not (clause.progressive or clause.ends)
        or not clause.subject.speaker
    ):
        return False
    finder.add(clause, "partner", words.slice(start, end), when=finder.since(clause))
    return True


def parting(finder: Finder, clause: Clause) -> bool:
    """Read "broke up with Tom": a partner no longer."""
    words = finder.words
    if (
        words.at(clause.rest) != "up"
        or words.at(clause.rest + 1) != "with"
        or not clause.past
        or clause.negated
        or clause.modal
    ):
        return False
    end = finder.reader.name_end(words, clause.rest + 2, clause.end)
    if end == clause.rest + 2:
        return False
    finder.add(clause, "partner", words.slice(clause.rest + 2, end), when=finder.since(clause, change=True), ends=True)
    return True


def getting(finder: Finder, clause: Clause) -> bool:
    """Read "got married", "got a dog", "got promoted to", "got a job at", "got engaged to"."""
    words = finder.words
    word = words.at(clause.rest)
    if clause.modal or clause.negated or clause.progressive or not (clause.past or clause.perfect):
        return False
    if word in ("married", "divorced", "engaged"):
        return wedding(finder, clause, clause.rest, word)
    if word in ("promoted", "hired", "fired", "laid"):
        return promoted(finder, clause, clause.rest)
    if word == "diagnosed" and words.at(clause.rest + 1) == "with":
        for begin, end in items(words, clause.rest + 2, clause.end, times=finder.time_starts):
            finder.add(clause, "has_condition", words.slice(begin, end), when=finder.since(clause, change=True))
        return True
    if clause.perfect and words.low[clause.verb_at] == "got":
        return starting(finder, clause) or having(finder, clause)
    return starting(finder, clause) or acquiring(finder, clause)


def wedding(finder: Finder, clause: Clause, at: int, word: str) -> bool:
    """Read "(got) married (to Tom) in 2010", "Tom and I got married"."""
    words = finder.words
    when = finder.since(clause, change=True)
    link = words.at(at + 1)
    if link == "to" and (end := finder.reader.name_end(words, at + 2, clause.end)) > at + 2:
        finder.add(clause, "fiance" if word == "engaged" else "married_to", words.slice(at + 2, end), when=when)
        return True
    if link == "to":
        return False
    if clause.subject.names and clause.subject.speaker and word != "divorced":
        finder.add(clause, "fiance" if word == "engaged" else "married_to", clause.subject.names[0], when=when)
        return True
    if clause.subject.name:
        finder.add(clause, "marital_status", word, when=when)
        return True
    return False


def marrying(finder: Finder, clause: Clause) -> bool:
    """Read "I married Tom in 2010"."""
    words = finder.words
    if clause.modal or clause.negated or clause.progressive or not (clause.past or clause.perfect or clause.passive):
        return False
    if clause.passive:
        return wedding(finder, clause, clause.verb_at, "married") if not clause.past else False
    end = finder.reader.name_end(words, clause.rest, clause.end)
    if end == clause.rest:
        return False
    finder.add(clause, "married_to", words.slice(clause.rest, end), when=finder.since(clause, change=True))
    return True


def dying(finder: Finder, clause: Clause) -> bool:
    """Read "my father passed away in 2017", "our dog died last week"."""
    words = finder.words
    if (
        (not clause.past and not clause.perfect)
        or clause.subject.speaker
        or clause.negated
        or clause.modal
        or clause.progressive
    ):
        return False
    if clause.lemma == "pass" and words.at(clause.rest) != "away":
        return False
    if not clause.subject.name.startswith(f"{finder.speaker}'s ") and not clause.subject.known:
        return False
    times = [time for time in finder.times_of(clause, "past") if time.direction == "in"]
    when = (times[0].moment, times[0].end) if times else (None, None)
    finder.add(clause, "event", "passed away" if clause.lemma == "pass" else "died", when=when)
    return True


def turning(finder: Finder, clause: Clause) -> bool:
    """Read "turned 50 last month"."""
    words = finder.words
    number = AGES.get(words.at(clause.rest), words.at(clause.rest))
    if (
        clause.modal
        or clause.negated
        or not (clause.past or clause.perfect)
        or not number.isdecimal()
        or not 0 < int(number[:4]) < _OLDEST
    ):
        return False
    if (
        words.at(clause.rest + 1) not in ("", ".", ",", "!", "and", "years")
        and clause.rest + 1 < clause.end
        and words.start[clause.rest + 1] not in finder.time_starts
    ):
        return False
    finder.add(clause, "age", number)
    return True
