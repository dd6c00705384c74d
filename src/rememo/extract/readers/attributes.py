"""Things and their values: keys such as "kitchen budget", values such as "18,000 euros", "room 4.17" or a name."""

from dataclasses import replace

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import Value
from rememo.extract.phrases import closes
from rememo.extract.readers.work import capitals_end
from rememo.recall.time import TimeMention
from rememo.text.wordlists import word_set

OFFICES = word_set(
    "lead captain treasurer chair chairman chairwoman chairperson secretary president director head maintainer owner supervisor",
    "coordinator conductor coach reviewer moderator organiser organizer host singer drummer guitarist bassist goalkeeper editor",
    "accountant lawyer solicitor gardener cleaner architect contractor agent lifeguard referee principal headteacher tutor mentor",
    "scrum_master product_owner project_manager product_manager team_leader leader delegate representative rep contact buddy",
)
_EVENTS = word_set(
    "standup stand-up retro retrospective meeting sync course class lesson lessons classes rehearsal practice training club choir session",
    "demo review checkup call seminar lecture tutorial group meetup service shift appointment therapy planning one-on-one handover",
)
_OCCASIONS = word_set(
    "offsite wedding reception party picnic conference venue trip dinner exam concert funeral ceremony reunion release"
)
_UNOWNED = word_set(
    "problem question point guess idea thought thoughts issue concern advice suggestion answer dream wish hope hero mistake reason",
    "opinion choice pick recommendation understanding impression bet fear life day week month year body mood mind",
    "turn fault goal goals intention intent purpose hunch instinct reaction first last next second third best worst only biggest main",
    "thing things part one way hobby hobbies interest interests passion passions result results option options example rule motto",
    "eldest youngest oldest middle whole experience background expertise weakness strength inspiration favourite favorite go-to kid",
    "view intuition assumption conclusion priority challenge struggle take focus preference excuse response comment feedback",
)
"""What has no value of its own that lasts: "my guess is Friday"."""
_UNOWNED_ALONE = word_set(
    "title code class name type text topic story essay poem character book novel list model data output function script query file prompt input"
)
"""The same, unless it is said which: "the gate code"."""
_PAST = word_set("old former previous ex original earlier prior next last second future ideal potential possible")
"""Words before a thing with which it is not the one that counts now."""
_DESCRIBING = word_set("new current latest updated main own actual usual regular official final present")
_LINKS = word_set("for of")
_CUTS = word_set("at in on with from since these right as until during by to under near this")
_UNITS = word_set(
    "euros euro dollars dollar pounds pound bucks quid kr kronor zloty yen francs usd eur gbp kg kilos kilo km cm mm people guests eur",
    "a per month week year over by all in k gb tb mb mg ml litres liters degrees celsius am pm mbps euros/month each",
)
_NUMBERED = word_set(
    "number no room gate platform floor size level version extension table seat unit suite bay desk track apartment"
)
_PASSING = word_set(
    "old late long away ago minutes minute hours hour days day weeks months years percent % done left times inches feet miles"
)
_NOT_VALUES = word_set("i god covid christmas easter ok okay")
_CODE = lexicon.PROGRAMMING | word_set("django flask fastapi rails react vue svelte angular golang node spring laravel")
_WRITTEN = word_set(
    "backend frontend scheduler app service server api website site pipeline parser bot cli client codebase"
)
PARTICIPLES = word_set("written hosted deployed based located stored built held scheduled booked insured registered")
_TEXTS = word_set("thesis dissertation paper talk phd documentary")
_PLACED = word_set("in on at under with")
_LONGEST_NAME = 5
_LONGEST_NUMBER = 5
_LONGEST_KEY = 4


def key_end(low: list[str], first: int, end: int) -> int:
    """Return the word after the noun of a key: "budget" in "budget for the kitchen"."""
    return next((at for at in range(first, end) if low[at] in _CUTS or low[at] in _LINKS), end)


def owned_key(finder: FactFinder, owner: str, first: int, end: int) -> str:
    """Return whose thing it is, the same for all ways to say it: "budget for the kitchen" is the kitchen budget. "" for none."""
    words = finder.words
    low = words.low
    noun = key_end(low, first, end)
    while first < noun and low[first] in _DESCRIBING:
        first += 1
    named = range(first, noun)
    if not 0 < len(named) <= _LONGEST_KEY or low[noun - 1] in _UNOWNED or low[first] in _UNOWNED or low[first] in _PAST:
        return ""
    if len(named) == 1 and noun == end and low[first] in _UNOWNED_ALONE:
        return ""
    text = words.slice(first, noun)
    if noun < end and low[noun] in _LINKS:
        start = noun + 1
        while start < end and low[start] in ("the", "our", "my", "a", "an", "this"):
            start += 1
        stop = key_end(low, start, end)
        if not start < stop <= start + _LONGEST_KEY:
            return ""
        text = f"{words.slice(start, stop)} {text}"
    text = text if any(words.capital(at) and at for at in named) else text[:1].lower() + text[1:]
    return f"{owner}'s {text}"


