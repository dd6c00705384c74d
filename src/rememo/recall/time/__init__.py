"""Time expressions in English text, resolved against the moment they were said.

Written by hand, as a small grammar over words: the general libraries search a text by trying translations and formats on
every part of it, which takes milliseconds a sentence and finds times in "may", "sat" and "second". Here a text without
time words costs a few microseconds, the work is linear in its length, and what is ambiguous is left alone.

What the words mean is stated once: weeks begin on Monday; "last Friday" is the latest before today and "next Friday" the
one of next week; "two weeks ago" is the seven days around that day, "two months ago" the calendar month, "two years ago"
the calendar year; seasons are northern, three whole months; a night runs from 18:00 to 6:00. Days are cut in the zone of ``at``.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime

from rememo.errors import InvalidInput
from rememo.recall.time.grammar import Expression, expressions
from rememo.recall.time.mention import EARLIEST, LATEST, Direction, Lean, Precision, TimeMention
from rememo.recall.time.reading import Reading
from rememo.recall.time.words import TRIGGERS

_WORD = re.compile(r"[a-z]+|\d")
_NO_ANCHORS: Mapping[str, date] = {}


def find_times(
    text: str, at: datetime, *, lean: Lean = "past", anchors: Mapping[str, date] | None = None
) -> list[TimeMention]:
    """Return the time expressions of a text, from left to right, never overlapping.

    ``at`` is when the text was said (aware; its zone decides where days begin). ``lean`` says which Friday a bare "Friday"
    is. ``anchors`` gives days to names that only the caller knows ("my birthday"; birthdays and anniversaries return every
    year, any other is that very day). Raises InvalidInput when ``at`` has no zone, and nothing for any text.
    """
    if at.tzinfo is None:
        raise InvalidInput("`at` has no time zone; pass an aware datetime such as datetime.now(UTC)")
    anchor_days = _NO_ANCHORS if anchors is None else anchors
    lowered = text.lower()
    if TRIGGERS.isdisjoint(_WORD.findall(lowered)) and not any(name.lower() in lowered for name in anchor_days):
        return []
    reading = Reading(text, at, lean=lean, anchors=anchor_days)
    mentions = (_mention(reading, at, expression) for expression in expressions(reading))
    return [mention for mention in mentions if mention is not None]


def _mention(reading: Reading, at: datetime, expression: Expression) -> TimeMention | None:
    stretch, direction, first, after = expression
    position = (reading.starts[first], reading.ends[after - 1])
    try:
        start = EARLIEST if direction == "before" else _utc(stretch.start, at)
        end = LATEST if direction == "after" else _utc(stretch.end, at)
        moment = start if stretch.moment is None else _utc(stretch.moment, at)
    except (OverflowError, ValueError):
        return None
    if end <= start:
        # Clocks put forward: the hour that does not exist keeps its length.
        end = start + (stretch.end - stretch.start)
    if end <= start:
        return None
    return TimeMention(
        start=start,
        end=end,
        text=reading.text[position[0] : position[1]],
        position=position,
        precision=stretch.precision,
        direction=direction,
        recurring=stretch.recurring,
        moment=moment,
    )


def _utc(local: datetime, at: datetime) -> datetime:
    return local.replace(tzinfo=at.tzinfo).astimezone(UTC)


__all__ = ["EARLIEST", "LATEST", "Direction", "Lean", "Precision", "TimeMention", "find_times"]
