"""Ages, dates and ways to reach somebody."""

import re

from rememo.extract import lexicon
from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.pattern_row import Value
from rememo.recall.time import TimeMention

EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}")
PHONE = re.compile(r"\+?\d[\d\s().-]{4,18}\d")
_OLDEST = 120
_YOUNGEST = 16
"""The least age in words that a speaker is believed to have."""
_MEASURE = re.compile(r"\d+(?:[.,]\d+)?\s?(?:kilos?|kg|pounds|lbs?|stone)\b", re.IGNORECASE)
_AFTER_AGE = frozenset(
    ("", ",", ".", "!", "and", "but", "now", "today", "not", "years", "year", "yrs", "yo", ")", ";", "so")
)


def age(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an age in years: "34", "34 years old", "thirty"; "2 hours late" is none."""
    words = finder.words
    number = lexicon.AGES.get(words.low[at], words.low[at])
    if clause.subject.speaker and number != words.low[at] and int(number) < _YOUNGEST:
        return []
    after = words.at(at + 1)
    several = words.low[clause.rest - 1] in ("are", "'re") and clause.lemma == "be" and not clause.subject.speaker
    if not number.isdecimal() or not 0 < int(number[:4]) < _OLDEST or several:
        return []
    timed = at + 1 < clause.end and words.start[at + 1] in finder.time_starts
    if (after not in _AFTER_AGE and not timed) or (after == "," and words.at(at + 2)[:1].isdigit()):
        return []
    if after in ("years", "year", "yrs") and words.at(at + 2) not in ("old", "young", "of"):
        return []
    return [Value(text=number, end=at + 1)]


def birthday(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a day of birth that is told in figures."""
    words = finder.words
    for mention in finder.times_of(clause, "past"):
        if mention.position[0] in (words.start[at], words.start[at - 1]) and _is_date(mention):
            return [Value(text=_date_of(mention), end=finder.word_from(clause, at, mention.position[1]))]
    return []


def _is_date(mention: TimeMention) -> bool:
    """Tell whether a time is a day that is told in figures."""
    figures = any(sign.isdigit() for sign in mention.text)
    return mention.precision == "day" and mention.direction == "in" and figures


def _date_of(mention: TimeMention) -> str:
    return mention.text.removeprefix("on ").removeprefix("in ")


def birth_year(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a year of birth."""
    for mention in finder.times_of(clause, "past"):
        if (
            mention.precision == "year"
            and mention.text.lower().startswith("in ")
            and mention.start.year < finder.at.year
        ):
            return [Value(text=mention.text.split()[-1], end=at + 1)]
    return []


def _pattern(expression: re.Pattern[str], finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    begin, end = finder.words.start[min(at, finder.limit - 1)], finder.words.end[finder.limit - 1]
    match = expression.search(finder.text, begin, end)
    return [Value(text=match.group(), end=clause.end)] if match else []


def email(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an address for mail."""
    return _pattern(EMAIL, finder, clause, at)


def my_email(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read an address at which others reach the speaker."""
    return [Value(text=value.text, end=value.end, subject=finder.speaker) for value in email(finder, clause, at)]


def phone(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a number for calls."""
    return _pattern(PHONE, finder, clause, at)


def pronouns(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read pronouns as they are written."""
    return [Value(text=finder.words.slice(at, clause.end), end=clause.end)]


def born_on(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the day of birth, wherever in the clause it stands."""
    for mention in finder.times_of(clause, "past"):
        if _is_date(mention) and mention.start < finder.at:
            return [Value(text=_date_of(mention), end=at + 1)]
    return []


def _changed(finder: FactFinder, clause: Clause, at: int, nouns: frozenset[str]) -> bool:
    """Tell whether it is one's own number or mail that changed."""
    if clause.subject.kind == "thing":
        return not nouns.isdisjoint(clause.subject.thing.split())
    return finder.words.at(at) in ("my", "our") and not nouns.isdisjoint(finder.words.low[at : at + 4])


def new_phone(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the number after "my number changed"."""
    return phone(finder, clause, at) if _changed(finder, clause, at, frozenset({"number", "phone"})) else []


def new_email(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read the address after "I changed my email"."""
    return email(finder, clause, at) if _changed(finder, clause, at, frozenset({"email", "e-mail", "mail"})) else []


def measure(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a weight with its unit."""
    match = _MEASURE.match(finder.text, finder.words.start[at])
    if match is None:
        return []
    return [Value(text=match.group(), end=finder.word_from(clause, at, match.end()))]


def shoe_size(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read "a size 39 in shoes", "shoe size 31"."""
    words = finder.words
    noun = next((index for index in range(at, min(at + 3, clause.end)) if words.low[index] == "size"), clause.end)
    number = words.at(noun + 1)
    if {"shoe", "shoes", "boots", "trainers"}.isdisjoint(words.low[at : clause.end]) or not number[:1].isdigit():
        return []
    return [Value(text=number, end=noun + 2)]


def words_left(finder: FactFinder, clause: Clause, at: int) -> list[Value]:
    """Read a short value as it stands: a size, a blood type."""
    words = finder.words
    end = words.find((",", ";", "and", "but", "so"), at, clause.end)
    short = 0 < end - at <= _LONGEST_VALUE and words.low[at] not in ("not", "a", "the", "too", "very", "my")
    telling = any(words.capital(index) or words.low[index][0].isdigit() for index in range(at, end))
    return [Value(text=words.slice(at, end), end=end)] if short and telling else []


_LONGEST_VALUE = 4
