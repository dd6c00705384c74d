"""Chart geometry: positions and sizes for the templates, without HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

WIDTH: Final = 720
HEIGHT: Final = 160
_GAP: Final = 2
_MIN_HEIGHT: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSegment:
    """The part of a column that belongs to one series."""

    series: int
    """From 0."""
    count: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartColumn:
    """One column of a chart, with its stacked segments."""

    since: datetime
    until: datetime
    count: int
    counts: tuple[int, ...]
    """By series."""
    x: float
    width: float
    pieces: tuple[ChartSegment, ...]


def chart_columns(edges: Sequence[datetime], series: Sequence[Sequence[int]]) -> list[ChartColumn]:
    """Return the columns of stacked series between time edges; the largest is as high as the chart."""
    counts = list(zip(*series, strict=True))
    most = max(map(sum, counts), default=0) or 1
    step = WIDTH / max(1, len(counts))
    return [
        ChartColumn(
            since=edges[index], until=edges[index + 1], count=sum(column), counts=column, x=round(index * step, 1),
            width=round(step - _GAP, 1), pieces=_segments(column, most),
        )
        for index, column in enumerate(counts)
    ]  # fmt: skip


def _segments(counts: Sequence[int], most: int) -> tuple[ChartSegment, ...]:
    # Every non-zero segment is visible; the largest gives up the space.
    heights = [max(_MIN_HEIGHT, round(count / most * HEIGHT, 1)) if count else 0.0 for count in counts]
    largest = heights.index(max(heights))
    heights[largest] -= max(0.0, sum(heights) - HEIGHT)
    pieces: list[ChartSegment] = []
    top = float(HEIGHT)
    for series, (count, height) in enumerate(zip(counts, heights, strict=True)):
        if count:
            top -= height
            pieces.append(ChartSegment(series=series, count=count, y=round(top, 1), height=round(height, 1)))
    return tuple(pieces)


def equal_steps(first: datetime, last: datetime, number: int) -> list[datetime]:
    """Return equidistant times, one more than the number of intervals."""
    span = last - first
    return [first + span * index / number for index in range(number + 1)]
