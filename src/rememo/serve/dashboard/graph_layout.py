"""Where a graph's nodes stand: one in the middle, those next to it around it, and theirs outside. Nothing here knows HTML.

The same graph is always drawn the same way. Each node of the inner ring takes as much of the circle as what hangs on it
needs, so that no line to the outer ring crosses another.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_BESIDE: Final = 70.0
_TURNED: Final = 130.0
"""Room for names that stand level, and for those that point outwards."""
_INNER: Final = 130.0
_OUTER: Final = 225.0
_LEVEL: Final = 10
"""So many names of the inner ring can be written level without touching each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePosition:
    """Where a node is drawn, from the middle, and how its name is turned."""

    name: str
    ring: int
    x: float
    y: float
    turn: float | None
    """Degrees that the name is turned by; None for one that stands level below its node."""
    left: bool
    """Whether a turned name ends at its node instead of beginning there."""


def layout_nodes(centre: str, inner: Sequence[str], outer: Mapping[str, Sequence[str]]) -> list[NodePosition]:
    """Return where the nodes stand: the centre, the inner ring, and what hangs on each of that, in the order given."""
    spots = [NodePosition(name=centre, ring=0, x=0.0, y=0.0, turn=None, left=False)]
    shares = [max(1, len(outer.get(name, ()))) for name in inner]
    whole, passed = sum(shares) or 1, 0
    level = len(inner) <= _LEVEL
    for name, share in zip(inner, shares, strict=True):
        spots.append(_position(name, 1, (passed + share / 2) / whole, level=level))
        hanging = outer.get(name, ())
        for number, other in enumerate(hanging):
            spots.append(_position(other, 2, (passed + (number + 0.5) * share / len(hanging)) / whole, level=False))
        passed += share
    return spots


def view_box(spots: Sequence[NodePosition]) -> tuple[float, float, float, float]:
    """Return what an SVG must show so that every node and name is within: left, top, width and height."""
    room = [_TURNED if spot.turn is not None else _BESIDE for spot in spots]
    left = min(spot.x - more for spot, more in zip(spots, room, strict=True))
    right = max(spot.x + more for spot, more in zip(spots, room, strict=True))
    top = min(spot.y - more for spot, more in zip(spots, room, strict=True))
    bottom = max(spot.y + more for spot, more in zip(spots, room, strict=True))
    return left, top, round(right - left, 1), round(bottom - top, 1)


def _position(name: str, ring: int, part: float, *, level: bool) -> NodePosition:
    """Return the spot at a part of the circle, from the top on with the clock."""
    angle = (part - 0.25) * math.tau
    far = _INNER if ring == 1 else _OUTER
    turn = math.degrees(angle)
    left = math.cos(angle) < 0
    return NodePosition(
        name=name,
        ring=ring,
        x=round(far * math.cos(angle), 1),
        y=round(far * math.sin(angle), 1),
        turn=None if level else round(turn + 180 if left else turn, 1),
        left=left,
    )
