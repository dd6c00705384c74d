"""Work and study: where and as what somebody works or learns, and that it began or ended."""

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.phrases import after_determiner, items, phrase_end, points_elsewhere
from rememo.learn.extract.places import occupation, school_at, workplace
from rememo.learn.extract.wordlists import word_set

_SCHOOL_WORDS = lexicon.SCHOOLS
_COURSES = word_set(
    "phd masters master master's bachelor bachelor's degree doctorate mba bsc msc ba ma course apprenticeship",
    "postdoc",
)


_LONGEST_SUBJECT = 3
_LONGEST_FOOD = 3


def working(finder: Finder, clause: Clause) -> bool:
    """Read "work at X as Y", "work for", "work in insurance", "worked at X from … to …"."""
    words = finder.words
    if clause.modal:
        return False
    begun, ended = finder.since(clause)
    over = clause.ends or clause.negated
    if clause.past and not clause.perfect and not clause.used_to and begun is None:
        over = True
    before = len(finder.facts)
    at = clause.rest
    while at < clause.end:
        word = words.low[at]
        if word in ("at", "for", "by") and words.start[at] not in finder.time_starts:
            place = workplace(finder, at + 1, clause.end)
            if place:
                finder.add(clause, "works_at", place, when=(begun, ended), ends=over)
        elif word == "as":
            begin = after_determiner(words, at + 1, clause.end)
            if words.at(at + 1) in ("a", "an", "the") or words.at(begin) in lexicon.OCCUPATIONS:
                _as(finder, clause, begin, over=over)
        elif word == "in" and words.start[at] not in finder.time_starts and at == clause.rest:
            _field(finder, clause, at + 1, over=over)
        elif word in (",", "and", "but", "because", "so", "while", "when", "where", "on", "with"):
            break
        at += 1
    return len(finder.facts) > before


def _as(finder: Finder, clause: Clause, begin: int, *, over: bool) -> None:
    words = finder.words
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    if (
        end > begin
        and not points_elsewhere(words, begin, end)
        and words.low[end - 1] not in ("team", "group", "expected", "intended", "usual", "whole")
    ):
        finder.add(clause, "works_as", words.slice(begin, end), when=finder.since(clause), ends=over)


def _field(finder: Finder, clause: Clause, start: int, *, over: bool) -> None:
    words = finder.words
    begin = after_determiner(words, start, clause.end)
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    phrase = " ".join(words.low[begin:end])
    industry = phrase.removesuffix(" industry").removesuffix(" sector")
    if industry in lexicon.FIELDS or phrase != industry or (end > begin and words.low[end - 1] in lexicon.FIELDS):
        finder.add(clause, "works_in", words.slice(begin, end), ends=over, confidence=0.85)


_NETWORKS = word_set(
    "facebook instagram discord twitter reddit tinder slack whatsapp tiktok linkedin snapchat telegram zoom"
)


def joining(finder: Finder, clause: Clause) -> bool:
    """Read "joined Meta in March as a product manager"; joining a choir or a network is no job."""
    words = finder.words
    if clause.modal or clause.negated or clause.progressive or not (clause.past or clause.perfect):
        return False
    at = clause.rest
    if not words.capital(at) or words.low[at] in _NETWORKS or words.start[at] in finder.time_starts:
        return False
    when = finder.since(clause, change=True)
    finder.add(clause, "works_at", workplace(finder, at, clause.end), when=when, confidence=0.75)
    for index in range(at, clause.end - 1):
        if words.low[index] == "as" and words.low[index + 1] in ("a", "an", "the"):
            _as(finder, clause, after_determiner(words, index + 1, clause.end), over=False)
    return True


def running(finder: Finder, clause: Clause) -> bool:
    """Read "run a small bakery in Lyon", "run my own studio"."""
    words = finder.words
    if (
        clause.modal
        or clause.negated
        or clause.progressive
        or (clause.past and not clause.ends)
        or words.at(clause.rest) not in ("a", "an", "my", "our")
    ):
        return False
    begin = after_determiner(words, clause.rest, clause.end)
    begin += words.at(begin) == "own"
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    if end == begin or (
        words.low[end - 1] not in lexicon.WORKPLACES
        and words.low[end - 1] not in ("business", "podcast", "blog", "farm", "shop")
    ):
        return False
    finder.add(clause, "owns", words.slice(begin, end), confidence=0.8)
    return True


