"""Radial graph layout: the centre, its neighbours on an inner ring, and theirs on an outer ring, without HTML.

The layout is deterministic. Each node of the inner ring gets as much of the circle as its outer nodes need, so that no
line to the outer ring crosses another.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_LABEL_SPACE: Final = 70.0
_TURNED: Final = 130.0
"""Space for horizontal names, and for rotated ones."""
_INNER: Final = 130.0
_OUTER: Final = 225.0
_LEVEL: Final = 10
"""How many names of the inner ring fit horizontally without touching."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePosition:
    """The position of a node relative to the centre, and the rotation of its name."""

    name: str
    ring: int
    x: float
    y: float
    turn: float | None
    """Rotation of the name in degrees; None for a horizontal name below its node."""
    left: bool
    """Whether a rotated name ends at its node instead of starting there."""


def layout_nodes(centre: str, inner: Sequence[str], outer: Mapping[str, Sequence[str]]) -> list[NodePosition]:
    """Return the positions of the centre, the inner ring, and the outer nodes of each inner one, in the order given."""
    positions = [NodePosition(name=centre, ring=0, x=0.0, y=0.0, turn=None, left=False)]
    shares = [max(1, len(outer.get(name, ()))) for name in inner]
    total, passed = sum(shares) or 1, 0
    level = len(inner) <= _LEVEL
    for name, share in zip(inner, shares, strict=True):
        positions.append(_position(name, 1, (passed + share / 2) / total, level=level))
        hanging = outer.get(name, ())
        for number, other in enumerate(hanging):
            positions.append(_position(other, 2, (passed + (number + 0.5) * share / len(hanging)) / total, level=False))
        passed += share
    return positions


def view_box(positions: Sequence[NodePosition]) -> tuple[float, float, float, float]:
    """Return the SVG view box that contains every node and name: left, top, width and height."""
    room = [_TURNED if position.turn is not None else _LABEL_SPACE for position in positions]
    left = min(position.x - more for position, more in zip(positions, room, strict=True))
    right = max(position.x + more for position, more in zip(positions, room, strict=True))
    top = min(position.y - more for position, more in zip(positions, room, strict=True))
    bottom = max(position.y + more for position, more in zip(positions, room, strict=True))
    return left, top, round(right - left, 1), round(bottom - top, 1)


def _position(name: str, ring: int, part: float, *, level: bool) -> NodePosition:
    """Return the position at a fraction of the circle, clockwise from the top."""
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
