"""Dates and times of day that are said outright: "7 May 2023", "2023-05-07", "at 5pm", "the 90s"."""

import re
from dataclasses import replace
from datetime import date, datetime, timedelta

from rememo.recall.time import words as vocabulary
from rememo.recall.time.reading import Parsed, Reading
from rememo.recall.time.stretch import (
    DAY,
    Stretch,
    day_of,
    easter,
    hours_of,
    midnight,
    month_of,
    months_from,
    season_of,
    thanksgiving,
    weekday_near,
    year_of,
    yearly,
)  # fmt: skip

_ISO = re.compile(r"(\d{4})([-/])(\d{1,2})(?:\2(\d{1,2})(?:[T ](\d{2}):(\d{2})(?::\d{2})?)?)?(?![\w-])")
_SLASHED = re.compile(r"(\d{1,2})([/.])(\d{1,2})(?:\2(\d{4}|\d{2}))?(?![\w/]|\.\d)")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s?([ap])(?:m\b|\.\s?m\b\.?)", re.IGNORECASE)
_CLOCK_24 = re.compile(r"(\d{1,2}):(\d{2})(?![\w:])")
_SUFFIXES = frozenset({"st", "nd", "rd", "th"})
FIRST_YEAR, LAST_YEAR = 1000, 2999
FIRST_BARE_YEAR, LAST_BARE_YEAR = 1800, 2100
CENTURY, PIVOT = 100, 70
NOON, HOURS, MINUTES = 12, 24, 60
LATEST_AFTERNOON_HOUR = 7
LONGEST_MONTH = 31


def year_at(reading: Reading, index: int) -> int | None:
    """Return a year of four digits, or of two after an apostrophe."""
    if reading.words[index] == "'" and len(reading.words[index + 1]) == 2 and reading.glued(index + 1):  # noqa: PLR2004
        number = reading.words[index + 1]
        if number.isdecimal():
            return _century(int(number))
        return None
    number = reading.number(index)
    return number if number is not None and FIRST_YEAR <= number <= LAST_YEAR else None


def _century(year: int) -> int:
    return year if year >= CENTURY else year + (1900 if year >= PIVOT else 2000)


def after_year(reading: Reading, index: int) -> int:
    """Return the word after a year that stands here."""
    return index + (1 if reading.words[index].isdecimal() else 2)


def day_number(reading: Reading, index: int) -> tuple[int, int, bool] | None:
    """Return a day of a month, the word after it, and whether it was an ordinal."""
    if (ordinal := vocabulary.ORDINALS.get(reading.words[index])) is not None:
        return ordinal, index + 1, True
    number = reading.number(index)
    if number is None or not 1 <= number <= LONGEST_MONTH:
        return None
    if reading.words[index + 1] in _SUFFIXES and reading.glued(index + 1):
        return number, index + 2, True
    return None if reading.glued(index + 1) and reading.raw[index + 1].isalpha() else (number, index + 1, False)


def dated(reading: Reading, year: int | None, month: int, day: int) -> Stretch:
    """Return a day, its year by leaning when none was said."""
    if year is not None:
        return day_of(date(year, month, day))
    if (month, day) == (2, 29):
        return yearly(reading.at, reading.lean, lambda year: day_of(date(year - year % 4, 2, 29)))
    return yearly(reading.at, reading.lean, lambda year: day_of(date(year, month, day)))


