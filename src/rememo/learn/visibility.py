"""Visibility: a writer whose key is bound to labels decides only about facts within them. Pure.

Statements are arranged as a reader who sees what their writers see would arrange them. What somebody said who was bound to
one room ends nothing in another, and nothing that was said in another shows in what is made of it. What contradicts each
other beyond that stands side by side, and whoever sees both decides.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rememo.learn.conflicts import Policy, ValidityPeriod, arrange_periods
from rememo.learn.statements import Statement, reach_of
from rememo.model.scope import Scope


@dataclass(frozen=True, slots=True)
class VisibleTimeline:
    """The validity periods that readers of one scope see."""

    periods: Sequence[ValidityPeriod]
    against: Sequence[Statement]
    """Statements about other subjects or predicates that end values here."""


@dataclass(frozen=True, slots=True)
class FactPart:
    """The part of a period that is stored as one fact: statements of one scope whose writers see the same."""

    period: ValidityPeriod
    scope: Scope
    bound: tuple[str, ...]
    statements: list[Statement]
    seen: "VisibleTimeline"

    @property
    def reach(self) -> Scope:
        """What its writers could see."""
        return reach_of(self.scope, self.bound)


_Place = tuple[Scope, tuple[str, ...]]


def split_into_facts(
    statements: Sequence[Statement],
    predicate: str,
    policy: Policy,
    within: Collection[Scope] | None = None,
    against: Sequence[Statement] = (),
) -> Iterator[FactPart]:
    """Yield the validity periods fact by fact; with `within`, only of the scopes that lie in one of these.

    `against` are statements about other subjects or predicates that end values here.
    """
    by_place: dict[_Place, list[Statement]] = {}
    for statement in statements:
        by_place.setdefault((statement.scope, statement.kept_by), []).append(statement)
    if not any(statement.bound for statement in (*statements, *against)):
        seen = VisibleTimeline(arrange_periods(statements, predicate, policy, against), against)
        for period in seen.periods:
            parts: dict[Scope, list[Statement]] = {}
            for statement in period.statements:
                parts.setdefault(statement.scope, []).append(statement)
            for scope, own in parts.items():
                if is_within(scope, within):
                    yield FactPart(period, scope, (), own, seen)
        return
    arranged: dict[tuple[int, ...], VisibleTimeline] = {}
    for place in by_place:
        if not is_within(place[0], within):
            continue
        world, other = _deciding_statements(place, statements, policy), _seen_from(place, against)
        # Most scopes see the same, and it is arranged once.
        name = (*map(id, world), 0, *map(id, other))
        if name not in arranged:
            arranged[name] = VisibleTimeline(arrange_periods(world, predicate, policy, other), other)
        for period in arranged[name].periods:
            own = [statement for statement in period.statements if (statement.scope, statement.kept_by) == place]
            if own:
                yield FactPart(period, *place, own, arranged[name])


def is_within(scope: Scope, within: Collection[Scope] | None) -> bool:
    """Whether a scope lies in one of some; None means everywhere."""
    return within is None or any(reach.contains(scope) for reach in within)


def _seen_from(place: _Place, against: Sequence[Statement]) -> list[Statement]:
    """Return the statements about other pairs that may end values at one place: its writers and theirs see each other."""
    scope, bound = place
    visible = reach_of(scope, bound)
    return [
        statement
        for statement in against
        if statement.reach.contains(scope) and (not bound or visible.contains(statement.scope))
    ]


def _deciding_statements(place: _Place, statements: Sequence[Statement], policy: Policy) -> list[Statement]:
    """Return the statements that decide on those of one place."""
    scope, bound = place
    visible = reach_of(scope, bound)
    deciding = [statement for statement in statements if statement.reach.contains(scope)]
    if not bound:
        return deciding
    world = [statement for statement in deciding if visible.contains(statement.scope)]
    # Somebody who reaches further may end it later from where its maker does not see. What was known there before may
    # not: a bound writer would learn from what becomes of a guess what is said in other rooms.
    latest, order = max(statement.known for statement in world), max(statement.order for statement in world)
    last = next(
        (
            statement.about
            for statement in sorted(world, key=lambda statement: statement.order, reverse=True)
            if statement.asserts
        ),
        None,
    )
    return world + [
        statement
        for statement in deciding
        if not visible.contains(statement.scope)
        and statement.known > latest
        and statement.order > order
        and (not statement.asserts or (policy == "latest" and statement.about != last))
    ]