def teaching(finder: Finder, clause: Clause) -> bool:
    """Read "I teach maths at a school": a profession."""
    words = finder.words
    if clause.modal or clause.past or clause.negated or clause.progressive:
        return False
    if words.at(clause.rest) == "at" and (place := workplace(finder, clause.rest + 1, clause.end)):
        finder.add(clause, "works_as", "teacher", confidence=0.85)
        finder.add(clause, "works_at", place)
        return True
    end = phrase_end(words, clause.rest, clause.end, times=finder.time_starts)
    if (
        end == clause.rest
        or end - clause.rest > _LONGEST_SUBJECT
        or points_elsewhere(words, clause.rest, end)
        or words.low[clause.rest] in ("a", "an", "the", "people")
    ):
        return False
    if words.at(end) in ("at", "in") and (place := workplace(finder, end + 1, clause.end)):
        finder.add(clause, "works_as", f"{words.slice(clause.rest, end)} teacher", confidence=0.8)
        if words.at(end) == "at":
            finder.add(clause, "works_at", place)
        return True
    return False


def studying(finder: Finder, clause: Clause) -> bool:
    """Read "study law at Bologna", "majored in chemistry", "doing a PhD in X at Y"."""
    words = finder.words
    if clause.modal or clause.negated:
        return False
    past = clause.past and not clause.perfect
    at = clause.rest
    if clause.lemma == "major":
        if words.at(at) != "in":
            return False
        at += 1
    before = len(finder.facts)
    when = finder.since(clause)
    end = at
    if words.at(at) not in ("at", "in", "for", "abroad", "with"):
        for begin, end in items(words, at, clause.end, times=finder.time_starts):
            if (
                points_elsewhere(words, begin, end)
                or " ".join(words.low[begin:end]) in lexicon.UNSTUDIED
                or words.low[at] in ("the", "this", "these", "your", "how")
            ):
                return False
            if (
                not past
                or words.at(end) in ("at", "in")
                or end >= clause.end
                or words.start[end] in finder.time_starts
                or clause.lemma == "major"
            ):
                finder.add(
                    clause, "studied" if past else "studies", words.slice(begin, end), when=when, ends=clause.ends
                )
    if words.at(end) == "at" and words.start[end] not in finder.time_starts:
        school = school_at(finder, end + 1, clause.end)
        if school:
            finder.add(clause, "studied_at" if past else "studies_at", school, when=when, ends=clause.ends)
    return len(finder.facts) > before


def graduating(finder: Finder, clause: Clause) -> bool:
    """Read "graduated from MIT in 2015"."""
    words = finder.words
    if not (clause.past or clause.perfect) or clause.negated or clause.modal or words.at(clause.rest) != "from":
        return False
    school = school_at(finder, clause.rest + 1, clause.end)
    if not school:
        return False
    times = [time for time in finder.times_of(clause, "past") if time.direction == "in" and not time.recurring]
    finder.add(clause, "studied_at", school, when=(None, times[0].end if times else None))
    return True


def starting(finder: Finder, clause: Clause) -> bool:
    """Read "started a new job at Zalando", "started working at", "joined Bosch", "got a job at"."""
    words = finder.words
    low = words.low
    if clause.modal or clause.negated or clause.progressive or not (clause.past or clause.perfect):
        return False
    window = range(clause.rest, min(clause.end, clause.rest + 6))
    job = next((at for at in window if low[at] in ("job", "working", "work", "role", "position", "internship")), None)
    if job is None:
        if (
            words.at(clause.rest) == "at"
            and words.capital(clause.rest + 1)
            and words.start[clause.rest] not in finder.time_starts
        ):
            finder.add(
                clause,
                "works_at",
                workplace(finder, clause.rest + 1, clause.end),
                when=finder.since(clause, change=True),
                confidence=0.8,
            )
            return True
        return False
    when = finder.since(clause, change=True)
    found = False
    for at in range(job + 1, min(clause.end, job + 8)):
        if low[at] in ("at", "for", "with") and (place := workplace(finder, at + 1, clause.end)):
            finder.add(clause, "works_at", place, when=when)
            found = True
            break
    if words.at(job + 1) == "as":
        found = occupation(finder, clause, after_determiner(words, job + 2, clause.end)) or found
    return found


