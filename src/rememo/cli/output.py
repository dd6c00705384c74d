"""How commands print: tables for people, JSON for programs."""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, cast

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from rememo.errors import InvalidInput
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.model.times import to_utc

# Carriage returns are left out of it: rich takes them away, and files of Windows are full of them.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Terminal(Console):
    """A console that prints text literally: control characters are escaped, and ":100:" is no emoji."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, emoji=False)

    def render_str(self, text: str, *arguments: Any, **options: Any) -> Text:
        """Return a text with control characters escaped."""
        return super().render_str(escape_control(text), *arguments, **options)


console = Terminal()
errors = Terminal(stderr=True)

FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The memory's file, an address such as postgresql://…, or - for the one in REMEMO_URL; else that one, or"
        " rememo.db.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def parse_time(text: str | None, name: str) -> datetime | None:
    """Parse the time of an option; UTC without a zone."""
    try:
        read = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{name} is not an ISO 8601 time such as 2026-05-01 or 2026-05-01T12:00: {text!r}") from None
    return read if read is None else to_utc(read if read.tzinfo else read.replace(tzinfo=UTC), name)


def print_json(value: Any) -> None:
    """Print a value of Rememo's types as JSON."""
    # Not by rich, which would reformat it; characters that the output's encoding lacks are escaped.
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, default=_to_plain, ensure_ascii=plain, indent=1), flush=True)


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, whole: int = 0) -> None:
    """Print a table without interpreting markup or truncating cells. The first `whole` columns are never wrapped."""
    columns = [Column(name, no_wrap=place < whole, overflow="fold") for place, name in enumerate(head)]
    table = Table(*columns, header_style="bold")
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    console.print(table)


def join_counts(counts: Mapping[str, int]) -> str:
    """Return counts in one line: "3 facts" and the like."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def escape_control(text: str) -> str:
    """Escape control characters and direction overrides in a text."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def _cell(cell: object) -> Text:
    if isinstance(cell, datetime):
        return Text(cell.strftime("%Y-%m-%d %H:%M"))
    if isinstance(cell, dict):
        fields = cast("dict[str, object]", cell).items()
        return Text(escape_control(", ".join(f"{name} {value}" for name, value in fields if value is not None)))
    return Text(escape_control(str(cell)))


def _to_plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Hit):
        return {
            "score": value.score,
            "status": value.status,
            "superseded_by": value.superseded_by,
            "reasons": dict(value.reasons),
            "record": value.record.to_dict(),
            "sources": [source.to_dict() for source in value.sources],
        }
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)
