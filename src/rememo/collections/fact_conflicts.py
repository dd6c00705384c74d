"""Conflicts: facts that contradict each other and wait for a decision."""

from datetime import datetime

from rememo.collections.fact_views import data_equals, to_fact
from rememo.engine.view import BOUND, View
from rememo.learn.facts import FactGroup, group_of, holds, is_fact, policy_of
from rememo.model.fact import Conflict
from rememo.model.filters import Condition
from rememo.model.record import Record

_PAGE = 500


def find_conflicts(view: View, at: datetime) -> list[Conflict]:
    """Return the facts of a view that contradict each other at a moment."""
    disputed = [record for record in _read(view, (data_equals("status", "disputed"),)) if is_fact(record)]
    groups: dict[FactGroup, dict[str, Record]] = {}
    for record in (*disputed, *_facts_beside_bound(view, at)):
        groups.setdefault(group_of(record), {})[record.id] = record
    conflicts: list[Conflict] = []
    for records in groups.values():
        facts = [to_fact(record, at) for record in sorted(records.values(), key=lambda record: record.at)]
        conflicts.append(Conflict(subject=facts[0].subject, predicate=facts[0].predicate, facts=tuple(facts)))
    return conflicts


def _read(view: View, conditions: tuple[Condition, ...]) -> list[Record]:
    return view.engine.store.read(view.filter(kind="fact", conditions=conditions), view.engine.now())


def _facts_beside_bound(view: View, at: datetime) -> list[Record]:
    """Return facts of this view that bound writers added, with current ones that contradict them."""
    current = data_equals("status", "current")
    bound_facts = _read(view, (Condition("data", (BOUND,), "$exists", True), current))
    groups_of_bound = {group_of(record) for record in bound_facts if is_fact(record) and holds(record, at)}
    groups_of_bound = {
        group for group in groups_of_bound if policy_of(view.engine, group.home.tenant, group.predicate) != "gather"
    }
    subjects = sorted({group.subject for group in groups_of_bound})
    holding: dict[FactGroup, list[Record]] = {}
    for start in range(0, len(subjects), _PAGE):
        some = Condition("data", ("match", "subject"), "$in", list(subjects[start : start + _PAGE]))
        for record in _read(view, (some, current)):
            if is_fact(record) and group_of(record) in groups_of_bound and holds(record, at):
                holding.setdefault(group_of(record), []).append(record)
    differing = [
        records for records in holding.values() if len({record.data["match"]["object"] for record in records}) > 1
    ]
    return [record for records in differing for record in records]