def quitting(finder: Finder, clause: Clause) -> bool:
    """Read "quit my job at Amazon", "left my job at", "stopped working for", "quit smoking"."""
    words = finder.words
    low = words.low
    if clause.modal or clause.negated or clause.progressive or not (clause.past or clause.perfect):
        return False
    when = finder.since(clause, change=True)
    at = clause.rest
    if words.at(at) == "up" and clause.lemma == "give":
        at += 1
    if words.at(at) in ("eating", "drinking"):
        return _gave_up_food(finder, clause, at + 1)
    job = next(
        (index for index in range(at, min(clause.end, at + 4)) if low[index] in ("job", "working", "position", "role")),
        None,
    )
    if job is not None:
        for index in range(job + 1, min(clause.end, job + 4)):
            if low[index] in ("at", "for", "with") and (place := workplace(finder, index + 1, clause.end)):
                finder.add(clause, "works_at", place, when=when, ends=True)
                return True
        return False
    if (
        clause.lemma in ("quit", "stop", "give")
        and words.at(at).endswith("ing")
        and words.at(at) in ("smoking", "drinking", "vaping", "running", "gambling")
    ):
        finder.add(clause, "habit", low[at], when=when, ends=True, confidence=0.8)
        return True
    if (clause.lemma == "give" and at > clause.rest) or clause.lemma == "quit":
        return _gave_up_food(finder, clause, at)
    return False


def _gave_up_food(finder: Finder, clause: Clause, start: int) -> bool:
    words = finder.words
    before = len(finder.facts)
    when = finder.since(clause, change=True)
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        if (
            points_elsewhere(words, begin, end)
            or end - begin > _LONGEST_FOOD
            or words.low[begin] in ("hope", "trying", "looking")
        ):
            break
        if words.low[start - 1] not in ("eating", "drinking") and words.low[begin] not in (
            "meat",
            "sugar",
            "alcohol",
            "dairy",
            "gluten",
            "coffee",
            "caffeine",
            "fish",
            "smoking",
            "bread",
            "chocolate",
            "eggs",
        ):
            break
        drink = words.low[start - 1] == "drinking" or words.low[begin] in ("alcohol", "coffee", "caffeine")
        finder.add(
            clause,
            "habit" if words.low[begin] == "smoking" else "drinks" if drink else "eats",
            words.slice(begin, end),
            when=when,
            ends=True,
        )
    return len(finder.facts) > before


def degree(finder: Finder, clause: Clause) -> bool:
    """Read "doing a PhD in linguistics at Edinburgh", "did my master's at Delft"."""
    words = finder.words
    if clause.modal or clause.negated or not (clause.progressive or clause.past):
        return False
    at = after_determiner(words, clause.rest, clause.end)
    noun = next((index for index in range(at, min(clause.end, at + 3)) if words.low[index] in _COURSES), None)
    if noun is None:
        return False
    past = clause.past and not clause.progressive
    after = noun + 1
    while words.at(after) in ("'s", "degree"):
        after += 1
    before = len(finder.facts)
    if words.at(after) == "in" and words.start[after] not in finder.time_starts:
        end = phrase_end(words, after + 1, clause.end, times=finder.time_starts)
        if end > after + 1:
            finder.add(clause, "studied" if past else "studies", words.slice(after + 1, end))
            after = end
    if words.at(after) == "at" and (school := school_at(finder, after + 1, clause.end)):
        finder.add(clause, "studied_at" if past else "studies_at", school)
    return len(finder.facts) > before


def promoted(finder: Finder, clause: Clause, at: int) -> bool:
    """Read "(got) promoted to team lead", "hired by Bosch", "laid off from X"."""
    words = finder.words
    when = finder.since(clause, change=True)
    word, link = words.at(at), words.at(at + 1)
    if word == "promoted" and link == "to":
        begin = after_determiner(words, at + 2, clause.end)
        end = phrase_end(words, begin, clause.end, times=finder.time_starts)
        if end > begin:
            finder.add(clause, "works_as", words.slice(begin, end), when=when)
            return True
    if word == "hired" and link in ("by", "at") and (place := workplace(finder, at + 2, clause.end)):
        finder.add(clause, "works_at", place, when=when)
        return True
    if word == "fired" and link in ("from", "by") and (place := workplace(finder, at + 2, clause.end)):
        finder.add(clause, "works_at", place, when=when, ends=True)
        return True
    if (
        word == "laid"
        and link == "off"
        and words.at(at + 2) in ("from", "by")
        and (place := workplace(finder, at + 3, clause.end))
    ):
        finder.add(clause, "works_at", place, when=when, ends=True)
        return True
    return False


def retiring(finder: Finder, clause: Clause) -> bool:
    """Read "I retired in 2021"."""
    words = finder.words
    if clause.modal or clause.negated or not (clause.past or clause.perfect) or clause.progressive:
        return False
    if words.at(clause.rest) == "from" and not words.capital(clause.rest + 1):
        return False
    finder.add(clause, "works_as", "retired", when=finder.since(clause, change=True))
    return True