def month(reading: Reading, index: int, *, opened: bool) -> Parsed:
    """Read "May 7th, 2023", "May 2023", "May '23", "May 7-9", and a month alone where nothing else can be meant."""
    words = reading.words
    number = vocabulary.MONTHS[words[index]]
    after = index + 1
    if words[after] == "." and reading.glued(after) and words[after + 1].isdecimal():  # "Jan. 5"
        after += 1
    if (year := year_at(reading, skip_comma(reading, after, ("of", "in")))) is not None:
        return month_of(year, number), after_year(reading, skip_comma(reading, after, ("of", "in")))
    start = after + 1 if words[after] == "the" else after
    first = day_number(reading, start)
    capital = reading.raw[index][0].isupper()
    if first is not None and (capital or opened or first[2] or words[index] not in ("may", "march", "mar")):
        return _days_of_month(reading, number, first[0], first[1])
    opened = (
        opened
        or words[after] in ("last", "next")
        or (words[after] == "of" and words[after + 1] in ("last", "this", "next"))
    )
    if words[index] in vocabulary.AMBIGUOUS_MONTHS and not (
        opened and (capital or words[index - 1] not in ("to", "and"))
    ):
        return None
    return yearly(reading.at, reading.lean, lambda year: month_of(year, number)), after


def _days_of_month(reading: Reading, number: int, first: int, after: int) -> Parsed:
    last = first
    if reading.words[after] in ("-", "to", "through") and (end := day_number(reading, after + 1)) and end[0] > first:
        last, after = end[0], end[1]
    year_index = skip_comma(reading, after, ("of", "in"))
    year = year_at(reading, year_index)
    stretch = dated(reading, year, number, first)
    if last > first:
        stretch = replace(stretch, end=stretch.start + DAY * (last - first + 1))
    return stretch, after if year is None else after_year(reading, year_index)


def skip_comma(reading: Reading, index: int, links: tuple[str, ...] = ()) -> int:
    """Return the next word behind a comma or a linking word."""
    return index + 1 if reading.words[index] == "," or reading.words[index] in links else index


def day_then_month(reading: Reading, index: int) -> Parsed:
    """Read "7 May 2023", "the 3rd of June", "5-9 May"."""
    first = day_number(reading, index)
    if first is None:
        return None
    number, after, ordinal = first
    last = number
    if reading.words[after] in ("-", "to") and (end := day_number(reading, after + 1)) and end[0] > number:
        last, after = end[0], end[1]
    linked = after + 1 if reading.words[after] == "of" or (ordinal and reading.words[after] == "in") else after
    name = reading.words[linked]
    if name not in vocabulary.MONTHS or (
        name in ("may", "march", "mar") and linked == after and not reading.raw[linked][0].isupper()
    ):
        return None
    after = linked + 1
    year_index = skip_comma(reading, after)
    year = year_at(reading, year_index)
    stretch = dated(reading, year, vocabulary.MONTHS[name], number)
    if last > number:
        stretch = replace(stretch, end=stretch.start + DAY * (last - number + 1))
    return stretch, after if year is None else after_year(reading, year_index)


def day_alone(reading: Reading, index: int) -> Parsed:
    """Read "the 3rd" (the month by leaning) where no noun follows it."""
    parsed = day_number(reading, index)
    if parsed is None or not parsed[2] or reading.words[parsed[1]] not in vocabulary.AFTER_A_DAY_NUMBER:
        return None
    at = reading.at
    for offset in range(4):
        year, month = divmod(at.year * 12 + at.month - 1 + (-offset if reading.lean == "past" else offset), 12)
        try:
            stretch = day_of(date(year, month + 1, parsed[0]))
        except ValueError:
            continue
        if stretch.start <= at if reading.lean == "past" else stretch.end > at:
            return replace(stretch, floating="month"), parsed[1]
    return None


def written_date(reading: Reading, index: int) -> Parsed:
    """Read a date of digits: "2023-05-07", "7.5.2023", and "05/17/2023", of which only one order is possible."""
    position = reading.starts[index]
    if match := _ISO.match(reading.text, position):
        year, month = int(match[1]), int(match[3])
        after = reading.index_at(index, match.end())
        if match[4] is None:
            return (month_of(year, month), after) if len(match[3]) == 2 else None  # noqa: PLR2004
        stretch = day_of(date(year, month, int(match[4])))
        return (stretch if match[5] is None else clock_on(stretch.start, int(match[5]), int(match[6]))), after
    match = _SLASHED.match(reading.text, position)
    if match is None or match[4] is None:
        return None
    first, second, after = int(match[1]), int(match[3]), reading.index_at(index, match.end())
    day_first = match[2] == "." or first > NOON
    if not day_first and second <= NOON and first != second:
        return None
    day, month = (first, second) if day_first else (second, first)
    return dated(reading, _century(int(match[4])), month, day), after


