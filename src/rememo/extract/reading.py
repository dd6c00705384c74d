"""Rows at work: the mood of a clause decides which rows apply, their frames what is read, the clause's times when it held."""

import re
from dataclasses import dataclass, replace

from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder, Span
from rememo.extract.pattern_row import Mood, PatternRow, Value
from rememo.extract.pattern_table import Frame, PatternTable
from rememo.extract.phrases import joined
from rememo.extract.predicates import EVERY
from rememo.extract.readers import READERS
from rememo.extract.rows import ROWS
from rememo.text import verbs
from rememo.text.wordlists import word_set

TABLE = PatternTable.of(ROWS, READERS)
_UNREAL = word_set("almost nearly practically basically literally technically apparently obviously hardly barely")
_LONGEST_ASIDE = 4
"""Words that a complement which says no fact may have before the next is looked at."""
_AHEAD = frozenset({"now", "ing", "future"})
_DATED = frozenset({"plans", "appointment"})
"""What has its time as its whole stretch."""
_PAST = frozenset({"visited", "studied_at"})
"""What has its time as when it was over."""
_OF = re.compile(r" (?:from|for|of|with|at) ")
_FAVOURITES = ("favourite ", "go-to ", "go to ")
_ADJECTIVES = word_set(
    "all-time absolute very new current final latest updated present work personal private mobile main own real actual home"
)


def mood(finder: FactFinder, clause: Clause) -> Mood | None:
    """Return how a clause is put, or None when it asserts nothing: "I would live", "I practically live"."""
    if clause.modal not in ("", "will", "can") or not clause.adverbs.isdisjoint(_UNREAL):
        return None
    if clause.used_to or clause.no_longer or (clause.negated and finder.any_more(clause)):
        return "gone"
    if clause.negated and clause.modal == "can" and not clause.past:
        return "cannot"
    if clause.negated:
        return "never" if clause.past or clause.perfect else "negated"
    if clause.modal == "will" or clause.going_to:
        return "future"
    if clause.modal == "can":
        return "can"
    if clause.past:
        return "past"
    if clause.perfect:
        return "been" if clause.progressive else "perfect"
    return "ing" if clause.progressive else "now"


def read_clause(finder: FactFinder, clause: Clause) -> bool:
    """Let the rows of the clause's verb or thing read it; True when one of them did."""
    put = mood(finder, clause)
    if put is None or not (clause.subject.name or clause.subject.names or clause.subject.kind == "none"):
        return False
    if clause.subject.kind == "thing" and clause.lemma == "be":
        return _read_thing(finder, clause, put)
    matched = False
    if clause.lemma not in TABLE.by_verb:
        return False
    if clause.lemma != "be":
        for frame in TABLE.frames(clause.lemma, finder.words.at(clause.rest)):
            read = _read(finder, clause, frame, put, clause.rest) is not None
            matched |= read and frame.row.value != EVERY and not frame.row.aside
        return matched
    at = clause.rest
    while at < clause.end:
        reached = _complement(finder, clause, put, at)
        matched |= reached is not None
        reach = at if reached is None else max(reached, at)
        at = joined(finder.words, reach, clause.end)
        if reached is None and at - reach > _LONGEST_ASIDE:
            break
    return matched


def _complement(finder: FactFinder, clause: Clause, put: Mood, at: int) -> int | None:
    """Read one of the things that somebody is: "vegetarian and allergic to nuts" are two. Returns where it ends."""
    reached: int | None = None
    for frame in TABLE.frames("be", finder.words.low[at]):
        after = _read(finder, clause, frame, put, at)
        if after is not None:
            reached = after if reached is None else max(reached, after)
    return reached


def _read_thing(finder: FactFinder, clause: Clause, put: Mood) -> bool:
    """Read what follows "my <thing> is"."""
    name = clause.subject.thing
    at = clause.rest + (clause.used_to and finder.words.at(clause.rest) == "be")
    if put == "negated":
        return _instead(finder, clause)
    while " " in name and name not in TABLE.by_thing and name.split(" ", 1)[0] in _ADJECTIVES:
        name = name.split(" ", 1)[1]
    if name not in TABLE.by_thing:
        name = _OF.split(name, maxsplit=1)[0] if _OF.split(name, maxsplit=1)[0] in TABLE.by_thing else name
    key = next((opening for opening in _FAVOURITES if name.startswith(opening)), name)
    frames = (*TABLE.by_thing.get(key, ()), *TABLE.by_thing["..."])
    return any(_read(finder, clause, frame, put, at) is not None for frame in frames)


