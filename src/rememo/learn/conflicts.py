"""Conflicting statements resolved by policy: from all statements about one thing to validity periods. Pure.

The result follows from the set of statements alone, so it does not matter in which order they arrive, how often they are
repeated, or that one of them is taken back later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args

from rememo.extract.predicates import EVERY
from rememo.extract.predicates import predicate as shipped
from rememo.learn.matching import covers, is_same
from rememo.learn.statements import Statement
from rememo.model.fact import FactStatus, folded

Policy = Literal["latest", "keep", "ask", "gather"]
"""What a different value does: the newer ends the older, the first stays, somebody decides, or all hold."""
POLICIES: tuple[str, ...] = get_args(Policy)

DATED = frozenset({"event", "visited", "plans", "appointment"})
"""Another date is another occasion."""
LASTING = frozenset({"event", "visited"})
"""What has happened stays a fact when it is over."""
RETRACTED, DENIED = -1, -2
"""Numbers of the periods of retracted values, and of values that were only ever denied."""


@dataclass(slots=True)
class ValidityPeriod:
    """A period in which one value held."""

    object: str
    """As objects are compared."""
    number: int = 0
    """Which of the periods of this value it is, the earliest being 0."""
    statements: list[Statement] = field(default_factory=list[Statement])
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    status: FactStatus = "current"

    @property
    def asserted(self) -> list[Statement]:
        """The statements that support it."""
        return [statement for statement in self.statements if statement.asserts]

    @property
    def denied(self) -> bool:
        """Whether no statement ever supported it."""
        return self.status == "retracted" and all(statement.ends for statement in self.statements)


def default_policy(predicate: str) -> Policy:
    """Return the policy of a predicate by the shipped table."""
    return "latest" if shipped(predicate).values == "single" else "gather"


def arrange_periods(
    statements: Iterable[Statement], predicate: str, policy: Policy, against: Sequence[Statement] = ()
) -> list[ValidityPeriod]:
    """Return the validity periods of statements; each statement is in exactly one.

    ``against`` is what else was said that ends values here, see `rememo.learn.oppositions`; it ends what was said before it and is in no period.
    """
    ordered = sorted(statements, key=lambda statement: _order(statement, predicate))
    live, periods = split_retracted(ordered)
    sweeping = [statement for statement in live if statement.ends_all]
    if sweeping:
        periods.append(
            ValidityPeriod(
                EVERY, DENIED, sweeping, valid_to=min(statement.ending for statement in sweeping), status="retracted"
            )
        )
        live = [statement for statement in live if not statement.ends_all]
    lines = _Timelines(live, predicate, [*sweeping, *against])
    if policy == "latest":
        return _numbered(periods + lines.timeline(live))
    by_object: dict[str, list[Statement]] = {}
    for statement in live:
        by_object.setdefault(lines.meant(statement), []).append(statement)
    timeline = [period for group in by_object.values() for period in lines.timeline(group)]
    if policy == "keep":
        _keep_first(timeline)
    elif policy == "ask":
        _dispute(timeline)
    return _numbered(periods + timeline)


def _order(statement: Statement, predicate: str) -> tuple[Any, ...]:
    """Return the sort key of a statement; plans are made and called off in the order in which that was said."""
    return (statement.said, *statement.order) if predicate in DATED else statement.order


def split_retracted(statements: Sequence[Statement]) -> tuple[list[Statement], list[ValidityPeriod]]:
    """Split statements into those that stand and the periods of retracted values."""
    until: dict[str, datetime] = {}
    decided: dict[str, datetime] = {}
    for statement in statements:
        wrong = (
            statement.about if statement.refused else None if statement.corrects is None else folded(statement.corrects)
        )
        if wrong is not None:
            until[wrong] = max(until.get(wrong, statement.said), statement.said)
            if statement.name is not None:
                decided[wrong] = max(decided.get(wrong, statement.known), statement.known)
    live: list[Statement] = []
    void: dict[str, ValidityPeriod] = {}
    for statement in statements:
        limit = until.get(statement.about)
        own = statement.corrects is not None and folded(statement.corrects) == statement.about
        stays = own or (
            _corrects_at(statement, limit) and not statement.known < decided.get(statement.about, statement.known)
        )
        if statement.refused or (limit is not None and statement.said <= limit and statement.asserts and not stays):
            void.setdefault(
                statement.about, ValidityPeriod(statement.about, RETRACTED, status="retracted")
            ).statements.append(statement)
        else:
            live.append(statement)
    return live, list(void.values())


def _corrects_at(statement: Statement, limit: datetime | None) -> bool:
    # Two corrections of the same moment that take each other's value back: the words of one text, both stay. Those made
    # by hand have the moment of what they correct: there the one that was made later counts.
    return statement.corrects is not None and statement.said == limit


class _Timelines:
    """Builds the timelines of one predicate."""

    def __init__(self, live: Sequence[Statement], predicate: str, against: Sequence[Statement]) -> None:
        self._predicate = predicate
        self._dated = predicate in DATED
        self._lasting = predicate in LASTING
        self._against = against
        self._meant: dict[int, str] = {}
        asserted = [statement for statement in live if statement.asserts]
        for statement in live:
            if statement.ends and all(other.about != statement.about for other in asserted):
                self._meant[id(statement)] = _only_matching_value(statement, asserted, predicate)

    def meant(self, statement: Statement) -> str:
        """Return the value a statement is about: "our dog died" is about Rex when he is the only dog."""
        return self._meant.get(id(statement), statement.about)

    def timeline(self, ordered: Sequence[Statement]) -> list[ValidityPeriod]:
        """Return the periods of statements that share one timeline."""
        periods: list[ValidityPeriod] = []
        denied: dict[str, ValidityPeriod] = {}
        closed: dict[int, datetime] = {}
        outside = {id(statement) for statement in self._against}
        key = partial(_order, predicate=self._predicate)
        for statement in sorted([*ordered, *self._against], key=key) if outside else ordered:
            if id(statement) in outside:
                self._close(periods, closed, statement)
                continue
            about = self.meant(statement)
            last = next((period for period in reversed(periods) if period.object == about), None)
            if statement.ends:
                self._end(statement, last, denied, closed)
                continue
            joins = (
                last is not None
                and id(last) not in closed
                and (_same_day(last, statement) if self._dated else last is periods[-1])
            )
            if last is None or not joins:
                last = ValidityPeriod(about)
                periods.append(last)
            last.statements.append(statement)
        self._date(periods, closed)
        return periods + list(denied.values())

    def _close(self, periods: Sequence[ValidityPeriod], closed: dict[int, datetime], statement: Statement) -> None:
        """Close the periods that something said elsewhere ends, unless they were said again since."""
        for period in periods:
            named = statement.object == EVERY or is_same(statement.about, period.object)
            named = named or (self._predicate == "habit" and covers(statement.about, period.object, self._predicate))
            if named and id(period) not in closed and max(other.said for other in period.asserted) < statement.said:
                closed[id(period)] = statement.ending

    def _end(
        self,
        statement: Statement,
        last: ValidityPeriod | None,
        denied: dict[str, ValidityPeriod],
        closed: dict[int, datetime],
    ) -> None:
        if last is None:
            period = denied.setdefault(statement.about, ValidityPeriod(statement.about, DENIED, status="retracted"))
            period.statements.append(statement)
            period.valid_to = statement.ending if period.valid_to is None else min(period.valid_to, statement.ending)
        else:
            last.statements.append(statement)
            closed[id(last)] = min(closed.get(id(last), statement.ending), statement.ending)

    def _date(self, periods: list[ValidityPeriod], closed: dict[int, datetime]) -> None:
        for period in periods:
            period.valid_from, end = _span(period, first=period is periods[0])
            ends = [time for time in (end, closed.get(id(period))) if time is not None]
            period.valid_to = min(ends, default=None)
        if not self._dated:
            _end_at_next_start(periods)
        for period in periods:
            if period.valid_to is not None:
                if period.valid_from is not None:
                    period.valid_from = min(period.valid_from, period.valid_to)
                if not self._lasting or id(period) in closed:
                    period.status = "superseded"


def _only_matching_value(statement: Statement, asserted: Sequence[Statement], predicate: str) -> str:
    """Return the only earlier value that a statement can mean when it names it in other words, else its own."""
    before = [other for other in asserted if _order(other, predicate) < _order(statement, predicate)]
    same = {other.about for other in before if is_same(statement.about, other.about)}
    of_kind = {other.about for other in before if other.kind is not None and statement.about == folded(other.kind)}
    # "We renamed the kitten Duchess" ends the name that it had, not the one that it has now.
    others = {
        other.about
        for other in before
        if other.about in of_kind and (statement.source is None or other.source != statement.source)
    }
    of_kind = others or of_kind
    several = shipped(predicate).values == "multi"  # York is not New York
    covered = {other.about for other in before if several and covers(statement.about, other.about, predicate)}
    only = next((values for values in (same, of_kind, covered) if len(values) == 1), {statement.about})
    return next(iter(only))


def _same_day(period: ValidityPeriod, statement: Statement) -> bool:
    return statement.begin is None or any(other.begin in (None, statement.begin) for other in period.asserted)


def _span(period: ValidityPeriod, *, first: bool) -> tuple[datetime | None, datetime | None]:
    """Return the beginning and end that its own statements give."""
    asserted = period.asserted
    begins = [statement.begin for statement in asserted if statement.begin is not None]
    begin = min(begins) if begins else None if first else min(statement.said for statement in asserted)
    # Somebody who says it again without an end takes the end back that was said before.
    end = asserted[-1].end
    for statement in sorted(asserted, key=lambda other: other.known):
        if "begin" in statement.fixed:
            begin = statement.begin
        if "end" in statement.fixed:
            end = statement.end
    return begin, end


def _end_at_next_start(periods: Sequence[ValidityPeriod]) -> None:
    """Let every period end, at the latest, where a later one begins."""
    bound: datetime | None = None
    for period in reversed(periods):
        if bound is not None:
            period.valid_to = bound if period.valid_to is None else min(period.valid_to, bound)
        start = period.valid_from
        if start is not None:
            bound = start if bound is None else min(bound, start)


def _keep_first(periods: Sequence[ValidityPeriod]) -> None:
    """End periods that overlap with one that was known earlier."""
    accepted: list[ValidityPeriod] = []
    asserted = [period for period in periods if period.asserted]
    for period in sorted(
        asserted, key=lambda period: (min(statement.known for statement in period.asserted), period.object)
    ):
        if any(period.object != other.object and _overlap(period, other) for other in accepted):
            start = period.valid_from or min(statement.said for statement in period.asserted)
            period.valid_from = period.valid_to = start
            period.status = "superseded"
        else:
            accepted.append(period)


def _overlap(first_period: ValidityPeriod, other: ValidityPeriod) -> bool:
    def ends_before(first: ValidityPeriod, second: ValidityPeriod) -> bool:
        start = second.valid_from or (min(statement.said for statement in second.asserted) if first.valid_to else None)
        return first.valid_to is not None and start is not None and first.valid_to <= start

    return not (ends_before(first_period, other) or ends_before(other, first_period))


def _dispute(periods: Sequence[ValidityPeriod]) -> None:
    """Mark all current values as disputed when there are several."""
    holding = [period for period in periods if period.status == "current"]
    if len({period.object for period in holding}) > 1:
        for period in holding:
            period.status = "disputed"


def _numbered(periods: list[ValidityPeriod]) -> list[ValidityPeriod]:
    """Give the periods of each value their numbers; what was taken back keeps the first number as long as nothing else has it."""
    counts: dict[str, int] = {}
    for period in periods:
        if period.number >= 0:
            period.number = counts.get(period.object, 0)
            counts[period.object] = period.number + 1
    for period in periods:
        if period.number < 0 and period.object not in counts:
            period.number = counts[period.object] = 0
    return periods