def year_alone(reading: Reading, index: int) -> Parsed:
    """Read "2023" after a preposition, "the 1990s", "the 90s"."""
    number = reading.number(index)
    if number is None:
        return None
    if reading.words[index + 1] == "s" and reading.glued(index + 1):
        decade = number if number >= FIRST_YEAR else 1900 + number if 20 <= number < CENTURY else None  # noqa: PLR2004
        return (months_from(decade, 1, 120, "decade"), index + 2) if decade is not None and decade % 10 == 0 else None
    if not FIRST_BARE_YEAR <= number <= LAST_BARE_YEAR or reading.words[index + 1] in vocabulary.COUNTED_THINGS:
        return None
    if reading.glued(index + 1) and reading.words[index + 1] in ("%", "x", "k", "/", "_", ":"):
        return None
    return year_of(number), index + 1


def clock_on(day: datetime, hour: int, minute: int, *, exact: bool = True) -> Stretch:
    """Return an hour, or a minute of it, on a day."""
    start = day + timedelta(hours=hour, minutes=minute)
    return Stretch(start, start + timedelta(minutes=1 if minute and exact else MINUTES), "minute" if minute else "hour")


def clock(reading: Reading, index: int, *, bare: bool) -> tuple[int, int, int] | None:
    """Return hour, minute and the word after: "5pm", "5:30 p.m.", "noon", "5 o'clock"; "17:00" and "5" when ``bare``."""
    word = reading.words[index]
    if word in ("noon", "midday"):
        return NOON, 0, index + 1
    if word == "midnight":
        return HOURS, 0, index + 1
    number = reading.number(index)
    if number is None:
        return None
    position = reading.starts[index]
    if match := _CLOCK.match(reading.text, position):
        hour, minute = int(match[1]), int(match[2] or 0)
        if not 1 <= hour <= NOON or minute >= MINUTES:
            return None
        return hour % NOON + (NOON if match[3] in "pP" else 0), minute, reading.index_at(index, match.end())
    if bare and (match := _CLOCK_24.match(reading.text, position)):
        hour, minute = int(match[1]), int(match[2])
        return (
            (_afternoon(hour), minute, reading.index_at(index, match.end()))
            if hour < HOURS and minute < MINUTES
            else None
        )
    o_clock = reading.words[index + 1] == "o" and reading.words[index + 3] == "clock"
    if 1 <= number <= NOON and (o_clock or (bare and reading.words[index + 1] in vocabulary.AFTER_A_DAY_NUMBER)):
        return _afternoon(number), 0, index + (4 if o_clock else 1)
    return None


def _afternoon(hour: int) -> int:
    # Nobody means three at night by "at 3": one to seven without am or pm is the afternoon.
    return hour + NOON if 1 <= hour <= LATEST_AFTERNOON_HOUR else hour


def clock_alone(reading: Reading, hour: int, minute: int) -> Stretch:
    """Return a time of day without a day: the last one that has come, or the next to come."""
    stretch = clock_on(reading.today, hour, minute)
    if reading.lean == "past" and stretch.start > reading.at:
        stretch = clock_on(reading.today - DAY, hour, minute)
    elif reading.lean == "future" and stretch.end <= reading.at:
        stretch = clock_on(reading.today + DAY, hour, minute)
    return replace(stretch, floating="day")


