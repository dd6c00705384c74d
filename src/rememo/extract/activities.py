"""What somebody did, does and will do, each only with its time: events, habits and plans that no row knows more closely."""

from collections.abc import Sequence
from dataclasses import replace

from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.recall.time import TimeMention
from rememo.text import verbs
from rememo.text.wordlists import word_set

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
    "head buy sell adopt retire swim sing defend submit publish interview train cook bake spend read watch expect turn relocate",
)
_HABITUAL = (_PLANNED - {"expect", "turn", "relocate"}) | word_set(
    "walk jog swim cycle meditate practise practice work cook bake clean call phone volunteer garden tutor smoke climb",
    "babysit commute wake eat drink study read write paint listen ride do stretch teach knit sew journal stream",
    "coach sleep text email train play sing help",
)
_USUAL = word_set("wake get go run work eat cook walk cycle take sleep drink swim have train")
_VAGUE = word_set(
    "you it this that them these those idea look chance time feeling problem problems error errors trouble issue",
    "one issues question weird options well him back lost sick bored",
)
_HAD = word_set("surgery operation baby accident miscarriage transplant wedding biopsy c-section stroke heart root")
_NOT_PLANNED = word_set("bed sleep excited ready better used started tired closer nervous worried more less with")
_GONE = word_set("hiking camping skiing swimming surfing diving sailing on")
_PLAIN = word_set("start have begin run get give take see read make")
_BREAKS = word_set(", ; : ( - ! . ? because so but which that when since if and though although while")
_DANGLING = word_set("just on in at for about of the a to")
_LONGEST_DOING = 18
_WIDE = frozenset({"day", "part", "week", "weekend", "month", "year", "season"})


def read_activity(finder: FactFinder, clause: Clause) -> None:
    """Note a habit, a plan or an event that the clause tells with its time."""
    subject = clause.subject
    if not subject.name or not subject.known or subject.kind == "thing" or clause.negated or clause.ends:
        return
    if clause.modal not in ("", "will") or not clause.adverbs.isdisjoint(("almost", "nearly", "never")):
        return
    if clause.lemma == "plan":
        _intention(finder, clause)
    elif _habit(finder, clause) or finder.conditional:
        return
    elif clause.progressive or clause.going_to or clause.modal == "will" or not (clause.past or clause.perfect):
        _plan(finder, clause)
    elif clause.past and not clause.passive:
        _event(finder, clause)


def _intention(finder: FactFinder, clause: Clause) -> None:
    """Read "plan to run a marathon in October", "planning on moving to Rome in May"."""
    words = finder.words
    at = clause.rest
    form = verbs.FORMS.get(words.at(at + 1))
    if form is None or clause.modal or clause.past or clause.perfect or words.at(at) not in ("to", "on"):
        return
    _plan(finder, replace(clause, verb_at=at + 1, lemma=form[0], form=form[1], rest=at + 2, going_to=True))


def _habit(finder: FactFinder, clause: Clause) -> bool:
    words = finder.words
    if clause.modal or clause.past or clause.going_to or clause.passive or clause.lemma not in _HABITUAL:
        return False
    if (clause.perfect and not clause.progressive) or words.low[clause.verb_at] == "got":
        return False
    times = finder.times_of(clause, "past")
    recurring = [time for time in times if time.recurring]
    usual = not clause.adverbs.isdisjoint(verbs.HABITUAL)
    if not recurring and not (usual and not clause.progressive and clause.lemma in _USUAL):
        return False
    end = _doing_end(finder, clause, keep=times)
    fronted = [time for time in recurring if time.position[1] <= words.start[clause.begin]]
    if (end <= clause.verb_at + 1 and not fronted) or _vague(finder, clause, end):
        return False
    value = words.slice(clause.verb_at, end)
    if fronted and len(fronted) == len(recurring):
        opening = fronted[0].text
        value = f"{value} {opening[0].lower()}{opening[1:]}"
    elif recurring and recurring[0].position[0] > words.end[end - 1] and not usual:
        return False
    finder.add(clause, "habit", value, confidence=0.85)
    return True