def _instead(finder: FactFinder, clause: Clause) -> bool:
    """Read "my name isn't Alice, it's Alicia": the second value replaces the first."""
    words = finder.words
    at = clause.end + (words.at(clause.end) == ",")
    if words.at(at) != "it" or words.at(at + 1) not in ("'s", "is"):
        return False
    wrong = words.slice(clause.rest, clause.end) or None
    end = finder.limit - (words.at(finder.limit - 1) in (".", "!"))
    before = len(finder.facts)
    _read_thing(finder, replace(clause, rest=at + 2, end=end, negated=False), "now")
    finder.facts[before:] = [replace(fact, corrects=wrong) for fact in finder.facts[before:]]
    return len(finder.facts) > before


@dataclass(frozen=True, slots=True)
class _Interpretation:
    """What a row says in the mood of a clause."""

    predicate: str
    over: bool = False
    when: Span | None = None
    """When it will be; None: as the clause's own times say."""


def _read(finder: FactFinder, clause: Clause, frame: Frame, put: Mood, at: int) -> int | None:
    """Note what one row reads from a word on; returns where that ends, or None when it does not fit."""
    verdict = _verdict(finder, clause, frame, put) if _fits(frame, clause) else None
    fitting = None if verdict is None else frame.match(finder, clause, at)
    if verdict is None or fitting is None:
        return None
    values, end = fitting
    verdict = _timed(finder, clause, frame.row, put, verdict)
    for value in values or (Value(text=frame.row.value, end=end),):
        _note(finder, clause, value, verdict, frame.row.confidence)
    return end


def _fits(frame: Frame, clause: Clause) -> bool:
    """Tell whether the row speaks of such subjects, and of doing or of what is done to them."""
    row, subject = frame.row, clause.subject
    if row.passive is not None and row.passive != clause.passive and clause.lemma != "be":
        return False
    if not subject.known:
        return "anybody" in frame.who or ("stranger" in frame.who and not clause.past)
    return subject.kind in frame.who or (subject.speaker and "speaker" in frame.who)


def _verdict(finder: FactFinder, clause: Clause, frame: Frame, put: Mood) -> _Interpretation | None:
    """Return what the row says in this mood, or None when that is nothing."""
    row, holds = frame.row, frame.holds
    if ("ahead" in holds and put in _AHEAD) or ("planned" in holds and put in ("past", "perfect")):
        coming = finder.coming(clause)
        if coming is not None:
            return _Interpretation(row.gives, when=coming if row.gives in _DATED else (coming[0], None))
    if "lasting" in holds and put == "now" and not finder.times_of(clause, "future"):
        return _Interpretation(row.gives)
    if put in holds or ("since" in holds and put in ("perfect", "been") and finder.since(clause)[0] is not None):
        return _Interpretation(row.gives)
    if put in frame.over:
        return _Interpretation(row.gives, over=True)
    return _Interpretation(row.opposite) if put == "negated" and row.opposite else None


def _timed(finder: FactFinder, clause: Clause, row: PatternRow, put: Mood, verdict: _Interpretation) -> _Interpretation:
    """Return the verdict with its time."""
    if verdict.when is not None:
        return verdict
    if verdict.predicate in _PAST and (times := finder.happened(clause)):
        return replace(verdict, when=(times[0].moment if verdict.predicate == "visited" else None, times[0].end))
    when = finder.since(clause, change=row.change)
    # "I worked there from 2005 to 2012": it held then.
    over = verdict.over and not (put == "past" and not row.change and when[0] is not None)
    return replace(verdict, when=when, over=over)


def _note(finder: FactFinder, clause: Clause, value: Value, verdict: _Interpretation, confidence: float) -> None:
    finder.add(
        clause,
        value.predicate or verdict.predicate,
        value.text,
        subject=value.subject or None,
        confidence=confidence,
        when=verdict.when or (None, None),
        ends=verdict.over,
        kind=value.kind or None,
        corrects=value.text if value.corrects else None,
    )
    for subject, also, object in () if verdict.over else value.also:
        finder.add(clause, also, object, subject=subject or None, confidence=confidence)


def settle_passive(clause: Clause) -> None:
    """Take "got promoted" for "was promoted" where there are rows for it."""
    form = verbs.FORMS.get(clause.words.at(clause.rest))
    if (
        clause.lemma == "get"
        and form is not None
        and form[0] in TABLE.passives
        and (form[1] in ("past", "participle") or form[0] == "let")
    ):
        clause.lemma, clause.passive, clause.verb_at, clause.rest = form[0], True, clause.rest, clause.rest + 1
