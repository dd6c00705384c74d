"""Times that are said from where one stands: "last May", "this morning", "the past two weeks", "every Monday"."""

from dataclasses import replace

from rememo.recall.time import words as vocabulary
from rememo.recall.time.dates import clock, clock_on, holiday_at, holiday_of, weekday_date, with_time, year_at
from rememo.recall.time.reading import Parsed, Reading
from rememo.recall.time.stretch import (
    DAY,
    WEEK,
    Stretch,
    calendar_unit,
    day_of,
    hours_of,
    midnight,
    month_of,
    season_of,
    shift,
    weekday_near,
    yearly_beside,
)  # fmt: skip

Count = tuple[int, int, int]
LONGEST_COUNT = 3
ONE: Count = (1, 1, 1)


def count_at(reading: Reading, index: int) -> tuple[Count, int] | None:
    """Return an amount and the word after it: "3", "three", "a couple of", "two or three", "2-3"."""
    words = reading.words
    word = words[index]
    if word in ("a", "an"):
        if words[index + 1] in ("few", "couple", "dozen"):
            return count_at(reading, index + 1)
        return ONE, index + 1
    first = _plain_count(reading, index)
    if first is None:
        return None
    after = index + 1
    if word == "couple" and words[after] == "of":
        after += 1
    if word == "few" and words[index - 1] == "past":
        return first, after
    if words[after] in ("or", "to", "-") and (second := _plain_count(reading, after + 1)) and second[1] >= first[1]:
        return (first[0], first[1], second[2]), after + 2
    return first, after


def _plain_count(reading: Reading, index: int) -> Count | None:
    if (count := vocabulary.NUMBERS.get(reading.words[index])) is not None:
        return count
    number = reading.number(index)
    if number is None or not number or len(reading.words[index]) > LONGEST_COUNT:
        return None
    return number, number, number


def simple_day(reading: Reading, index: int) -> Parsed:
    """Read yesterday, today, tonight, tomorrow, with what part of the day follows."""
    word = reading.words[index]
    if word == "tonight":
        if words_clock := clock(reading, index + 2, bare=True) if reading.words[index + 1] == "at" else None:
            hour = words_clock[0] + 12 if words_clock[0] < 12 else words_clock[0]  # noqa: PLR2004 - tonight at 9 is 21:00
            return clock_on(reading.today, hour, words_clock[1]), words_clock[2]
        return hours_of(reading.today, *vocabulary.PARTS["night"]), index + 1
    offset = {"yesterday": -1, "today": 0, "tomorrow": 1}[word]
    return with_time(reading, (day_of(reading.today + DAY * offset), index + 1))


def named(reading: Reading, index: int, offset: int) -> Parsed:  # noqa: PLR0912 - one branch for each kind of name
    """Read what follows "last" (-1), "this" (0) or "next" (1): a unit, weekday, month, season, part of the day, holiday."""
    word = reading.words[index]
    at, today = reading.at, reading.today
    after = index + 1
    if word in ("night", "evening", "morning", "afternoon"):
        if offset > 0 or (offset < 0 and word not in ("night", "evening")):
            return None
        return hours_of(today + DAY * offset, *vocabulary.PARTS[word]), after
    unit = vocabulary.UNITS.get(word)
    if unit is not None:
        if word.endswith("s") or unit in ("minute", "day") or (unit == "hour" and offset > 0):
            return None  # "last minute", "the next day" and "these days" point elsewhere
        return calendar_unit(shift(at, "week" if unit == "weekend" else unit, offset), unit), after
    if word in vocabulary.WEEKDAYS and (
        word not in vocabulary.SHORT_WEEKDAYS
        or word not in ("sun", "sat", "wed", "mon")
        or reading.raw[index][0].isupper()
    ):
        weekday = vocabulary.WEEKDAYS[word]
        if (stated := weekday_date(reading, index)) is not None:
            return with_time(reading, stated)
        if offset < 0:
            day = day_of(weekday_near(today, weekday, "past").start + WEEK * (offset + 1))
        else:
            day = day_of(today + DAY * (weekday - today.weekday()) + WEEK * offset)
            if offset == 0 and reading.lean == "future" and day.end <= at:
                day = day_of(day.start + WEEK)
        return with_time(reading, (day, after))
    if word in vocabulary.MONTHS:
        if year_at(reading, after) is not None:
            return None
        number = vocabulary.MONTHS[word]
        if offset == 0:
            return month_of(at.year, number), after
        return yearly_beside(at, offset, lambda year: month_of(year, number)), after
    if word in vocabulary.SEASONS:
        first_month = vocabulary.SEASONS[word]
        return yearly_beside(at, offset, lambda year: season_of(year, first_month)), after
    if phrase := holiday_at(reading, index):
        return yearly_beside(at, offset, lambda year: holiday_of(phrase, year)), index + len(phrase)
    return None


def deictic(reading: Reading, index: int) -> Parsed:
    """Read "last week", "this past weekend", "the past two months", "next few days", "earlier this year"."""
    words = reading.words
    word = words[index]
    offset = vocabulary.DEICTIC[word]
    after = index + 1
    if word == "this" and words[after] in ("past", "last", "coming", "upcoming", "next"):
        word, offset, after = words[after], vocabulary.DEICTIC[words[after]], after + 1
    if offset and words[after] not in ("a", "an") and (counted := count_at(reading, after)):
        unit = vocabulary.UNITS.get(words[counted[1]])
        return None if unit is None else (_rolling(reading, unit, counted[0][2] * offset), counted[1] + 1)
    unit = vocabulary.UNITS.get(words[after])
    if word == "past" and unit is not None and unit not in ("weekend", "day") and not words[after].endswith("s"):
        return _rolling(reading, unit, -1), after + 1
    return refined(reading, named(reading, after, offset))