def _own_key(finder: FactFinder, clause: Clause) -> str:
    count = len(clause.subject.thing.split())
    return owned_key(finder, clause.subject.name, clause.subject.after - count, clause.subject.after)


def value_at(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a value: a name, a number with its unit, a code, an account or a date; plain words are none."""
    words = finder.words
    low = words.low
    if at >= clause.end or low[at] in _NOT_VALUES:
        return []
    if low[at] == "@" and at + 1 < clause.end:
        end = at + 2
        while (
            end + 1 < clause.end
            and low[end] == "."
            and words.start[end + 1] == words.end[end] == words.end[end - 1] + 1
        ):
            end += 2
        return [Value(text=words.slice(at, end), end=end)]
    if time := _time_at(finder, clause, at):
        end = finder.word_from(clause, clause.rest, time.position[1])
        return [Value(text=time.text, end=end)] if _is_figure(time.text) else []
    first = at + (low[at] in _NUMBERED)
    if first < clause.end and _is_figure(low[first]):
        return _figures(finder, clause, at, first)
    if first > at and words.capital(first):
        end = capitals_end(words, first, clause.end, finder.time_starts)
        return [Value(text=words.slice(at, end), end=end)] if _closed(finder, clause, end) else []
    if words.capital(at) and words.raw[at] != "I":
        end = capitals_end(words, at, clause.end, finder.time_starts)
        end = _titled(finder, clause, at, end)
        while words.at(end) == "/" and words.capital(end + 1):
            end += 2
        fits = 0 < end - at <= _LONGEST_NAME and _closed(finder, clause, end)
        return [Value(text=words.slice(at, end), end=end)] if fits else []
    if low[at] in lexicon.TOOLS and _closed(finder, clause, at + 1):
        return [Value(text=words.raw[at], end=at + 1)]
    return []


def _titled(finder: FactFinder, clause: Clause, at: int, end: int) -> int:
    """Return where "Dr. Musilová" ends."""
    words = finder.words
    if end - at == 1 and words.low[at] in ("dr", "mr", "mrs", "ms", "prof", "st") and words.at(end) == ".":
        return capitals_end(words, end + 1, clause.end, finder.time_starts)
    return end


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word))


def _figures(finder: FactFinder, clause: Clause, at: int, first: int) -> list[Value]:
    words = finder.words
    end = first + 1
    while (
        end < clause.end and end - first < _LONGEST_NUMBER and (_is_figure(words.low[end]) or words.low[end] in _UNITS)
    ):
        end += 1
    if not _PASSING.isdisjoint(words.low[first : end + 1]) or not _closed(finder, clause, end):
        return []
    return [Value(text=words.slice(at, end), end=end)]


def _closed(finder: FactFinder, clause: Clause, end: int) -> bool:
    following = finder.words.at(end)
    return closes(finder.words, end, clause.end, finder.time_starts) or following in ("from", "/", "instead", "+")


def _time_at(finder: FactFinder, clause: Clause, at: int) -> TimeMention | None:
    start = finder.words.start[at]
    return next((time for time in finder.times_of(clause, "future") if time.position[0] == start), None)


def attribute(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the value of the thing that a clause is about, as a fact about that thing."""
    key = _own_key(finder, clause)
    if not key:
        return []
    words = finder.words
    if words.at(at) == "due":
        return _due(finder, clause, at + 1, key)
    if (time := _time_at(finder, clause, at)) is not None:
        return _taking_place(finder, clause, time, key)
    if clause.modal == "will" and key.rsplit(" ", 1)[-1].lower() not in _EVENTS | _OCCASIONS:
        return []
    predicate = ""
    if words.at(at) in PARTICIPLES and words.at(at + 1) in _PLACED:
        predicate, at = f"is_{words.low[at]}_{words.low[at + 1]}", at + 2
    elif words.at(at) in _PLACED:
        place = "in" if words.low[at] in ("in", "on", "at", "under") else words.low[at]
        predicate, at = f"is_{place}", at + 1
        at += words.at(at) == "the" and words.capital(at + 1)
    if predicate and words.at(at) and words.low[at][0].isdigit():
        return []
    at += words.at(at) in ("all", "entirely", "fully", "purely", "completely")
    if not predicate and words.at(at) in _CODE and key.rsplit(" ", 1)[-1].lower() in _WRITTEN:
        predicate = "is_written_in"
    return [
        Value(text=value.text, end=value.end, subject=key, predicate=predicate)
        for value in value_at(finder, clause, at)
    ]


def _due(finder: FactFinder, clause: Clause, at: int, key: str) -> list[Value]:
    for start in range(at, min(at + 2, clause.end)):
        if (time := _time_at(finder, clause, start)) is not None:
            text = time.text.removeprefix("on ").removeprefix("by ")
            end = finder.word_from(clause, clause.rest, time.position[1])
            return [Value(text=text, end=end, subject=key, predicate="is_due")]
    return []


def _taking_place(finder: FactFinder, clause: Clause, time: TimeMention, key: str) -> list[Value]:
    """Read when something happens again and again, or at what hour; a single day is an appointment's."""
    words = finder.words
    end = finder.word_from(clause, clause.rest, time.position[1])
    plural = words.at(end) in ("mornings", "afternoons", "evenings", "nights")
    again = time.recurring or plural or time.text.endswith("s")
    if key.rsplit(" ", 1)[-1].lower() not in _EVENTS or not (again or time.precision in ("hour", "minute")):
        return []
    text = f"{time.text} {words.low[end]}" if plural else time.text
    return [Value(text=text, end=end + plural, subject=key, predicate="takes_place")]


def about(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what a text that somebody writes is about."""
    words = finder.words
    key = _own_key(finder, clause)
    if not key or key.rsplit(" ", 1)[-1].lower() not in _TEXTS:
        return []
    end = at
    while end < clause.end and not closes(words, end, clause.end, finder.time_starts):
        end += 1
    return [Value(text=words.slice(at, end), end=end, subject=key)] if 0 < end - at <= _LONGEST_NAME else []


def runs_on(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read what a thing runs on: a product by its name."""
    key = _own_key(finder, clause)
    return [replace(value, subject=key) for value in value_at(finder, clause, at)] if key else []


def on_call(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read who is on call: the speaker, or somebody by name."""
    who = finder.speaker if clause.subject.speaker else clause.subject.name
    if not who or "'s " in who or clause.subject.kind != "person":
        return []
    return [Value(text=who, end=at, subject=f"{finder.speaker}'s on-call")]


def component_key(finder: FactFinder, first: int, end: int) -> str:
    """Return the key of whoever owns a part of a project: "billing module" and "billing" have the same owner. "" for none."""
    words = finder.words
    while end > first + 1 and words.low[end - 1] in _PARTS:
        end -= 1
    if not 0 < end - first <= _LONGEST_KEY or any(words.capital(at) for at in range(first, end)):
        return ""
    return f"{finder.speaker}'s {words.slice(first, end)} owner"


def component(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "the billing module" after "owns": a part of the project, named by what it is."""
    words = finder.words
    if clause.subject.speaker or words.low[at] not in ("the", "our") or not clause.subject.names:
        return []
    end = at + 1
    while end < clause.end and words.low[end].isalpha() and not closes(words, end, clause.end, finder.time_starts):
        end += 1
    key = component_key(finder, at + 1, end) if words.low[end - 1] in _PARTS else ""
    return [Value(text=clause.subject.names[0], end=end, subject=key)] if key else []


_PARTS = word_set(
    "module service component package pipeline area api library repo repository codebase integration account feature docs"
)


def office_holder(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "our team lead" in "Jonas is our team lead": who holds the office is the fact."""
    words = finder.words
    low = words.low
    names = clause.subject.names
    if clause.subject.speaker or len(names) != 1 or clause.subject.kind == "thing":
        return []
    owned = low[at] in ("my", "our", "the")
    first = at + owned
    end = first
    while (
        end < clause.end
        and (low[end].replace("-", "").isalpha())
        and not closes(words, end, clause.end, finder.time_starts)
    ):
        end += 1
    noun = key_end(low, first, end)
    pair = " ".join(low[max(noun - 2, first) : noun])
    ours = owned or not {"our", "my"}.isdisjoint(low[noun:end])
    if not ours or noun == first or (low[noun - 1] not in OFFICES and pair not in OFFICES):
        return []
    if low[at] == "the" and noun - first == 1 and noun == end:
        return []  # "Anna is the head" of what?
    key = owned_key(finder, finder.speaker, first, end)
    return [Value(text=names[0], end=end, subject=key)] if key else []
