"""Employers, professions, schools and what is studied there."""

from dataclasses import replace
from datetime import timedelta

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.names import GIVEN_NAMES
from rememo.extract.pattern_row import Value
from rememo.extract.phrases import after_determiner, closes, items, phrase_end, points_elsewhere
from rememo.extract.predicates import EVERY
from rememo.extract.tokens import Words
from rememo.text.wordlists import word_set

_LINKING = word_set("of and the de for")
_NOT_EMPLOYERS = word_set("my his her their your this that it me myself free home him us them")
_NOT_NAMED_EMPLOYERS = word_set(
    "facebook_group discord twitter reddit tinder slack whatsapp tiktok snapchat telegram zoom i instagram facebook"
)
_NOT_WORDS = word_set("night nights scale least all times once speed there here now")
_LONGEST_SCHOOL = 4
_LONGEST_SUBJECT = 3
_SHORT = 2
_DEGREES = word_set(
    "degree bachelor bachelor's master master's masters phd doctorate mba diploma bsc msc ba ma llb bachelors"
)
_COURSES = _DEGREES | word_set("course apprenticeship postdoc") - {"diploma", "llb"}
_PRAISE = word_set("good bad great terrible better natural born bit big huge")
_RANKS = word_set(
    "senior junior head lead chief vice deputy assistant principal staff acting vp director managing general"
)
_STUDENTS = word_set("student undergraduate undergrad freshman sophomore")
_ASIDES = word_set("same first second third fourth fifth final last part full-time part-time year currently mostly")
"""First words of what is said besides a subject: "chemistry, first year"."""
_NOT_ROLES = word_set("team group expected intended usual whole")


def capitals_end(words: Words, begin: int, limit: int, times: frozenset[int], *, digits: bool = True) -> int:
    """Return the word after a name in capitals: "Bank of America", "Ernst and Young", "3M"."""
    at = begin
    while at < limit and words.start[at] not in times:
        named = words.capital(at) or (digits and words.low[at][0].isdigit())
        if at > begin and _within_name(words, at):
            at += 1
            continue
        linking = words.low[at] in _LINKING and words.capital(at + 1) and words.low[at + 1] != "i" and at > begin
        if not named and not linking and words.raw[at] != "&":
            break
        at += 1
    return at


_AFTER_NAME = frozenset(
    ("", ",", ".", "!", ";", ")", "and", "but", "in", "as", "for", "since", "because", "hospital", "college")
)


def _within_name(words: Words, at: int) -> bool:
    """Tell whether a sign belongs to a name: "St. Mary's"."""
    if words.low[at] == ".":
        return words.low[at - 1] in ("st", "dr", "mt") and words.capital(at + 1)
    return words.low[at] == "'s" and words.capital(at - 1) and words.at(at + 1) in _AFTER_NAME


