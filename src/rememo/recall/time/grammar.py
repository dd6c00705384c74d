"""The rules that join words to expressions, and the walk over a text that finds them."""

from collections.abc import Iterator
from dataclasses import replace

from rememo.recall.time import words as vocabulary
from rememo.recall.time.dates import (
    clock,
    clock_alone,
    clock_on,
    day_alone,
    day_then_month,
    holiday,
    month,
    season,
    weekday,
    with_time,
    written_date,
    year_alone,
)  # fmt: skip
from rememo.recall.time.mention import Direction
from rememo.recall.time.reading import Parsed, Reading
from rememo.recall.time.relative import (
    ONE,
    Count,
    count_at,
    deictic,
    inside,
    named,
    recurring,
    simple_day,
    times_a_unit,
)
from rememo.recall.time.stretch import DAY, Stretch, around, calendar_unit, day_of, midnight, shift, third

DEEPEST = 3
"""How many expressions may hang on one another: "the day before two weeks before Christmas"."""

_EXACT = ("day", "part", "hour", "minute")
_STARTERS = frozenset(
    {"once", "twice", "weekdays", "weekends", "weeknights", "yesterday", "today", "tonight", "tomorrow", "noon", "midnight", "the", "a", "an", "earlier", "later", "between",
     "in", "on", "at", "during", "around", "over", "throughout"}
    | set(vocabulary.DEICTIC) | vocabulary.EVERY | set(vocabulary.ADVERBS) | set(vocabulary.WEEKDAYS)
    | set(vocabulary.PLURAL_WEEKDAYS) | set(vocabulary.MONTHS) | set(vocabulary.SEASONS) | set(vocabulary.STAGES)
    | set(vocabulary.NUMBERS) | vocabulary.AFTER | vocabulary.BEFORE | {phrase[0] for phrase in vocabulary.HOLIDAYS}
)  # fmt: skip
_RECURRING = frozenset({*vocabulary.ADVERBS, *vocabulary.PLURAL_WEEKDAYS, "weekdays", "weekends", "weeknights"})
_LEADING = frozenset({"in", "on", "at", "during", "around", "over", "throughout"})
_UNTIL = frozenset({"until", "till", "til", "by", "through"})

Expression = tuple[Stretch, Direction, int, int]
"""A stretch, its direction, its first word and the word after its last."""


def expressions(reading: Reading) -> Iterator[Expression]:
    """Yield the time expressions from left to right; they never overlap. The work is linear in the words."""
    index = 0
    words, count = reading.words, reading.count
    while index < count:
        word = words[index]
        if word in _STARTERS or word in reading.anchors or word[0].isdecimal():
            try:
                parsed = _expression(reading, index)
            except (OverflowError, ValueError, StopIteration):
                parsed = None  # a 30th of February, or years beyond the calendar: no time is meant
            if parsed is not None:
                yield parsed[0], parsed[1], index, parsed[2]
                index = parsed[2]
                continue
        index += 1


def _expression(reading: Reading, index: int) -> tuple[Stretch, Direction, int] | None:
    words = reading.words
    word = words[index]
    if word == "between" or (word == "from" and words[index + 1] != "now"):
        links = ("and",) if word == "between" else ("to", "until", "till", "through", "-")
        if ranged := _range(reading, core(reading, index + 1, DEEPEST, opened=True), links, bare=False):
            return ranged[0], "in", ranged[1]
        if word == "between":
            return None
    if word in vocabulary.AFTER or word in vocabulary.BEFORE:
        return _directed(reading, index)
    if word in _LEADING:
        parsed = _after_preposition(reading, index)
        return None if parsed is None else (parsed[0], "in", parsed[1])
    if word in ("earlier", "later"):
        return _rest_of(reading, index)
    links = ("to", "through", "-")
    opened = index > 0 and words[index - 1] in vocabulary.MONTH_OPENERS
    parsed = core(reading, index, 0, opened=opened)
    if parsed is None and (word.isdecimal() or word in vocabulary.MONTHS) and words[index + 1] in links:
        parsed = _range(
            reading, core(reading, index, DEEPEST, opened=True), links, bare=True
        )  # "2019-2021", "March to June"
    elif parsed is not None and words[parsed[1]] in links:
        parsed = _range(reading, parsed, links, bare=True) or parsed
    return None if parsed is None else (parsed[0], "in", parsed[1])