def with_time(reading: Reading, parsed: Parsed) -> Parsed:
    """Add a part of the day or a time of day that follows a day: "Friday night", "tomorrow at 5", "May 7, 3pm"."""
    if parsed is None or parsed[0].precision != "day" or parsed[0].end - parsed[0].start != DAY:
        return parsed
    stretch, after = parsed
    words = reading.words
    part = after + 2 if words[after] == "in" and words[after + 1] == "the" else after
    if words[part] in vocabulary.PARTS:
        first, last = vocabulary.PARTS[words[part]]
        narrowed = hours_of(stretch.start, first, last)
        return replace(narrowed, recurring=stretch.recurring, floating=stretch.floating), part + 1
    linked = words[after] in ("at", "around", "by", "@", "about")
    if linked or words[after] == "," or words[after].isdecimal() or words[after] in ("noon", "midnight"):
        start = after + 1 if linked or words[after] == "," else after
        if time := clock(reading, start, bare=linked):
            narrowed = clock_on(stretch.start, time[0], time[1])
            return replace(narrowed, recurring=stretch.recurring, floating=stretch.floating), time[2]
    return parsed


def weekday(reading: Reading, index: int, *, opened: bool) -> Parsed:
    """Read "Friday", "Friday, May 7", "Fri" after a preposition."""
    word = reading.words[index]
    if word in vocabulary.SHORT_WEEKDAYS and (
        not opened or (word in ("sun", "sat", "wed", "mon") and reading.raw[index][0].islower())
    ):
        return None
    if index and reading.words[index - 1] in vocabulary.NAMED_WEEKDAYS:
        return None
    if (stated := weekday_date(reading, index)) is not None:
        return stated
    return replace(weekday_near(reading.today, vocabulary.WEEKDAYS[word], reading.lean), floating="week"), index + 1


def weekday_date(reading: Reading, index: int) -> Parsed:
    """Read the date that follows a weekday and says more than it: "Friday, May 7"."""
    after = skip_comma(reading, index + 1, ("the",))
    name = reading.words[after]
    if name in vocabulary.MONTHS and (parsed := month(reading, after, opened=False)) and parsed[0].precision == "day":
        return parsed
    if parsed := day_then_month(reading, after + 1 if name == "the" else after):
        return parsed
    return None


def season(reading: Reading, index: int, *, opened: bool) -> Parsed:
    """Read "summer 2019", "the summer of 2019", "in the fall"."""
    first_month = vocabulary.SEASONS[reading.words[index]]
    year_index = skip_comma(reading, index + 1, ("of",))
    if (year := year_at(reading, year_index)) is not None:
        # "winter 2023" is the one that begins in December 2023.
        return season_of(year, first_month), after_year(reading, year_index)
    return (yearly(reading.at, reading.lean, lambda year: season_of(year, first_month)), index + 1) if opened else None


def holiday_of(phrase: tuple[str, ...], year: int) -> Stretch:
    """Return a named day in a year."""
    number, day = vocabulary.HOLIDAYS[phrase]
    if number:
        return day_of(date(year, number, day))
    return day_of(easter(year) if day == 0 else thanksgiving(year))


def holiday_at(reading: Reading, index: int) -> tuple[str, ...] | None:
    """Return the named day that stands here."""
    choices = vocabulary.HOLIDAY_PHRASES.get(reading.words[index], ())
    return next((phrase for phrase in choices if reading.has(index, phrase)), None)


def holiday(reading: Reading, index: int) -> Parsed:
    """Read "Christmas", "New Year's Eve 2022", and what the caller named as anchors ("my birthday")."""
    for phrase, day in reading.anchors.get(reading.words[index], ()):
        if reading.has(index, phrase):
            if "birthday" in phrase or "anniversary" in phrase:
                return dated(reading, None, day.month, day.day), index + len(phrase)
            return day_of(midnight(day)), index + len(phrase)
    phrase = holiday_at(reading, index)
    if phrase is None:
        return None
    after = index + len(phrase)
    year_index = skip_comma(reading, after, ("of", "in"))
    if (year := year_at(reading, year_index)) is not None:
        return holiday_of(phrase, year), after_year(reading, year_index)
    return yearly(reading.at, reading.lean, lambda year: holiday_of(phrase, year)), after
