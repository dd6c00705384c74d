"""Relationships learned from facts: "my sister Ana" connects two people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rememo.engine.engine import Engine
from rememo.extract.predicates import RELATIONS
from rememo.model.data_schemas import matches_schema
from rememo.model.derived_ids import DerivedId
from rememo.model.derived_names import relationship_name
from rememo.model.fact import folded
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros
from rememo.store.writes import Remove, Write

CONNECTING = frozenset({
    *RELATIONS, "married_to", "lives_with", "knows", "works_at", "employs", "volunteers_at", "studies_at", "has_pet", "owned_by",
})  # fmt: skip
"""Predicates whose facts are relationships too."""
BASE = 0.5
"""The strength of a relationship nobody has said anything else of."""
SHARE = 0.1
"""How much of the distance to 1 one interaction closes."""


def strengthened(base: float, count: int) -> float:
    """Return 1 - (1 - base) · 0.9^count: every interaction counts, the hundredth less than the first."""
    return round(1 - (1 - base) * (1 - SHARE) ** count, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedRelationship:
    """A relationship as facts state it."""

    id: str
    scope: Scope
    entity: str
    target: str
    type: str
    count: int
    first: datetime
    last: datetime

    def joined(self, other: "LearnedRelationship") -> "LearnedRelationship":
        """Return the relationship that two facts state together."""
        return replace(
            self, count=self.count + other.count, first=min(self.first, other.first), last=max(self.last, other.last)
        )  # fmt: skip

    @staticmethod
    def make_id(engine: Engine, scope: Scope, entity: str, target: str, type: str) -> DerivedId:
        """Return the id that follows from where and what a relationship is."""
        return engine.ids.derive(scope.tenant, relationship_name(scope, folded(entity), folded(target), type))


def interaction_counts(data: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many interactions a relationship's data holds: touches by hand, and what facts say."""
    learned: Mapping[str, Any] = data.get("learned") or {}
    return data["own"].get("count", 0), learned.get("count", 0)


def relationship_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's content, with everything that follows from its data worked out anew.

    `own` is what was told by hand (`strength`, and `count`, `first` and `last` of touches), `learned` what facts say.
    `since` in `own` has the counts of both when the strength was set: what came later strengthens it.
    """
    own: Mapping[str, Any] = data["own"]
    learned: Mapping[str, Any] | None = data.get("learned")
    then: Sequence[int] = own.get("since", (0, 0))
    since = [min(pair) for pair in zip(then, interaction_counts(data), strict=True)]
    if "since" in own:
        own = {**own, "since": since}  # what facts take back and say again counts again
    parts = [part for part in (own, learned) if part and part.get("count")]
    count = sum(part["count"] for part in parts)
    base = BASE if own.get("strength") is None else own["strength"]
    entity, target, type = data["entity"], data["target"], data["type"]
    first = min((part["first"] for part in parts), default=None)
    return {
        "text": f"{entity} and {target}: {type.replace('_', ' ')}",
        "data": {
            **data,
            "own": own,
            "match": {"entity": folded(entity), "target": folded(target), "type": type},
            "strength": strengthened(base, count - sum(since)),
            "count": count,
            "first": first,
            "last": max((part["last"] for part in parts), default=None),
        },
        "occurred_at": None if first is None else from_micros(first),
    }


def is_relationship(record: Record) -> bool:
    """Whether a record is a relationship as they are kept here, and not a caller's own use of the kind."""
    return record.kind == "relationship" and "own" in record.data and "match" in record.data


def relationship_writes(
    engine: Engine, tenant: str, links: Mapping[DerivedId, LearnedRelationship | None]
) -> list[Write]:
    """Return the writes that bring relationships to what facts say; None takes back what was learned."""
    if not links:
        return []
    filter = Filter(scope=Scope(tenant=tenant), kinds=("relationship",), ids=tuple(links))
    records = {record.id: record for record in engine.store.read(filter, engine.now()) if is_relationship(record)}
    writes: list[Write] = []
    new: dict[Scope, list[dict[str, Any]]] = {}
    for id, link in links.items():
        record = records.get(id)
        if link is not None and record is not None and record.scope != link.scope:
            record = None  # a stranger's: the write finds out, and another id is taken
        if link is None:
            if record is not None and matches_schema("relationship", record.data) and record.data.get("learned"):
                writes.append(_without(engine, record))
            continue
        learned = {"count": link.count, "first": to_micros(link.first), "last": to_micros(link.last)}
        fresh: dict[str, Any] = {"entity": link.entity, "target": link.target, "type": link.type, "own": {}}
        if record is None:
            fields = {
                **relationship_fields({**fresh, "learned": learned}),
                "id": id,
                "kind": "relationship",
                "source": "learn",
            }
            new.setdefault(link.scope, []).append(fields)
        elif record.data.get("learned") != learned:
            data = record.data if matches_schema("relationship", record.data) else fresh
            writes.append(engine.drafts.revise(record, relationship_fields({**data, "learned": learned})))
    for scope, items in new.items():
        writes += engine.drafts.puts(scope, items)
    return writes


def _without(engine: Engine, record: Record) -> Write:
    """Return the write that takes back what was learned; nothing told by hand leaves nothing."""
    if not record.data["own"]:
        return Remove(id=record.id, scope=record.scope, expected=record.version)
    return engine.drafts.revise(record, relationship_fields({**record.data, "learned": None}))