def _rolling(reading: Reading, unit: str, count: int) -> Stretch:
    other = shift(reading.at, unit, count)
    if unit not in ("minute", "hour"):
        other = midnight(other.date()) if count < 0 else midnight(other.date()) + DAY
    precision = calendar_unit(reading.at, unit).precision
    return Stretch(min(other, reading.at), max(other, reading.at), precision)


def refined(reading: Reading, parsed: Parsed) -> Parsed:
    """Narrow a week to a weekday and a year to a month or season said after it: "last week on Tuesday"."""
    if parsed is None or parsed[0].precision not in ("week", "year"):
        return parsed
    stretch, after = parsed
    words = reading.words
    name = after + 1 if words[after] in ("on", "in") else after
    if (
        stretch.precision == "week"
        and words[name] in vocabulary.WEEKDAYS
        and words[name] not in vocabulary.SHORT_WEEKDAYS
    ):
        return with_time(reading, (day_of(stretch.start + DAY * vocabulary.WEEKDAYS[words[name]]), name + 1))
    if stretch.precision == "year" and name > after and words[name] in vocabulary.MONTHS:
        return month_of(stretch.start.year, vocabulary.MONTHS[words[name]]), name + 1
    return parsed


def inside(reading: Reading, parsed: Parsed) -> Parsed:
    """Place a weekday in a week and a month or season in a year said after it: "Tuesday of next week", "May last year"."""
    if parsed is None or parsed[0].floating not in ("week", "year"):
        return parsed
    stretch, after = parsed
    words = reading.words
    index = after + 1 if words[after] == "of" else after
    index += words[index] == "the"
    if words[index] not in vocabulary.DEICTIC or words[index] == "following":
        return parsed
    period = named(reading, index + 1, vocabulary.DEICTIC[words[index]])
    if period is None:
        return parsed
    if stretch.floating == "week" and period[0].precision == "week":
        return with_time(reading, (day_of(period[0].start + DAY * stretch.start.weekday()), period[1]))
    if stretch.floating == "year" and period[0].precision == "year":
        years = period[0].start.year - stretch.start.year
        moved = Stretch(shift(stretch.start, "year", years), shift(stretch.end, "year", years), stretch.precision)
        return with_time(reading, (moved, period[1]))
    return parsed


def recurring(reading: Reading, index: int) -> Parsed:
    """Read "every Monday (and Thursday)", "every other week", "on Mondays", "daily"."""
    words = reading.words
    word = words[index]
    if word in ("weekdays", "weekends", "weeknights"):
        return _workdays(reading, word), index + 1
    if (unit := vocabulary.ADVERBS.get(word)) is not None:
        if (index and reading.raw[index][0].isupper()) or (
            words[index + 1].isalpha() and words[index + 1] not in vocabulary.AFTER_A_DAY_NUMBER
        ):
            return None  # "The Daily Grind", "my daily walk"
        return replace(calendar_unit(reading.at, unit), recurring=True), index + 1
    if word in vocabulary.PLURAL_WEEKDAYS:
        stretch = weekday_near(reading.today, vocabulary.PLURAL_WEEKDAYS[word], reading.lean)
        return _more_weekdays(reading, with_time(reading, (replace(stretch, recurring=True), index + 1)))
    after = index + 1
    while words[after] in ("other", "second", "single") or (words[after] in vocabulary.NUMBERS and after < index + 3):
        after += 1
    name = words[after]
    if (weekday := vocabulary.WEEKDAYS.get(name, vocabulary.PLURAL_WEEKDAYS.get(name))) is not None:
        stretch = weekday_near(reading.today, weekday, reading.lean)
        return _more_weekdays(reading, with_time(reading, (replace(stretch, recurring=True), after + 1)))
    if name in vocabulary.PARTS:
        return replace(hours_of(reading.today, *vocabulary.PARTS[name]), recurring=True), after + 1
    if (unit := vocabulary.UNITS.get(name)) is not None and unit not in ("minute", "hour"):
        return replace(calendar_unit(reading.at, unit), recurring=True), after + 1
    parsed = (
        named(reading, after, 0)
        if name in vocabulary.MONTHS or name in vocabulary.SEASONS or holiday_at(reading, after)
        else None
    )
    return None if parsed is None else (replace(parsed[0], recurring=True), parsed[1])


def _workdays(reading: Reading, word: str) -> Stretch:
    week = calendar_unit(reading.at, "week")
    saturday = week.start + 5 * DAY
    if word == "weekends":
        return Stretch(saturday, week.end, "weekend", recurring=True)
    return Stretch(week.start, saturday, "week", recurring=True)


def times_a_unit(reading: Reading, index: int) -> Parsed:
    """Read "once a week", "three times a month", "twice per day"."""
    words = reading.words
    after = index + 1
    if words[index] not in ("once", "twice"):
        counted = count_at(reading, index)
        if counted is None or words[counted[1]] != "times":
            return None
        after = counted[1] + 1
    unit = vocabulary.UNITS.get(words[after + 1])
    if words[after] not in ("a", "an", "per", "every", "each") or unit is None or unit in ("minute", "hour"):
        return None
    return replace(calendar_unit(reading.at, unit), recurring=True), after + 2


def _more_weekdays(reading: Reading, parsed: Parsed) -> Parsed:
    if parsed is None:
        return None
    stretch, after = parsed
    words = reading.words
    while words[after] in (",", "and", "&"):
        name = after + 2 if words[after + 1] in ("and", "&") else after + 1
        if words[name] not in vocabulary.WEEKDAYS and words[name] not in vocabulary.PLURAL_WEEKDAYS:
            break
        after = name + 1
    return stretch, after
