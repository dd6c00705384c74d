"""The graph page: the relationships around an entity, as a drawing and as a list."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from rememo.engine.view import view_of
from rememo.learn.facts import is_fact
from rememo.learn.relationships import BASE, CONNECTING, strengthened
from rememo.learn.statements import folded
from rememo.memory import Memory
from rememo.model.filters import Condition
from rememo.model.record import Record
from rememo.model.times import from_micros
from rememo.serve.dashboard.display_text import label
from rememo.serve.dashboard.graph_layout import NodePosition, layout_nodes, view_box
from rememo.serve.dashboard.visit import Visit

_READ: Final = 500
"""Relationships that are read in one direction; of more, the latest."""
_INNER: Final = 24
_OUTER: Final = 24
_LISTED: Final = 100
_CHOICES: Final = 20
_SHORT: Final = 16
_LABELLED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """A relationship as an edge of the drawing."""

    record: Record
    entity: str
    target: str
    type: str
    strength: float
    first: datetime | None
    last: datetime | None
    by_hand: bool

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends, normalised for comparison."""
        return folded(self.entity), folded(self.target)


def graph_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the drawing around an entity; without one in the query, around the most connected."""
    memory, valid_at = visit.memory, visit.time("valid_at")
    now = visit.time("known_at") or visit.now
    visit.begin()
    latest = _read_edges(memory, valid_at)
    degrees = Counter(end for edge in latest for end in edge.ends)
    names = _display_names(latest)
    choices = [names[end] for end, _ in sorted(degrees.items(), key=lambda item: (-item[1], item[0]))[:_CHOICES]]
    entity = visit.query.get("entity", "").strip()
    center = entity or (choices[0] if choices else "")
    form = {"entity": entity, "choices": choices, "slider": _slider(latest, valid_at, now)}
    if not center:
        return "graph.html", {**form, "centre": None}
    direct = _edges_around(memory, [folded(center)], valid_at)
    centre = _display_names(direct).get(folded(center), center)
    inner, outer, left_out = _select_nodes(memory, folded(centre), direct, valid_at)
    drawn = {folded(centre), *inner, *(name for some in outer.values() for name in some)}
    ties = sorted(
        (
            edge
            for edge in {edge.record.id: edge for edge in [*direct, *left_out.ties]}.values()
            if set(edge.ends) <= drawn
        ),
        key=_by_strength,
    )
    names = _display_names(ties) | {folded(centre): centre}
    positions = layout_nodes(
        centre,
        [names[name] for name in inner],
        {names[name]: [names[other] for other in some] for name, some in outer.items()},
    )
    return "graph.html", {
        **form,
        "centre": centre,
        "nodes": [(position, _short_name(position)) for position in positions],
        "lines": _draw_lines(positions, ties),
        "ties": ties[:_LISTED],
        "unlisted": max(0, len(ties) - _LISTED),
        "undrawn": left_out.direct,
        "undrawn_further": left_out.further,
        "many": len(direct) >= _READ,
        "frame": " ".join(f"{number:g}" for number in view_box(positions)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeftOut:
    """The further edges that were read, and how many nodes are not drawn."""

    ties: Sequence[GraphEdge]
    direct: int
    further: int


def _select_nodes(
    memory: Memory, centre: str, direct: Sequence[GraphEdge], valid_at: datetime | None
) -> tuple[list[str], dict[str, list[str]], _LeftOut]:
    """Return the inner ring, the outer nodes of each of its nodes, and what is left out: the strongest are drawn."""
    near = _neighbours(direct, {centre})
    inner = near[:_INNER]
    further = _edges_around(memory, inner, valid_at) if inner else []
    seen = {centre, *near}
    rest = [edge for edge in sorted(further, key=_by_strength) if len(set(edge.ends) - seen) == 1]
    outside = list(dict.fromkeys(end for edge in rest for end in edge.ends if end not in seen))
    outer: dict[str, list[str]] = {}
    for name in outside[:_OUTER]:
        edge = next(edge for edge in rest if name in edge.ends)
        holder = next(end for end in edge.ends if end != name)
        if holder in inner:
            outer.setdefault(holder, []).append(name)
    return inner, outer, _LeftOut(ties=further, direct=len(near) - len(inner), further=max(0, len(outside) - _OUTER))


def _neighbours(edges: Iterable[GraphEdge], names: set[str]) -> list[str]:
    """Return the other ends, strongest first."""
    return list(dict.fromkeys(end for edge in sorted(edges, key=_by_strength) for end in edge.ends if end not in names))


def _by_strength(edge: GraphEdge) -> tuple[float, str, str, str]:
    return -edge.strength, *edge.ends, edge.type


def _display_names(edges: Iterable[GraphEdge]) -> dict[str, str]:
    """Return the written form of each normalised name."""
    return {folded(name): name for edge in edges for name in (edge.target, edge.entity)}


def _draw_lines(positions: Sequence[NodePosition], edges: Sequence[GraphEdge]) -> list[dict[str, Any]]:
    """Return one line for each connected pair, as wide as its strongest edge."""
    where = {folded(position.name): position for position in positions}
    pairs: dict[tuple[str, ...], list[GraphEdge]] = {}
    for edge in edges:
        pairs.setdefault(tuple(sorted(edge.ends)), []).append(edge)
    are_labelled = sum(position.ring == 1 for position in positions) <= _LABELLED
    lines: list[dict[str, Any]] = []
    for (first, other), between in pairs.items():
        a, b = where[first], where[other]
        types = ", ".join(dict.fromkeys(edge.type.replace("_", " ") for edge in between))
        lines.append(
            {
                "a": a, "b": b, "width": round(1 + 5 * between[0].strength, 1), "says": label(types),
                "x": round((a.x + b.x) / 2, 1), "y": round((a.y + b.y) / 2, 1),
                "told": are_labelled and {a.ring, b.ring} == {0, 1},
            }
        )  # fmt: skip
    return lines


def _short_name(position: NodePosition) -> str:
    name = label(position.name)
    return name if len(name) <= _SHORT or not position.ring else name[: _SHORT - 1] + "…"


def _slider(edges: Sequence[GraphEdge], valid_at: datetime | None, now: datetime) -> dict[str, int]:
    begin = min([now, *(edge.first for edge in edges if edge.first is not None)])
    begin = begin if valid_at is None else min(begin, valid_at)
    return {"begin": int(begin.timestamp()), "end": int(now.timestamp()), "at": int((valid_at or now).timestamp())}


# ---- reading


def _edges_around(memory: Memory, names: Sequence[str], valid_at: datetime | None) -> list[GraphEdge]:
    """Return the edges from or to some names."""
    edges = [edge for end in (0, 1) for edge in _read_edges(memory, valid_at, end, names)]
    return list({edge.record.id: edge for edge in edges}.values())


def _read_edges(memory: Memory, valid_at: datetime | None, end: int = 0, names: Sequence[str] = ()) -> list[GraphEdge]:
    """Return edges with one end among some names, or any.

    Valid at a time are relationships added by hand before it, and those of facts that are valid then: a learned
    relationship lasts only as long as its facts.
    """
    edges = [
        edge
        for record in _read_records(memory, "relationship", "entity target", end, names)
        if (edge := _edge_from_record(record)) is not None
    ]
    if valid_at is None:
        return edges
    by_hand = [edge for edge in edges if edge.by_hand and (edge.first is None or edge.first <= valid_at)]
    by_hand_keys = {(*edge.ends, edge.type) for edge in by_hand}
    strengths = {(*edge.ends, edge.type): edge.strength for edge in edges}
    facts = _read_records(memory, "fact", "subject object", end, names, valid_at=valid_at)
    learned = [
        edge
        for fact in facts
        if (edge := _edge_from_fact(fact, strengths)) is not None and (*edge.ends, edge.type) not in by_hand_keys
    ]
    return [*by_hand, *learned]


def _read_records(
    memory: Memory, kind: str, ends: str, end: int, names: Sequence[str], *, valid_at: datetime | None = None
) -> list[Record]:
    view = view_of(memory)
    engine = view.engine
    conditions = (Condition("data", ("match", ends.split()[end]), "$in", list(names)),) if names else ()
    if kind == "fact":
        connecting = Condition("data", ("predicate",), "$in", sorted(CONNECTING))
        conditions = (*conditions, connecting, Condition("data", ("status",), "$ne", "retracted"))
    filter = view.filter(kind=kind, conditions=conditions, valid_at=valid_at)
    return engine.store.read(filter, engine.now(), limit=_READ)


def _edge_from_fact(fact: Record, strengths: Mapping[tuple[str, str, str], float]) -> GraphEdge | None:
    """Return the edge of a fact."""
    if not is_fact(fact):
        return None
    subject, object, predicate = (str(fact.data.get(name, "")) for name in ("subject", "object", "predicate"))
    strength = strengths.get((folded(subject), folded(object), predicate))
    return GraphEdge(
        record=fact, entity=subject, target=object, type=predicate,
        strength=strengthened(BASE, 1) if strength is None else strength,
        first=fact.valid_from, last=fact.valid_to, by_hand=False,
    )  # fmt: skip


def _edge_from_record(record: Record) -> GraphEdge | None:
    """Return the edge of a relationship; None when its data is not usable."""
    data: Mapping[str, Any] = record.data
    entity, target, type, strength = (data.get(name) for name in ("entity", "target", "type", "strength"))
    if not (isinstance(entity, str) and isinstance(target, str) and isinstance(type, str)):
        return None
    if not isinstance(strength, int | float) or not 0 <= strength <= 1 or not isinstance(data.get("match"), Mapping):
        return None
    first, last = (from_micros(at) if isinstance(at := data.get(name), int) else None for name in ("first", "last"))
    by_hand = bool(data.get("own")) or not data.get("learned")
    return GraphEdge(
        record=record, entity=entity, target=target, type=type, strength=float(strength), first=first, last=last,
        by_hand=by_hand,
    )  # fmt: skip
