"""Relationships: who or what is connected with whom."""

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rememo.engine.view import ViewHolder
from rememo.errors import AlreadyExists, InvalidInput, NotFound, VersionConflict
from rememo.extract.predicates import normalise_predicate, normalise_subject
from rememo.learn.relationships import BASE, LearnedRelationship, interaction_counts, relationship_fields
from rememo.learn.statements import folded
from rememo.model.check import check_label, check_limit, check_unit
from rememo.model.data_schemas import matches_schema
from rememo.model.filters import Condition
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.relationship import Graph, Relationship
from rememo.model.times import from_micros, to_micros, to_utc
from rememo.model.unset import UNSET, Unset
from rememo.runtime.retry import retry_on_conflict
from rememo.store.writes import Remove

_MOST_TRIES = 100
_DEEPEST = 10
_FRONTIER = 200


class Relationships(ViewHolder):
    """The relationships of one scope, added by hand or learned from what was said."""

    # ---- writing

    def add(
        self,
        entity: str,
        target: str,
        type: str,
        *,
        strength: float | None = None,
        sentiment: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Connect an entity with a target; one that is there already takes the strength, sentiment and metadata given.

        `strength` is where it is now, 0.5 for a new one unless given: after n more interactions it is
        1 - (1 - strength) · 0.9^n.
        """
        fields: dict[str, Any] = {}
        if strength is not None:
            fields["strength"] = check_unit(strength, "strength")
        if sentiment is not None:
            fields["sentiment"] = _check_sentiment(sentiment)
        return self._change(
            self._check_ends(entity, target, type), fields, UNSET if metadata is None else metadata, create=True
        )

    def update(
        self,
        id: str,
        *,
        strength: float | Unset = UNSET,
        sentiment: float | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
    ) -> Receipt:
        """Change what was told of a relationship; `metadata` replaces what was there.

        `strength` is what it has from now on, whatever came before; later interactions strengthen it from there.
        """
        fields: dict[str, Any] = {}
        if strength is not UNSET:
            fields["strength"] = check_unit(strength, "strength")
        if sentiment is not UNSET:
            fields["sentiment"] = None if sentiment is None else _check_sentiment(sentiment)
        if not fields and metadata is UNSET:
            raise InvalidInput("update() was given nothing to change")
        relationship = self.get(id)
        return self._change((relationship.entity, relationship.target, relationship.type), fields, metadata, id=id)

    def touch(self, entity: str, target: str, type: str, *, at: datetime | None = None) -> Receipt:
        """Note one interaction, now or `at`: it is counted and strengthens the relationship, which is made if need be.

        Each interaction closes a tenth of what is missing to a strength of 1.
        """
        touched_at = to_micros(self._view.engine.now() if at is None else to_utc(at, "at"))
        return self._change(self._check_ends(entity, target, type), {}, UNSET, create=True, touched=touched_at)

    def remove(self, id: str) -> Receipt:
        """Remove one relationship."""
        self._need_writable("relationships.remove()")
        return self._view.remove(self.get(id).id)

    def remove_entity(self, name: str) -> int:
        """Remove every relationship from or to an entity, so that none points at nothing; returns how many."""
        self._need_writable("relationships.remove_entity()")

        def write(records: "list[Record]") -> int:
            writes = [Remove(id=record.id, scope=record.scope, expected=record.version) for record in records]
            return len(self._view.commit(writes).ids) if writes else 0

        return retry_on_conflict(
            lambda: self._find_around([self._name(name, "name")]),
            write,
            f"a relationship of {name!r}",
            attempts=_MOST_TRIES,
            conflicts=(NotFound, VersionConflict),
        )

    # ---- reading

    def get(self, id: str) -> Relationship:
        """Return a relationship; raises `NotFound` when there is none in this scope."""
        record = self._view.get(id)
        if not _is_relationship(record):
            raise NotFound(f"record {id!r} is no relationship, but a {record.kind}")
        return _to_relationship(record)

    def list(
        self,
        *,
        entity: str | None = None,
        target: str | None = None,
        type: str | None = None,
        min_strength: float = 0.0,
        limit: int = 100,
    ) -> "list[Relationship]":
        """Return relationships, the strongest first."""
        check_unit(min_strength, "min_strength")
        check_limit(limit)
        self._view.wait_for_extraction()
        conditions: list[Condition] = []
        if entity is not None:
            conditions.append(_match_condition("entity", "$eq", folded(self._name(entity, "entity"))))
        if target is not None:
            conditions.append(_match_condition("target", "$eq", folded(self._name(target, "target"))))
        if type is not None:
            conditions.append(_match_condition("type", "$eq", _check_type(type)))
        if min_strength > 0:
            conditions.append(Condition("data", ("strength",), "$gte", min_strength))
        relationships = [_to_relationship(record) for record in self._records(conditions)]
        relationships.sort(
            key=lambda relationship: (
                -relationship.strength,
                relationship.entity,
                relationship.target,
                relationship.type,
            )
        )
        return relationships[:limit]

    def graph(self, entity: str, depth: int = 2) -> Graph:
        """Return everything within `depth` steps of an entity, in either direction; alone it is one node."""
        start = self._name(entity, "entity")
        self._view.wait_for_extraction()
        names, edges = self._explore(start, check_limit(depth, "depth", maximum=_DEEPEST))
        inside = [edge for edge in edges.values() if folded(edge.entity) in names and folded(edge.target) in names]
        return Graph(nodes=tuple(names.values()), edges=tuple(inside))

    def path(self, a: str, b: str, max_depth: int = 6) -> "list[Relationship]":
        """Return the shortest way from one entity to another, in either direction; the empty list when there is none."""
        start, goal = folded(self._name(a, "a")), folded(self._name(b, "b"))
        self._view.wait_for_extraction()
        steps: dict[str, tuple[str, Relationship] | None] = {start: None}
        frontier = [start]
        for _ in range(check_limit(max_depth, "max_depth", maximum=_DEEPEST)):
            if goal in steps or not frontier:
                break
            near: list[str] = []
            for edge in map(_to_relationship, self._find_around(frontier)):
                for near_end, other in ((edge.entity, edge.target), (edge.target, edge.entity)):
                    if folded(near_end) in steps and folded(other) not in steps and folded(near_end) in frontier:
                        steps[folded(other)] = (folded(near_end), edge)
                        near.append(folded(other))
            frontier = near
        way: deque[Relationship] = deque()
        step = steps.get(goal)
        while step is not None:
            way.appendleft(step[1])
            step = steps[step[0]]
        return list(way)

    # ---- inside

    def _explore(self, start: str, depth: int) -> tuple[dict[str, str], dict[str, Relationship]]:
        """Return the names within some steps, nearest first, and the relationships met on the way."""
        names = {folded(start): start}
        edges: dict[str, Relationship] = {}
        frontier = [start]
        for step in range(depth + 1):
            # One step further is looked at for edges between the outermost only.
            near: list[str] = []
            for edge in map(_to_relationship, self._find_around(frontier)):
                edges.setdefault(edge.id, edge)
                for name in (edge.entity, edge.target):
                    if step < depth and folded(name) not in names:
                        names[folded(name)] = name
                        near.append(name)
            frontier = near
            if not frontier:
                break
        return names, edges

    def _find_around(self, names: Iterable[str]) -> "list[Record]":
        """Return the relationships from or to some entities, oldest first."""
        folded_names = sorted({folded(name) for name in names})
        by_id: dict[str, Record] = {}
        for start in range(0, len(folded_names), _FRONTIER):
            some = folded_names[start : start + _FRONTIER]
            for end in ("entity", "target"):
                by_id |= {record.id: record for record in self._records([_match_condition(end, "$in", list(some))])}
        return sorted(by_id.values(), key=lambda record: (record.at, record.id))

    def _records(self, conditions: Iterable[Condition]) -> "list[Record]":
        filter = self._view.filter(kind="relationship", conditions=tuple(conditions))
        return [
            record
            for record in self._view.engine.store.read(filter, self._view.engine.now())
            if _is_relationship(record)
        ]

    def _change(
        self,
        ends: tuple[str, str, str],
        changes: Mapping[str, Any],
        metadata: Mapping[str, Any] | Unset | None,
        *,
        id: str | None = None,
        create: bool = False,
        touched: int | None = None,
    ) -> Receipt:
        """Change the fields of a relationship that were set by hand, or create it; retries when another writer was faster."""
        self._need_writable("changing a relationship")
        entity, target, type = ends
        record_id = id or LearnedRelationship.make_id(self._view.engine, self._view.scope, entity, target, type)

        def prepare() -> tuple[Record | None, dict[str, Any]]:
            record = self._view.find(record_id)
            if record is None and not create:
                raise NotFound(f"there is no relationship {record_id!r} in this scope")
            data: dict[str, Any] = {"entity": entity, "target": target, "type": type, "own": {}}
            if record is not None and _is_relationship(record):
                data = record.data
            by_hand: dict[str, Any] = {**data["own"], **changes}
            if touched is not None:
                by_hand |= _count_interaction(by_hand, touched)
            elif create:
                by_hand.setdefault("strength", BASE)  # set by hand, so that it stays when facts are deleted
            if "strength" in changes:
                by_hand["since"] = interaction_counts(data)
            fields = relationship_fields(
                {**data, "own": {name: value for name, value in by_hand.items() if value is not None}}
            )
            if metadata is not UNSET:
                fields["metadata"] = metadata
            return record, fields

        def write(prepared: tuple[Record | None, dict[str, Any]]) -> Receipt:
            record, fields = prepared
            if record is None:
                return self._view.put([{**fields, "id": record_id, "kind": "relationship"}])
            return self._view.revise(record_id, fields, record.version)

        return retry_on_conflict(
            prepare,
            write,
            f"relationship {record_id!r}",
            attempts=_MOST_TRIES,
            conflicts=(AlreadyExists, VersionConflict),
        )

    def _check_ends(self, entity: str, target: str, type: str) -> tuple[str, str, str]:
        ends = self._name(entity, "entity"), self._name(target, "target"), _check_type(type)
        if folded(ends[0]) == folded(ends[1]):
            raise InvalidInput(f"a relationship connects two: {entity!r} cannot be connected with itself")
        return ends

    def _name(self, value: str, field: str) -> str:
        name = normalise_subject(check_label(value, field), self._view.home.user or "user")
        if not name:
            raise InvalidInput(f"{field} has no word in it; say who or what is meant")
        return name

    def _need_writable(self, verb: str) -> None:
        self._view.need_present()
        self._view.need_no_batch(verb)


def _count_interaction(fields: Mapping[str, Any], time: int) -> dict[str, int]:
    return {
        "count": fields.get("count", 0) + 1,
        "first": min(fields.get("first", time), time),
        "last": max(fields.get("last", time), time),
    }


def _match_condition(name: str, operator: str, value: Any) -> Condition:
    return Condition("data", ("match", name), operator, value)


def _check_type(value: str) -> str:
    name = normalise_predicate(check_label(value, "type"))
    if not name:
        raise InvalidInput(f"type has no word in it: {value!r}; say how they are connected")
    return name


def _check_sentiment(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
        raise InvalidInput(f"sentiment must be a number from -1 to 1, not {value!r}")
    return float(value)


def _is_relationship(record: Record) -> bool:
    return record.kind == "relationship" and matches_schema("relationship", record.data)


def _to_relationship(record: Record) -> Relationship:
    data = record.data
    return Relationship(
        id=record.id,
        entity=data["entity"],
        target=data["target"],
        type=data["type"],
        strength=data["strength"],
        sentiment=data["own"].get("sentiment"),
        count=data["count"],
        first_interaction=None if data["first"] is None else from_micros(data["first"]),
        last_interaction=None if data["last"] is None else from_micros(data["last"]),
        metadata=record.metadata,
        record=record,
    )