def _plan(finder: FactFinder, clause: Clause) -> None:
    words = finder.words
    if clause.lemma not in _PLANNED or clause.perfect or clause.past or clause.passive:
        return
    times = finder.ahead(clause)
    if not times or (times[0].start <= finder.at and times[0].precision not in _WIDE):
        return
    plain = not (clause.progressive or clause.going_to or clause.modal)
    if plain and (clause.lemma not in _TIMETABLED or times[0].start <= finder.at):
        return
    end = _doing_end(finder, clause, keep=[])
    start = clause.verb_at
    if end <= start + 1 or _vague(finder, clause, end) or words.at(start + 1) in _NOT_PLANNED:
        return
    if clause.lemma == "go" and words.at(start + 1) == "to" and not _somewhere(finder, start + 2):
        return  # "going to explain how"
    time = times[-1] if times[-1].precision in ("hour", "minute") else times[0]
    finder.add(clause, "plans", words.slice(start, end), when=(time.start, time.end), confidence=0.8)


def _somewhere(finder: FactFinder, at: int) -> bool:
    words = finder.words
    return words.capital(at) or words.lower_case or words.at(at) in ("the", "a", "an", "my", "our", "see", "visit")


_TIMETABLED = word_set("fly leave travel graduate return move")
"""Verbs whose present tells a plan: "I fly to Oslo on Friday"."""


def _event(finder: FactFinder, clause: Clause) -> None:
    low = finder.words.low
    times = finder.happened(clause)
    if (
        clause.lemma not in _EVENTFUL
        or clause.used_to
        or not times
        or (clause.form == "base" and clause.lemma not in ("quit", "split", "put", "cut"))
    ):
        return
    end = _doing_end(finder, clause, keep=[])
    if end <= clause.verb_at + 1 or _vague(finder, clause, end):
        return
    if clause.lemma == "have" and _HAD.isdisjoint(low[clause.rest : end]):
        return
    if clause.lemma == "go" and low[clause.rest] not in _GONE:
        return
    named = low[clause.rest] == "the" and finder.words.capital(clause.rest + 1)
    if low[clause.rest] in ("to", "it", "the") and clause.lemma in _PLAIN and not named:
        return
    when = (times[0].moment, times[0].end)
    finder.add(clause, "event", finder.words.slice(clause.verb_at, end), when=when, confidence=0.8)


def _vague(finder: FactFinder, clause: Clause, end: int) -> bool:
    return not _VAGUE.isdisjoint(finder.words.low[clause.verb_at + 1 : end])


def _doing_end(finder: FactFinder, clause: Clause, keep: Sequence[TimeMention]) -> int:
    """Return where the doing ends: before its time, unless that time belongs to it, and before the next thing said."""
    words = finder.words
    ends_by_start = {time.position[0]: time.position[1] for time in keep}
    at = clause.verb_at + 1
    while at < clause.end and at - clause.verb_at < _LONGEST_DOING:
        if words.start[at] in finder.time_starts:
            stop = ends_by_start.get(words.start[at])
            if stop is None:
                break
            while at < clause.end and words.start[at] < stop:
                at += 1
            continue
        paired = words.low[at] == "and" and words.capital(at - 1) and words.capital(at + 1) and words.low[at + 1] != "i"
        hyphen = words.low[at] == "-" and words.start[at] == words.end[at - 1]  # "a 3-day workshop"
        if words.low[at] in _BREAKS and not paired and not hyphen:
            break
        at += 1
    while at > clause.verb_at + 1 and words.low[at - 1] in _DANGLING:
        at -= 1
    return at


def read_death(finder: FactFinder, clause: Clause) -> bool:
    """Read "my father passed away in 2017", "Rex died last week"."""
    if clause.lemma not in ("die", "pass") or (clause.lemma == "pass" and finder.words.at(clause.rest) != "away"):
        return False
    if clause.subject.speaker or clause.subject.kind == "thing" or not clause.subject.name:
        return False
    if clause.negated or clause.modal or clause.progressive or not (clause.past or clause.perfect):
        return False
    times = finder.happened(clause)
    if not clause.subject.known and times and times[0].precision in ("year", "decade"):
        return False  # "Elvis died in 1977"
    when = (times[0].moment, times[0].end) if times else (None, None)
    finder.add(clause, "event", "passed away" if clause.lemma == "pass" else "died", when=when)
    return True
