"""Calendar arithmetic on local, naive datetimes. Everything here may raise OverflowError or ValueError far from now."""

import calendar
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from rememo.recall.time.mention import Lean, Precision

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
_STEPS: dict[str, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_PRECISIONS: dict[str, Precision] = {
    "minute": "minute", "hour": "hour", "day": "day", "week": "week", "fortnight": "week", "weekend": "weekend",
    "month": "month", "quarter": "season", "year": "year", "decade": "decade",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of local time while it is being worked out."""

    start: datetime
    end: datetime
    precision: Precision
    moment: datetime | None = None
    recurring: bool = False
    floating: str = ""
    """What was left open and filled by leaning: "year", "week" or "day"; a range may move it to fit its other end."""


def midnight(day: date) -> datetime:
    """Return the first instant of a local day."""
    return datetime.combine(day, time())


def day_of(day: date | datetime) -> Stretch:
    """Return one whole day."""
    start = midnight(day.date() if isinstance(day, datetime) else day)
    return Stretch(start, start + DAY, "day")


def hours_of(day: datetime, first: int, last: int) -> Stretch:
    """Return a part of a day, given in hours after its midnight."""
    return Stretch(day + timedelta(hours=first), day + timedelta(hours=last), "part")


def shift_months(moment: datetime, months: int) -> datetime:
    """Move by whole months; the 31st becomes the last day of a shorter month."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def shift(moment: datetime, unit: str, count: int) -> datetime:
    """Move by ``count`` units."""
    if unit in _STEPS:
        return shift_months(moment, count * _STEPS[unit])
    if unit == "minute":
        return moment + timedelta(minutes=count)
    if unit == "hour":
        return moment + timedelta(hours=count)
    return moment + (DAY if unit == "day" else 2 * WEEK if unit == "fortnight" else WEEK) * count


def months_from(year: int, month: int, count: int, precision: Precision) -> Stretch:
    """Return ``count`` whole months."""
    start = datetime(year, month, 1)  # noqa: DTZ001 - local until the caller's zone is put on
    return Stretch(start, shift_months(start, count), precision)


def year_of(year: int) -> Stretch:
    """Return a calendar year."""
    return months_from(year, 1, 12, "year")


def month_of(year: int, month: int) -> Stretch:
    """Return a calendar month."""
    return months_from(year, month, 1, "month")


def calendar_unit(moment: datetime, unit: str) -> Stretch:
    """Return the calendar unit that holds the moment; weeks begin on Monday, a weekend is Saturday and Sunday."""
    today = midnight(moment.date())
    precision = _PRECISIONS[unit]
    if unit == "minute":
        start = moment.replace(second=0, microsecond=0)
        return Stretch(start, start + timedelta(minutes=1), precision)
    if unit == "hour":
        start = moment.replace(minute=0, second=0, microsecond=0)
        return Stretch(start, start + timedelta(hours=1), precision)
    if unit == "day":
        return Stretch(today, today + DAY, precision)
    monday = today - DAY * today.weekday()
    if unit == "week":
        return Stretch(monday, monday + WEEK, precision)
    if unit == "fortnight":
        return Stretch(monday, monday + 2 * WEEK, precision)
    if unit == "weekend":
        return Stretch(monday + 5 * DAY, monday + WEEK, precision)
    if unit == "month":
        return month_of(today.year, today.month)
    if unit == "quarter":
        return months_from(today.year, (today.month - 1) // 3 * 3 + 1, 3, precision)
    if unit == "decade":
        return months_from(today.year // 10 * 10, 1, 120, precision)
    return year_of(today.year)


def around(moment: datetime, unit: str, least: int, best: int, most: int) -> Stretch:
    """Return what "N units" away from the moment means: signed counts, ``least`` the nearest.

    Days and smaller are exact; weeks are the seven days around that day; months and years are calendar ones, since
    nobody counts them to the day.
    """
    near, middle, far = (_window(shift(moment, unit, count), unit) for count in (least, best, most))
    start, end = min(near.start, far.start), max(near.end, far.end)
    moment_of = midnight(shift(moment, unit, best).date()) if unit in ("week", "fortnight") else middle.start
    return Stretch(start, end, near.precision, moment_of)


def _window(moment: datetime, unit: str) -> Stretch:
    if unit in ("week", "fortnight"):
        day = midnight(moment.date())
        return Stretch(day - 3 * DAY, day + 4 * DAY, "week")
    return calendar_unit(moment, unit)


def third(stretch: Stretch, first: int, last: int) -> Stretch:
    """Return thirds of a stretch, cut at midnights."""
    days = max((stretch.end - stretch.start).days, 3)
    start, end = (stretch.start + DAY * round(days * part / 3) for part in (first, last))
    return replace(stretch, start=start, end=end, moment=None)


def weekday_near(today: datetime, weekday: int, lean: Lean) -> Stretch:
    """Return the nearest such weekday before or after today; today itself would have been called today."""
    ahead = (weekday - today.weekday()) % 7
    if lean == "future":
        return day_of(today + DAY * (ahead or 7))
    return day_of(today - DAY * (7 - ahead))


def yearly(at: datetime, lean: Lean, make: Callable[[int], Stretch]) -> Stretch:
    """Choose among the same stretch of neighbouring years: the latest begun, or the first not yet over."""
    if lean == "past":
        chosen = next(stretch for stretch in map(make, range(at.year, at.year - 10, -1)) if stretch.start <= at)
    else:
        chosen = next(stretch for stretch in map(make, range(at.year - 1, at.year + 10)) if stretch.end > at)
    return replace(chosen, floating="year")


def yearly_beside(at: datetime, offset: int, make: Callable[[int], Stretch]) -> Stretch:
    """Return the last one that is over (-1, -2 the one before), this year's (0), or the next to begin (1)."""
    if offset < 0:
        over = (stretch for stretch in map(make, range(at.year, at.year - 10, -1)) if stretch.end <= at)
        return next(itertools.islice(over, -offset - 1, None))
    if offset > 0:
        return next(stretch for stretch in map(make, range(at.year, at.year + 10)) if stretch.start > at)
    last_years = make(at.year - 1)
    return last_years if last_years.end > at else make(at.year)


def season_of(year: int, first_month: int) -> Stretch:
    """Return a season by the year it begins in."""
    return months_from(year, first_month, 3, "season")


def easter(year: int) -> date:
    """Return Easter Sunday (Gregorian, the anonymous algorithm)."""
    century, rest = divmod(year, 100)
    golden = year % 19
    shifted = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - century // 4 - shifted + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    correction = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * correction + 114, 31)
    return date(year, month, day + 1)


def thanksgiving(year: int) -> date:
    """Return the fourth Thursday of November."""
    first = date(year, 11, 1)
    return first + DAY * ((3 - first.weekday()) % 7 + 21)
