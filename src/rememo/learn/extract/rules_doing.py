"""What somebody did, does and will do, each with its time: events, habits, plans."""

from dataclasses import replace

from rememo.learn.extract import verbs
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder
from rememo.learn.extract.wordlists import word_set
from rememo.recall.time import TimeMention

_EVENTFUL = word_set(
    "start finish complete pass fail join celebrate host hike climb attend run win lose break graduate marry buy",
    "sell adopt quit launch publish renovate donate defend submit perform exhibit record fracture sprain injure",
    "fly land book get have take see meet visit go travel move plant build write give organise organize teach",
    "volunteer race compete welcome begin repaint install watch read bake cook paint play tour explore camp swim",
    "cycle make hurt return sign enrol enroll open found hire train die",
)
_PLANNED = word_set(
    "pick fly go travel move meet visit start have see attend leave drive take host throw celebrate run begin graduate",
    "marry play perform present give get join open launch return come volunteer teach race compete camp hike tour",
    "buy sell adopt retire swim sing defend submit publish interview train cook bake spend read watch",
)
_HABITUAL = _PLANNED | word_set(
    "walk jog swim cycle meditate practise practice work cook bake clean call phone volunteer garden tutor",
    "babysit commute wake eat drink study read write paint listen ride do stretch teach knit sew journal stream",
    "coach sleep text email train play sing help",
)
_VAGUE = word_set(
    "it this that them these those idea look chance time feeling problem problems error errors trouble issue",
    "issues question weird options well him back lost sick bored",
)
_HAD = word_set("surgery operation baby accident miscarriage transplant wedding biopsy c-section stroke heart root")
_NOT_PLANNED = word_set("bed sleep excited ready better used started tired closer nervous worried more less")
_LONGEST_DOING = 18


def planning(finder: Finder, clause: Clause) -> bool:
    """Read "plan to run a marathon in October", "planning on moving to Rome in May"."""
    words = finder.words
    at = clause.rest
    if clause.modal or clause.negated or clause.past or clause.perfect or words.at(at) not in ("to", "on"):
        return False
    known = verbs.FORMS.get(words.at(at + 1))
    if known is None:
        return False
    return _plan(finder, replace(clause, verb_at=at + 1, lemma=known[0], form=known[1], rest=at + 2, going_to=True))


def doing(finder: Finder, clause: Clause) -> None:
    """Read what no closer rule knew: a habit, a plan or an event, each only with its time."""
    if (
        not clause.subject.name
        or not clause.subject.known
        or clause.subject.kind == "thing"
        or clause.negated
        or clause.ends
    ):
        return
    if clause.modal not in ("", "will") or clause.adverbs & {"almost", "nearly", "never"}:
        return
    if _habit(finder, clause) or finder.conditional:
        return
    if clause.progressive or clause.going_to or clause.modal == "will":
        _plan(finder, clause)
    elif clause.past and not clause.passive:
        _event(finder, clause)


def _habit(finder: Finder, clause: Clause) -> bool:
    words = finder.words
    if (
        clause.modal
        or clause.past
        or clause.going_to
        or clause.passive
        or clause.lemma not in _HABITUAL
        or (clause.perfect and not clause.progressive)
    ):
        return False
    times = finder.times_of(clause, "past")
    recurring = [time for time in times if time.recurring]
    fronted = [time for time in recurring if time.position[1] <= words.start[clause.begin]]
    usual = bool(clause.adverbs & {"usually", "normally", "typically", "generally", "regularly"})
    if not recurring and not (
        usual
        and not clause.progressive
        and clause.lemma
        in (
            "wake",
            "get",
            "go",
            "run",
            "work",
            "eat",
            "cook",
            "walk",
            "cycle",
            "take",
            "sleep",
            "drink",
            "swim",
            "have",
            "train",
        )
    ):
        return False
    end = _doing_end(finder, clause, keep=times)
    if (end <= clause.verb_at + 1 and not fronted) or any(
        word in _VAGUE for word in words.low[clause.verb_at + 1 : end]
    ):
        return False
    value = words.slice(clause.verb_at, end)
    if fronted and len(fronted) == len(recurring):
        opening = fronted[0].text
        value = f"{value} {opening[0].lower()}{opening[1:]}"
    elif recurring and recurring[0].position[0] > words.end[end - 1] and not usual:
        return False
    finder.add(clause, "habit", value, confidence=0.85)
    return True


