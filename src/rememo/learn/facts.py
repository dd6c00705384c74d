"""Stored facts: the groups that are reconciled together, the changes asked of them, and which facts hold.

Facts about one subject and predicate of one person (whatever the room) form a group.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from rememo.engine.engine import Engine
from rememo.learn.conflicts import POLICIES, Policy, default_policy
from rememo.learn.oppositions import SubjectPredicate
from rememo.learn.statements import Statement
from rememo.model.data_schemas import matches_schema
from rememo.model.fact import folded
from rememo.model.filters import Condition, Filter
from rememo.model.record import Record
from rememo.model.scope import Scope

POLICY_SPACE = "facts.policy"
"""Where a tenant's policies are kept; no view's own space has such a name."""
_AHEAD = frozenset({"plans", "appointment", "event"})
"""Predicates that hold before their time."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts that can conflict with each other: one predicate of one subject, as one person stated them."""

    home: Scope
    subject: str
    predicate: str

    @property
    def pair(self) -> SubjectPredicate:
        """The subject and the predicate."""
        return self.subject, self.predicate

    def of(self, pair: SubjectPredicate) -> "FactGroup":
        """Return the group of another pair of the same person."""
        return FactGroup(self.home, *pair)


def home(scope: Scope) -> Scope:
    """Return the scope within which facts are compared: all rooms and agents of a person, or one room without a person."""
    return scope if scope.user is None else replace(scope, agent=None, room=None)


@dataclass(slots=True)
class FactChanges:
    """Changes of the statements of one tenant."""

    tenant: str
    added: dict[FactGroup, list[Statement]] = field(default_factory=dict[FactGroup, list[Statement]])
    spelled: dict[tuple[FactGroup, Scope], str] = field(default_factory=dict[tuple[FactGroup, Scope], str])
    """Subjects as they were written, by the reach of who wrote them."""
    dropped: dict[str, Callable[[Statement], bool]] = field(default_factory=dict[str, Callable[[Statement], bool]])
    """By source that is gone or changed: whether a statement of it goes."""
    groups: set[FactGroup] = field(default_factory=set[FactGroup])
    """Groups to recompute, whether or not anything is added."""
    reaches: dict[FactGroup, set[Scope]] = field(default_factory=dict[FactGroup, set[Scope]])
    """Where facts of a group may change, of those that only bound writers have touched; the others are all worked out."""

    def add(self, subject: str, predicate: str, statement: Statement) -> FactGroup:
        """Add one statement."""
        group = FactGroup(home(statement.scope), folded(subject), predicate)
        self.added.setdefault(group, []).append(statement)
        self.spelled.setdefault((group, statement.reach), subject)
        self.touch([group], {statement.reach} if statement.bound else None)
        return group

    def touch(self, groups: Iterable[FactGroup], reach: set[Scope] | None) -> None:
        """Mark groups to be recomputed: within some scopes, or everywhere."""
        for group in groups:
            if reach is None:
                self.reaches.pop(group, None)
            elif group not in self.groups or group in self.reaches:
                self.reaches[group] = self.reaches.get(group, set()) | reach
            self.groups.add(group)


def policy_of(engine: Engine, tenant: str, predicate: str) -> Policy:
    """Return the conflict policy of a predicate in a tenant."""
    entry = engine.kv.get(tenant, POLICY_SPACE, predicate, engine.now())
    policy = None if entry is None else json.loads(entry.value)
    return policy if policy in POLICIES else default_policy(predicate)


def group_of(record: Record) -> FactGroup:
    """Return the group of a stored fact."""
    return FactGroup(home(record.scope), record.data["match"]["subject"], record.data["predicate"])


def facts_from(
    engine: Engine, tenant: str, sources: Sequence[str], *, known_at: datetime | None = None
) -> dict[str, list[Record]]:
    """Return the facts learned from each of some records, anywhere in the tenant, now or at a time."""
    filter = Filter(scope=Scope(tenant=tenant), kinds=("fact",), known_at=known_at)
    if len(sources) == 1:
        filter = filter.narrowed(conditions=(Condition("data", ("sources",), "$contains", sources[0]),))
    facts: dict[str, list[Record]] = {id: [] for id in sources}
    if sources:
        for record in engine.store.read(filter, engine.now()):
            if is_fact(record):
                for id in record.data["sources"]:
                    if id in facts:
                        facts[id].append(record)
    return facts


def is_fact(record: Record) -> bool:
    """Whether a record was made here, and not by a caller who used the kind for something of his own."""
    return record.kind == "fact" and matches_schema("fact", record.data)


def holds(record: Record, at: datetime) -> bool:
    """Whether a fact holds at a moment: a home only once one lives there, a plan as soon as it is made."""
    data = record.data
    if data["status"] == "superseded" and (record.valid_to is None or record.valid_to <= at):
        return False
    begun = record.valid_from is None or record.valid_from <= at
    return data["status"] != "retracted" and (begun or data["predicate"] in _AHEAD)
