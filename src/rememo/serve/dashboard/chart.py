"""Charts as numbers: where the templates put the shapes. Nothing here knows HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

WIDTH: Final = 720
HEIGHT: Final = 160
_GAP: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a chart."""

    since: datetime
    until: datetime
    count: int
    x: float
    y: float
    width: float
    height: float


def columns(edges: Sequence[datetime], counts: Sequence[int]) -> list[Column]:
    """Return the columns of counts between moments; the largest is as high as the chart."""
    most = max(counts, default=0) or 1
    step = WIDTH / max(1, len(counts))
    found: list[Column] = []
    for place, count in enumerate(counts):
        # What is there at all can be seen.
        height = max(2.0, round(count / most * HEIGHT, 1)) if count else 0.0
        found.append(
            Column(
                since=edges[place], until=edges[place + 1], count=count, x=round(place * step, 1),
                y=round(HEIGHT - height, 1), width=round(step - _GAP, 1), height=height,
            )
        )  # fmt: skip
    return found


def steps(first: datetime, last: datetime, number: int) -> list[datetime]:
    """Return moments at equal distances, one more than the columns between them."""
    whole = last - first
    return [first + whole * place / number for place in range(number + 1)]