def _plan(finder: Finder, clause: Clause) -> bool:
    words = finder.words
    if clause.lemma not in _PLANNED or clause.perfect or clause.past:
        return False
    times = [
        time
        for time in finder.times_of(clause, "future")
        if time.end > finder.at and time.direction == "in" and not time.recurring
    ]
    if not times or (
        times[0].start <= finder.at
        and times[0].precision not in ("day", "part", "week", "weekend", "month", "year", "season")
    ):
        return False
    end = _doing_end(finder, clause, keep=[])
    start = clause.verb_at
    if (
        end <= start + 1
        or any(word in _VAGUE for word in words.low[start + 1 : end])
        or words.at(start + 1) in _NOT_PLANNED
    ):
        return False
    time = times[-1] if times[-1].precision in ("hour", "minute") else times[0]
    finder.add(clause, "plans", words.slice(start, end), when=(time.start, time.end), confidence=0.8)
    return True


def _event(finder: Finder, clause: Clause) -> bool:
    words = finder.words
    if clause.lemma not in _EVENTFUL or clause.used_to:
        return False
    times = [
        time
        for time in finder.times_of(clause, "past")
        if time.start <= finder.at and time.direction == "in" and not time.recurring
    ]
    if not times:
        return False
    end = _doing_end(finder, clause, keep=[])
    low = words.low
    if end <= clause.verb_at + 1 or any(word in _VAGUE for word in low[clause.verb_at + 1 : end]):
        return False
    if clause.lemma == "have" and not any(word in _HAD for word in low[clause.rest : end]):
        return False
    if clause.lemma == "go" and low[clause.rest] not in (
        "hiking",
        "camping",
        "skiing",
        "swimming",
        "surfing",
        "diving",
        "sailing",
        "on",
    ):
        return False
    if low[clause.rest] in ("to", "it", "the") and clause.lemma in (
        "start",
        "have",
        "begin",
        "run",
        "get",
        "give",
        "take",
        "see",
        "read",
        "make",
    ):
        return False
    time = times[0]
    finder.add(clause, "event", words.slice(clause.verb_at, end), when=(time.moment, time.end), confidence=0.8)
    return True


def _doing_end(finder: Finder, clause: Clause, keep: list[TimeMention]) -> int:
    """Return where the doing ends: before its time, unless that time belongs to it, and before the next thing said."""
    words = finder.words
    kept = {time.position[0] for time in keep}
    at = clause.verb_at + 1
    while at < clause.end and at - clause.verb_at < _LONGEST_DOING:
        if words.start[at] in finder.time_starts:
            if words.start[at] not in kept:
                break
            stop = next(time.position[1] for time in keep if time.position[0] == words.start[at])
            while at < clause.end and words.start[at] < stop:
                at += 1
            continue
        if words.low[at] == "and" and words.capital(at - 1) and words.capital(at + 1) and words.low[at + 1] != "i":
            at += 1
            continue
        if words.low[at] in (
            ",",
            ";",
            ":",
            "(",
            "-",
            "!",
            ".",
            "?",
            "because",
            "so",
            "but",
            "which",
            "that",
            "when",
            "since",
            "if",
            "and",
            "though",
            "although",
            "while",
        ):
            break
        at += 1
    while at > clause.verb_at + 1 and words.low[at - 1] in ("just", "on", "in", "at", "for", "about", "of", "the", "a"):
        at -= 1
    return at
