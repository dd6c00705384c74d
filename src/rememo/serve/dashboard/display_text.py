"""Display of untrusted text: no hidden characters, no direction overrides, no excessive length.

Invisible characters that change how text reads (direction marks, zero-width spaces, control characters) are shown by their
code points. Joiners and variation selectors stay: emoji and many scripts need them. Templates escape all markup.
"""

import html
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

PREVIEW: Final = 1_000
"""Characters of a text that a list shows."""
PART: Final = 8_000
"""Characters of a text that a page of its own shows at a time."""
_BYTES_A_CHARACTER: Final = 3
_HIDDEN: Final = {
    *range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x115F, 0x1160, 0x180E, 0x200B, 0x200E, 0x200F,
    *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0x3164, 0xFEFF, 0xFFA0, *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
}  # fmt: skip
_VISIBLE_NAMES: Final = {number: f"⟦U+{number:04X}⟧" for number in _HIDDEN - {0x09, 0x0A, 0x0D}} | {0x0D: None}


class Cut(NamedTuple):
    """The beginning of a text."""

    text: str
    more: int
    """How many characters are left out."""


def visible(value: object) -> str:
    """Return a text with invisible characters shown by their code points."""
    return str(value).translate(_VISIBLE_NAMES)


def cut(value: object, most: int = PREVIEW) -> Cut:
    """Return at most `most` characters of a text, fewer where they would take too many bytes on a page."""
    text, room = str(value), most * _BYTES_A_CHARACTER
    length = min(most, len(text))
    while len(html.escape(visible_text := visible(text[:length])).encode(errors="replace")) > room:
        length = length * 3 // 4
    return Cut(visible_text, len(text) - length)


def parts(text: str) -> int:
    """Return how many pages a text takes."""
    return max(1, -(-len(text) // PART))


def part(text: str, number: int) -> str:
    """Return one page of a text, from 1."""
    return visible(text[(number - 1) * PART : number * PART])


def label(value: object) -> str:
    """Return a name, cut to fit a line."""
    text, more = cut(value, 80)
    return text.replace("\n", " ") + ("…" if more else "")


def to_text(value: Any) -> str:
    """Return a JSON value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def cut_fields(values: Mapping[str, Any]) -> dict[str, Cut]:
    """Return the first fields of a mapping, each cut."""
    return {label(name): cut(to_text(value), 300) for name, value in list(values.items())[:40]}


def summarise(values: Mapping[str, Any]) -> str:
    """Return a mapping as one line, cut."""
    text, more = cut(", ".join(f"{name} {to_text(value)}" for name, value in list(values.items())[:40]), 300)
    return text + ("…" if more else "")


def format_time(value: datetime | None) -> str:
    """Return a time for display, in UTC."""
    return "" if value is None else f"{value.astimezone(UTC):%d %b %Y, %H:%M}"


def format_day(value: datetime) -> str:
    """Return a date for display."""
    return f"{value.astimezone(UTC):%A, %d %B %Y}"


def iso(value: datetime) -> str:
    """Return a time as ISO 8601."""
    return value.astimezone(UTC).isoformat()


def form_time(value: datetime | None) -> str:
    """Return a time as a form field takes it."""
    return "" if value is None else f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def format_size(count: float) -> str:
    """Return a number of bytes for display."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024:  # noqa: PLR2004 - a step of units
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TB"