def employer(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an employer: a name, or a kind of place that employs people."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    if begin >= clause.end or words.low[at] in _NOT_EMPLOYERS or words.start[begin] in finder.time_starts:
        return []
    if words.capital(begin) or (words.low[begin][0].isdigit() and words.capital(begin + 1)):
        end = capitals_end(words, begin, clause.end, finder.time_starts)
        learning = words.at(at - 2) in _STUDENTS
        predicate = "studies_at" if learning else ""
        return [Value(text=words.slice(begin, end), end=end, predicate=predicate)] if words.raw[begin] != "I" else []
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    if end == begin:
        return []
    named = next((index for index in range(begin, end) if words.low[index] in ("called", "named")), 0)
    if named:
        stop = capitals_end(words, named + 1, clause.end, finder.time_starts)
        return [Value(text=words.slice(named + 1, stop), end=stop)] if stop > named + 1 else []
    head, pair = words.low[end - 1], f"{words.at(end - 2)} {words.low[end - 1]}"
    if head in lexicon.WORKPLACES or pair in lexicon.WORKPLACES:
        return [Value(text=words.slice(begin, end), end=end)]
    plain = words.lower_case and begin == at and end - begin <= _SHORT and words.low[begin] not in _NOT_WORDS
    if plain and words.low[begin] not in lexicon.UNREAL_PLACES:
        return [Value(text=words.slice(begin, end), end=end)]
    return []


def company(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an employer by its name only: joining a choir is no job."""
    words = finder.words
    if not words.capital(at) or words.low[at] in _NOT_NAMED_EMPLOYERS or words.start[at] in finder.time_starts:
        return []
    return employer(finder, clause, at)


def firm(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an employer that cannot be a person: a name of several words, in capitals, or where work is spoken of."""
    words = finder.words
    values = company(finder, clause, at)
    working = not _WORKING.isdisjoint(words.low)
    if not values or not (working or values[0].end - at > 1 or words.raw[at].isupper() or not words.raw[at].isascii()):
        return []
    return [] if words.low[at] in GIVEN_NAMES else values


_WORKING = word_set("job work company firm employer career team office working joined")


def my_job(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what others made the speaker."""
    values = worked_as(finder, clause, at)
    made = values and closes(finder.words, values[0].end, clause.end, finder.time_starts)
    return [replace(value, subject=finder.speaker) for value in values] if made else []


def my_office(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the office that others gave to the speaker."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    if words.at(begin) not in lexicon.CLUB_OFFICES:
        return []
    return [Value(text=words.raw[begin], end=begin + 1, subject=finder.speaker)]


def me_go(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "me go" after "they let": whatever the job was, it is over."""
    words = finder.words
    gone = words.low[at : at + 2] == ["me", "go"] and closes(words, at + 2, clause.end, finder.time_starts)
    return [Value(text=EVERY, end=at + 2, subject=finder.speaker)] if gone else []


def student_over(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read that somebody's studies are over, where that happened lately: who graduated in 2015 was a student long ago."""
    times = finder.happened(clause)
    lately = not times or finder.at - times[0].moment < _LATELY
    return [Value(text="student", end=at)] if lately else []


_LATELY = timedelta(days=150)


def role(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a profession or title: "(a) software engineer", "head of design"."""
    words = finder.words
    low = words.low
    begin, end = finder.noun_phrase(clause, at)
    end = words.find(("living", "based", "working", "here", "again"), begin + 1, end)
    if end == begin or points_elsewhere(words, begin, end) or low[begin] in _PRAISE:
        return []
    of = words.find(("of",), begin + 1, end)
    if of < end:
        end = _title_end(finder, clause, of, end)
    if not _profession(words, begin, of):
        return []
    return [Value(text=words.slice(begin, end), end=end, kind="student" if low[of - 1] in _STUDENTS else "")]


def _title_end(finder: FactFinder, clause: Clause, of: int, end: int) -> int:
    """Return where "VP of Engineering (at Notion)" ends, and "CEO (of Brightleaf)"."""
    words = finder.words
    if words.low[of + 1] in lexicon.FIELDS or words.low[of + 1] in lexicon.DEPARTMENTS:
        return capitals_end(words, of + 1, clause.end, finder.time_starts) if words.capital(of + 1) else end
    if words.capital(of + 1):
        named = capitals_end(words, of + 1, clause.end, finder.time_starts)
        return named if words.at(named) in ("at", "for", "with") else of
    return of if words.low[of + 1] in ("a", "an", "the", "my", "our") else end


def _profession(words: Words, begin: int, end: int) -> bool:
    head, pair = words.low[end - 1], f"{words.at(end - 2)} {words.low[end - 1]}"
    if pair in lexicon.OCCUPATIONS and end - begin >= _SHORT:
        return True
    if words.at(end) == "of" and head in ("head", "director", "vp", "president", "chief", "manager", "coordinator"):
        return True
    if head.endswith(("ologist", "ographer", "ometrist")):
        return True
    return head in lexicon.OCCUPATIONS and not (head in lexicon.NOT_OCCUPATIONS and end - begin == 1)


def office(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a title that stands without "a": "head of design", "senior engineer"; one bare word is too little."""
    words = finder.words
    if words.low[at] in ("a", "an", "my", "our", "the"):
        return []
    values = role(finder, clause, at)
    if not values:
        return []
    end = values[0].end
    ranked = words.low[at] in _RANKS and end - at > 1
    placed = words.at(end) in ("at", "with", "of", "for") and words.capital(end + 1) and words.low[end + 1] != "i"
    return values if (ranked or placed) and not (words.capital(at) and end - at == 1 and not placed) else []


def worked_as(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what follows "work as": any noun will do."""
    words = finder.words
    if values := role(finder, clause, at):
        return values
    begin, end = finder.noun_phrase(clause, at)
    if end == begin or points_elsewhere(words, begin, end) or words.low[end - 1] in _NOT_ROLES:
        return []
    if begin == at and words.low[end - 1] not in lexicon.OCCUPATIONS:
        return []
    return [Value(text=words.slice(begin, end), end=end)]


def field(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a trade: "insurance", "the film industry"."""
    words = finder.words
    begin, end = finder.noun_phrase(clause, at)
    phrase = " ".join(words.low[begin:end])
    industry = phrase.removesuffix(" industry").removesuffix(" sector")
    if industry in lexicon.FIELDS or phrase != industry or (end > begin and words.low[end - 1] in lexicon.FIELDS):
        return [Value(text=words.slice(begin, end), end=end)]
    return []


def school(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a school by its name."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    end = capitals_end(words, begin, clause.end, finder.time_starts, digits=False)
    if end > begin:
        return [Value(text=words.slice(begin, end), end=end)]
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    if words.lower_case and begin == at and 0 < end - begin <= _LONGEST_SCHOOL:
        return [Value(text=words.slice(begin, end), end=end)]
    return []


def subject(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what is studied: a list of subjects, not "the menu"."""
    words = finder.words
    if words.low[at] in ("the", "this", "these", "your", "how", "at", "in", "for", "abroad", "with", "to", "on"):
        return []
    values: list[Value] = []
    for begin, end in items(words, at, clause.end, times=finder.time_starts):
        if points_elsewhere(words, begin, end) or " ".join(words.low[begin:end]) in lexicon.UNSTUDIED:
            return []
        if values and words.low[begin] in _ASIDES:
            break
        values.append(Value(text=words.slice(begin, end), end=end))
    return values


def course(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "a PhD", "my master's degree": what one does at a school."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    noun = next((index for index in range(begin, min(clause.end, begin + 3)) if words.low[index] in _COURSES), None)
    if noun is None:
        return []
    end = noun + 1
    while words.at(end) in ("'s", "degree"):
        end += 1
    return [Value(text=words.slice(begin, end), end=end)]


def degree(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a degree one has: "a degree in chemistry"."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    end = phrase_end(words, begin, clause.end, through=frozenset({"'s"}), times=finder.time_starts)
    if _DEGREES.isdisjoint(words.low[begin:end]):
        return []
    if words.at(end) in ("in", "of"):
        end = max(end, phrase_end(words, end + 1, clause.end, times=finder.time_starts))
        while (
            words.at(end) == "and" and words.at(end + 1).isalpha() and words.at(end + 2) in ("", ".", ",", "from", "at")
        ):
            end += 2
    return [Value(text=words.slice(begin, end), end=end)]


def taught(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what a teacher teaches, as the profession: "maths" is a "maths teacher"."""
    words = finder.words
    end = phrase_end(words, at, clause.end, times=finder.time_starts)
    if (
        not 0 < end - at <= _LONGEST_SUBJECT
        or points_elsewhere(words, at, end)
        or words.low[at] in ("a", "an", "the", "people")
    ):
        return []
    return [Value(text=f"{words.slice(at, end)} teacher", end=end)]


_SCHOOLS = word_set(
    "primary secondary university college school elementary academy uni high institute kindergarten preschool"
)


def named_school(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a school whose name says that it is one: "go to Rome" is no school."""
    values = school(finder, clause, at)
    return values if values and not _SCHOOLS.isdisjoint(values[0].text.lower().split()) else []


def school_left(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read where somebody dropped out: "uni", "Bologna", "college"."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    if words.at(begin) in _SCHOOLS:
        return [Value(text=words.raw[begin], end=begin + 1)]
    return school(finder, clause, at)


def subject_left(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the subject of "law school", "my PhD program in physics"."""
    words = finder.words
    begin = after_determiner(words, at, clause.end)
    if (
        words.at(begin + 1) in ("school", "studies", "degree", "course", "class", "program", "programme")
        and words.at(begin).isalpha()
    ):
        return (
            [Value(text=words.raw[begin], end=begin + 2)]
            if words.low[begin] not in ("high", "my", "the", "grad")
            else []
        )
    return []


def first_day(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the employer in "my first day at Tesla (is Monday)"."""
    words = finder.words
    start = clause.subject.after - len(clause.subject.thing.split())
    if words.low[start : start + 2] != ["first", "day"] or words.at(start + 2) not in ("at", "with"):
        return []
    return [Value(text=words.slice(start + 3, clause.subject.after), end=at)] if words.capital(start + 3) else []


def left_name(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read whom or what one left, by a name alone: what it was to the speaker shows in what is known."""
    words = finder.words
    if not words.capital(at) or words.low[at] == "i" or words.start[at] in finder.time_starts:
        return []
    end = capitals_end(words, at, clause.end, finder.time_starts)
    end = words.find(("for",), at + 1, end)
    if words.at(end) == "for" and words.low[at] in lexicon.TOOLS:
        return []  # a product left for another
    closed = (
        end >= clause.end
        or words.start[end] in finder.time_starts
        or words.low[end] in (",", ".", "!", "and", "because", "for")
    )
    return [Value(text=words.slice(at, end), end=end)] if closed else []