def _directed(reading: Reading, index: int) -> tuple[Stretch, Direction, int] | None:
    word = reading.words[index]
    parsed = core(reading, index + 1, 0, opened=True)
    if parsed is None:
        return None
    stretch, after = parsed
    if word == "from":
        onwards = reading.words[after] in ("on", "onward", "onwards")
        return stretch, "after" if onwards else "in", after + onwards
    if word in vocabulary.AFTER:
        return (stretch if word == "since" else replace(stretch, start=stretch.end, moment=None)), "after", after
    return (stretch if word in _UNTIL else replace(stretch, end=stretch.start, moment=None)), "before", after


def _after_preposition(reading: Reading, index: int) -> Parsed:
    words = reading.words
    if words[index] == "in" and (parsed := _ahead(reading, index + 1)):
        return parsed
    if words[index] in ("at", "around") and (time := clock(reading, index + 1, bare=words[index] == "at")):
        return _clock_then_day(reading, time)
    return core(reading, index + 1, 0, opened=True)


def _ahead(reading: Reading, index: int) -> Parsed:
    """Read "(in) two weeks", "(in) a month's time"; "in a minute" is no time."""
    counted = count_at(reading, index)
    if counted is None:
        return None
    count, after = counted
    unit = vocabulary.UNITS.get(reading.words[after])
    if unit is None or unit == "weekend" or (unit == "minute" and count == ONE):
        return None
    if reading.words[after + 1] in ("before", "after", "from", "ago", "of"):
        return None
    after += 1
    if reading.words[after] == "'":
        after += 1 + (reading.words[after + 1] == "s")
    after += reading.words[after] == "time"
    return around(reading.at, unit, *count), after


def _clock_then_day(reading: Reading, time: tuple[int, int, int]) -> Parsed:
    hour, minute, after = time
    start = after + 1 if reading.words[after] in ("on", ",") else after
    day = None if reading.words[start] in _LEADING else core(reading, start, DEEPEST, opened=start > after)
    if day is not None and day[0].precision == "day" and day[0].end - day[0].start == DAY:
        return replace(clock_on(day[0].start, hour, minute), recurring=day[0].recurring), day[1]
    if reading.words[start] == "tonight":
        return clock_on(reading.today, hour, minute), start + 1
    return clock_alone(reading, hour, minute), after


def _rest_of(reading: Reading, index: int) -> tuple[Stretch, Direction, int] | None:
    """Read "earlier this year", "later today"."""
    if reading.words[index + 1] not in ("this", "today", "tonight"):
        return None
    parsed = core(reading, index + 1, 0, opened=True)
    if parsed is None:
        return None
    stretch, after = parsed
    if stretch.start < reading.at < stretch.end:
        stretch = (
            replace(stretch, end=reading.at)
            if reading.words[index] == "earlier"
            else replace(stretch, start=reading.at)
        )
    return stretch, "in", after


def _range(reading: Reading, first: Parsed, links: tuple[str, ...], *, bare: bool) -> Parsed:
    """Join an expression with one that a link ties to it; both ends are meant. ``bare``: no "from" or "between" before."""
    if first is None or reading.words[first[1]] not in links or first[0].recurring:
        return None
    if bare and first[0].precision not in ("month", "year", "day"):
        return None
    second = core(reading, first[1] + 1, DEEPEST, opened=True)
    if second is None or (bare and second[0].precision != first[0].precision):
        return None
    begin, finish = _aligned(reading, first[0], second[0])
    if begin.start >= finish.end:
        return None
    return Stretch(begin.start, finish.end, begin.precision), second[1]


def _aligned(reading: Reading, begin: Stretch, finish: Stretch) -> tuple[Stretch, Stretch]:
    """Move an end whose year, week or day was only guessed to where the other end makes sense of it."""
    unit = begin.floating
    if not unit:
        if finish.floating and finish.start < begin.start:
            finish = _moved(
                finish, finish.floating, 1 if finish.floating != "year" else begin.start.year - finish.start.year
            )
            finish = _moved(finish, finish.floating, 1) if finish.start < begin.start else finish
        return begin, finish
    if unit == "month":
        months = (finish.start.year - begin.start.year) * 12 + finish.start.month - begin.start.month
        begin = _moved(begin, unit, months)
        return (_moved(begin, unit, -1) if begin.start > finish.start else begin), finish
    if unit == "year" and not finish.floating:
        begin = _moved(begin, unit, finish.start.year - begin.start.year)
        return (_moved(begin, unit, -1) if begin.start > finish.start else begin), finish
    if begin.start > finish.start:
        if reading.lean == "past":
            return _moved(begin, unit, -1), finish
        return begin, _moved(finish, unit, 1)
    return begin, finish


