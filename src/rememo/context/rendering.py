"""Render items as lines for a model: under headings, with marks to cite them by and dates in words."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from rememo.context.dates import ago, day, day_and_time
from rememo.context.gather import due_time
from rememo.context.item import ContextItem

HEADINGS: Final[Mapping[str, str]] = {
    "profile": "Profile:",
    "facts": "Facts that hold now:",
    "plans": "Open goals and tasks:",
    "passages": "From earlier:",
    "recent": "The latest turns of this conversation:",
}
"""The parts of a context in the order in which they are shown."""
_BREAK: Final = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_PLAIN: Final = timedelta(days=300)
DATED: Final = frozenset({"passages", "recent"})
"""Parts whose items stand under the days on which they were said."""


@dataclass(slots=True)
class PackedItem:
    """An item that was chosen, as it is to be shown."""

    part: str
    item: ContextItem
    text: str
    """The line without its mark."""
    content: str
    """What the item says there: all of it, or an excerpt."""
    worth: float
    """What goes first when there is too much: the least."""
    cost: int = 0
    """Tokens, with the mark."""
    mark: str = field(default="")


def format_item(item: ContextItem, now: datetime, text: str | None = None, *, title: str = "") -> str:
    """Return an item in a line, or several whose later ones are set in so that they cannot be taken for other items."""
    content = (item.text if text is None else text).strip()
    if item.kind == "message":
        content = f"{item.speaker}: {content}"
    elif item.kind == "fact":
        content += _since(item)
    elif item.kind in ("goal", "task"):
        content = f"{item.kind}: {content}{_due(item, now)}"
    elif item.kind == "chunk":
        content = f"{title or 'document'}: {content}"
    elif item.kind not in ("relationship", "profile"):
        content = f"{item.kind}: {content}"
    return indent_continuations(content)


def indent_continuations(text: str) -> str:
    """Return a text whose later lines are set in, by whatever character they were broken."""
    return _BREAK.sub("\n  ", text)


def day_heading(time: datetime, now: datetime) -> str:
    """Return what stands above the items of a day; the year is said where it is not plain from how long ago it was."""
    heading = day(time)
    if abs(now - time) < _PLAIN:
        heading = heading.removesuffix(f" {time.year}")
    return f"{heading} ({ago(time, now)}):"


def render(packed: Iterable[PackedItem], now: datetime, *, parts: Sequence[str] = tuple(HEADINGS)) -> str:
    """Return the text inside the fence: the parts that have something, each under its heading."""
    by_part: dict[str, list[PackedItem]] = {part: [] for part in parts}
    for packed_item in packed:
        if packed_item.part in by_part:
            by_part[packed_item.part].append(packed_item)
    blocks = [f"Now: {day_and_time(now)}"]
    for part, ones in by_part.items():
        if ones:
            blocks.append("\n".join([HEADINGS[part], *format_lines(part, ones, now)]))
    return "\n".join(blocks)


def format_lines(part: str, packed: Iterable[PackedItem], now: datetime) -> Iterable[str]:
    """Return the lines of a part, each after its mark; of some parts under the days they belong to."""
    last = None
    for packed_item in packed:
        if part in DATED and packed_item.item.at is not None and packed_item.item.at.date() != last:
            last = packed_item.item.at.date()
            yield day_heading(packed_item.item.at, now)
        yield f"{packed_item.mark} {packed_item.text}" if packed_item.mark else packed_item.text


def _since(item: ContextItem) -> str:
    record = item.record
    if record is None:
        return ""
    disputed = " (disputed)" if record.data.get("status") == "disputed" else ""
    return f" (since {day(record.valid_from)}){disputed}" if record.valid_from is not None else disputed


def _due(item: ContextItem, now: datetime) -> str:
    when = None if item.record is None else due_time(item.record)
    return "" if when is None else f", due {day(when)} ({ago(when, now)})"
