"""How commands print: tables for people, JSON for programs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from rememo.model.hit import Hit
from rememo.model.record import Record

console = Console()
errors = Console(stderr=True)

File = Annotated[
    str, typer.Argument(help="The memory's file, an address such as postgresql://…, or - for the one in REMEMO_URL.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_json(value: Any) -> None:
    """Print a value as JSON, whatever of Rememo's types it is made of."""
    console.print(
        json.dumps(value, default=_plain, ensure_ascii=False, indent=1), markup=False, highlight=False, soft_wrap=True
    )


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, whole: int = 0) -> None:
    """Print rows under a head; nothing in them is taken for markup. The first `whole` columns are never broken."""
    columns = [Column(name, no_wrap=place < whole) for place, name in enumerate(head)]
    table = Table(*columns, header_style="bold")
    for row in rows:
        table.add_row(*(_escaped(cell) for cell in row))
    console.print(table)


def _escaped(cell: object) -> str:
    text = cell.strftime("%Y-%m-%d %H:%M") if isinstance(cell, datetime) else str(cell)
    return text.replace("[", "\\[")


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Hit):
        return {"score": value.score, "reasons": dict(value.reasons), "record": value.record.to_dict()}
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)