def _moved(stretch: Stretch, unit: str, count: int) -> Stretch:
    return replace(stretch, start=shift(stretch.start, unit, count), end=shift(stretch.end, unit, count), moment=None)


def core(reading: Reading, index: int, depth: int, *, opened: bool) -> Parsed:  # noqa: PLR0912 - one branch a kind of word
    """Read one expression without a leading preposition. ``opened`` says that one stood before it."""
    words = reading.words
    word = words[index]
    if not word:
        return None
    if word[0].isdecimal():
        return _numeric(reading, index, depth, opened=opened)
    if word in ("a", "an") or word in vocabulary.NUMBERS:
        return _counted(reading, index, depth)
    if word in ("my", "our", "the"):
        return with_time(reading, holiday(reading, index)) or (
            _after_the(reading, index + 1, depth, opened=opened) if word == "the" else None
        )
    if word in ("yesterday", "today", "tonight", "tomorrow"):
        return simple_day(reading, index)
    if word in vocabulary.DEICTIC:
        return deictic(reading, index)
    if word in ("once", "twice"):
        return times_a_unit(reading, index)
    if word in vocabulary.EVERY or word in _RECURRING:
        return recurring(reading, index)
    if word in vocabulary.STAGES:
        return _stage(reading, index, depth)
    if word in vocabulary.WEEKDAYS:
        return inside(reading, with_time(reading, weekday(reading, index, opened=opened)))
    if word in vocabulary.MONTHS:
        return inside(reading, with_time(reading, month(reading, index, opened=opened)))
    if word in vocabulary.SEASONS:
        return inside(reading, season(reading, index, opened=opened))
    if time := clock(reading, index, bare=False):
        return _clock_then_day(reading, time) if depth < DEEPEST else (clock_alone(reading, time[0], time[1]), time[2])
    return inside(reading, with_time(reading, holiday(reading, index)))


def _numeric(reading: Reading, index: int, depth: int, *, opened: bool) -> Parsed:
    if reading.number(index) is None:
        return None
    if time := clock(reading, index, bare=False):
        return _clock_then_day(reading, time) if depth < DEEPEST else (clock_alone(reading, time[0], time[1]), time[2])
    for rule in (written_date, day_then_month):
        if parsed := inside(reading, with_time(reading, rule(reading, index))):
            return parsed
    if parsed := _counted(reading, index, depth):
        return parsed
    return year_alone(reading, index) if opened else None


def _after_the(reading: Reading, index: int, depth: int, *, opened: bool) -> Parsed:  # noqa: PLR0912
    words = reading.words
    word = words[index]
    if word == "other" and words[index + 1] in ("day", "night", "week"):
        return Stretch(reading.today - 7 * DAY, reading.today, "week", reading.today - 3 * DAY), index + 2
    if parsed := inside(reading, with_time(reading, day_then_month(reading, index))):
        return parsed
    if word[:1].isdecimal() or word in vocabulary.ORDINALS:
        if opened and (parsed := with_time(reading, day_alone(reading, index))):
            return parsed
        return year_alone(reading, index) if words[index + 1] == "s" else None
    if word == "'" and words[index + 2] == "s":
        return year_alone(reading, index + 1)
    if word == "year" and (parsed := year_alone(reading, index + 1)):
        return parsed
    if words[index + 1] == "before" and words[index + 2] == "last" and word not in vocabulary.PARTS:
        parsed = named(reading, index, -2)
        return None if parsed is None else (parsed[0], index + 3)
    if words[index + 1] == "after" and words[index + 2] == "next" and word in vocabulary.UNITS:
        return calendar_unit(shift(reading.at, vocabulary.UNITS[word], 2), vocabulary.UNITS[word]), index + 3
    if word in vocabulary.UNITS:
        return _definite(reading, index, depth)
    if word in vocabulary.DEICTIC:
        return None if word in ("this", "following") else deictic(reading, index)
    if word in vocabulary.STAGES:
        return _stage(reading, index, depth)
    if word in vocabulary.SEASONS:
        return inside(reading, season(reading, index, opened=opened))
    if word in vocabulary.WEEKDAYS and word not in vocabulary.SHORT_WEEKDAYS and opened:
        return core(reading, index, depth, opened=True)
    return with_time(reading, holiday(reading, index))


def _stage(reading: Reading, index: int, depth: int) -> Parsed:
    """Read "early May", "mid-2019", "the end of the year"; "late" and "start" alone are no time."""
    words = reading.words
    first, last = vocabulary.STAGES[words[index]]
    after = index + 1
    if words[after] in ("-", "of", "in"):
        after += 1
    parsed = None
    if words[after] == "the" and words[after + 1] in ("week", "month", "year", "decade"):
        parsed = calendar_unit(reading.at, words[after + 1]), after + 2
    elif depth < DEEPEST:
        parsed = core(reading, after, DEEPEST, opened=True)
    if parsed is None or parsed[0].precision not in ("week", "month", "season", "year", "decade"):
        return None
    return third(parsed[0], first, last), parsed[1]


def _counted(reading: Reading, index: int, depth: int) -> Parsed:
    """Read "two weeks ago", "3 days from now", "a week before Christmas"."""
    counted = count_at(reading, index)
    if counted is None:
        return None
    count, after = counted
    words = reading.words
    unit = vocabulary.UNITS.get(words[after])
    if unit is None:
        return times_a_unit(reading, index) if words[after] == "times" else None
    after += 1
    if words[after] == "or" and words[after + 1] in ("so", "two"):
        count = (count[0], count[1], count[2] + (words[after + 1] == "two"))
        after += 2
    if words[after] in ("ago", "back"):
        return around(reading.at, unit, -count[0], -count[1], -count[2]), after + 1
    if words[after] == "from" and words[after + 1] in ("now", "today"):
        return around(reading.at, unit, *count), after + 2
    return _composed(reading, unit, count, after, depth)


def _composed(reading: Reading, unit: str, count: Count, index: int, depth: int) -> Parsed:
    words = reading.words
    prior = words[index] == "prior" and words[index + 1] == "to"
    if depth >= DEEPEST or not (prior or words[index] in ("before", "after", "from", "until")):
        return None
    anchor = core(reading, index + 1 + prior, depth + 1, opened=True)
    if anchor is None or anchor[0].recurring:
        return None
    stretch, after = anchor
    backwards = prior or words[index] in ("before", "until")
    steps = -count[1] if backwards else count[1]
    if stretch.precision in _EXACT and unit not in ("minute", "hour"):
        moved = shift(midnight(stretch.start.date()), unit, steps)
        exact = unit in ("day", "week", "fortnight")
        return (day_of(moved) if exact else replace(calendar_unit(moved, unit), moment=moved)), after
    if unit == "day":
        return day_of((stretch.start if backwards else stretch.end - DAY) + DAY * steps), after
    return replace(_moved(stretch, unit, steps), floating=""), after


def _definite(reading: Reading, index: int, depth: int) -> Parsed:
    """Read "the day before yesterday", "the week of May 7", "the week after Christmas"."""
    words = reading.words
    unit = vocabulary.UNITS[words[index]]
    link = words[index + 1]
    if words[index].endswith("s") or unit in ("minute", "hour") or depth >= DEEPEST:
        return None
    if link == "of" and unit in ("week", "weekend", "month"):
        parsed = core(reading, index + 2, depth + 1, opened=True)
        if parsed is None or parsed[0].precision != "day":
            return None
        return calendar_unit(parsed[0].start, unit), parsed[1]
    if link not in ("before", "after"):
        return None
    if unit == "day":
        return with_time(reading, _composed(reading, unit, ONE, index + 1, depth))
    anchor = core(reading, index + 2, depth + 1, opened=True)
    if anchor is None or anchor[0].recurring:
        return None
    stretch, after = anchor
    if unit == "weekend":
        near = calendar_unit(stretch.start, unit)
        step = (
            (-1 if near.start >= stretch.start else 0) if link == "before" else (1 if near.start < stretch.end else 0)
        )
        return _moved(near, "week", step), after
    precision = calendar_unit(stretch.start, unit).precision
    if link == "before":
        return Stretch(shift(stretch.start, unit, -1), stretch.start, precision), after
    return Stretch(stretch.end, shift(stretch.end, unit, 1), precision), after
