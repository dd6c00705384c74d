"""Contradictions settled by policy: from all that was said about one thing to what held when. Pure.

The result follows from the set of statements alone, so it does not matter in which order they arrive, how often they are
repeated, or that one of them is taken back later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from rememo.learn.predicates import predicate as shipped
from rememo.learn.statements import Statement, folded
from rememo.model.fact import FactStatus

Policy = Literal["latest", "keep", "ask", "gather"]
"""What happens when another value is said: the newer ends the older, the first stays, somebody decides, or all hold."""
POLICIES: tuple[str, ...] = get_args(Policy)

DATED = frozenset({"event", "visited", "plans", "appointment"})
"""Another date is another occasion."""
LASTING = frozenset({"event", "visited"})
"""What has happened stays a fact when it is over."""
VOID, DENIED = -1, -2
"""Numbers of the runs that hold what was taken back, and what was only ever denied."""


@dataclass(slots=True)
class Run:
    """One stretch of time in which one value held."""

    object: str
    """As objects are compared."""
    number: int = 0
    """Which of the runs of this value it is, the earliest being 0."""
    statements: list[Statement] = field(default_factory=list[Statement])
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    status: FactStatus = "current"

    @property
    def asserted(self) -> list[Statement]:
        """What speaks for it."""
        return [one for one in self.statements if one.asserts]

    @property
    def denied(self) -> bool:
        """Whether nobody ever said that it is so."""
        return self.status == "retracted" and all(one.ends for one in self.statements)


def default_policy(predicate: str) -> Policy:
    """Return how the shipped table treats a predicate."""
    return "latest" if shipped(predicate).values == "single" else "gather"


def arrange(statements: Iterable[Statement], predicate: str, policy: Policy) -> list[Run]:
    """Return what held when, as runs that hold each statement exactly once."""
    given = sorted(statements, key=lambda one: one.order)
    live, runs = _without_void(given)
    if policy == "latest":
        return _numbered(runs + _timeline(live, predicate))
    by_object: dict[str, list[Statement]] = {}
    for one in live:
        by_object.setdefault(one.about, []).append(one)
    found = [run for one in by_object.values() for run in _timeline(one, predicate)]
    if policy == "keep":
        _keep_first(found)
    elif policy == "ask":
        _dispute(found)
    return _numbered(runs + found)


def _without_void(given: Sequence[Statement]) -> tuple[list[Statement], list[Run]]:
    """Part what was taken back as wrong from what stands."""
    until: dict[str, datetime] = {}
    decided: dict[str, datetime] = {}
    for one in given:
        wrong = one.about if one.refused else None if one.corrects is None else folded(one.corrects)
        if wrong is not None:
            until[wrong] = max(until.get(wrong, one.said), one.said)
            if one.name is not None:
                decided[wrong] = max(decided.get(wrong, one.known), one.known)
    live: list[Statement] = []
    void: dict[str, Run] = {}
    for one in given:
        limit = until.get(one.about)
        own = one.corrects is not None and folded(one.corrects) == one.about
        stays = own or (_corrects_at(one, limit) and not one.known < decided.get(one.about, one.known))
        if one.refused or (limit is not None and one.said <= limit and one.asserts and not stays):
            void.setdefault(one.about, Run(one.about, VOID, status="retracted")).statements.append(one)
        else:
            live.append(one)
    return live, list(void.values())


def _corrects_at(one: Statement, limit: datetime | None) -> bool:
    # Two corrections of the same moment that take each other's value back: the words of one text, both stay. Those made
    # by hand have the moment of what they correct: there the one that was made later counts.
    return one.corrects is not None and one.said == limit


def _timeline(ordered: Sequence[Statement], predicate: str) -> list[Run]:
    """Return the runs of statements that share one line of time."""
    dated = predicate in DATED
    runs: list[Run] = []
    denied: dict[str, Run] = {}
    closed: dict[int, datetime] = {}
    for one in ordered:
        last = next((run for run in reversed(runs) if run.object == one.about), None)
        if one.ends:
            if last is None:
                run = denied.setdefault(one.about, Run(one.about, DENIED, status="retracted"))
                run.statements.append(one)
                run.valid_to = one.ending if run.valid_to is None else min(run.valid_to, one.ending)
            else:
                last.statements.append(one)
                closed[id(last)] = min(closed.get(id(last), one.ending), one.ending)
            continue
        joins = last is not None and id(last) not in closed and (_same_day(last, one) if dated else last is runs[-1])
        if last is None or not joins:
            last = Run(one.about)
            runs.append(last)
        last.statements.append(one)
    for run in runs:
        run.valid_from, end = _span(run, first=run is runs[0])
        ends = [moment for moment in (end, closed.get(id(run))) if moment is not None]
        run.valid_to = min(ends, default=None)
    if not dated:
        _part(runs)
    for run in runs:
        if run.valid_to is not None:
            if run.valid_from is not None:
                run.valid_from = min(run.valid_from, run.valid_to)
            if predicate not in LASTING or id(run) in closed:
                run.status = "superseded"
    return runs + list(denied.values())


def _same_day(run: Run, one: Statement) -> bool:
    return one.begin is None or any(other.begin in (None, one.begin) for other in run.asserted)


def _span(run: Run, *, first: bool) -> tuple[datetime | None, datetime | None]:
    """Return from when and until when it held by its own words."""
    asserted = run.asserted
    begins = [one.begin for one in asserted if one.begin is not None]
    begin = min(begins) if begins else None if first else min(one.said for one in asserted)
    # Somebody who says it again without an end takes the end back that was said before.
    end = asserted[-1].end
    for one in sorted(asserted, key=lambda one: one.known):
        if "begin" in one.fixed:
            begin = one.begin
        if "end" in one.fixed:
            end = one.end
    return begin, end


def _part(runs: Sequence[Run]) -> None:
    """Let every run end, at the latest, where a later one begins."""
    bound: datetime | None = None
    for run in reversed(runs):
        if bound is not None:
            run.valid_to = bound if run.valid_to is None else min(run.valid_to, bound)
        start = run.valid_from
        if start is not None:
            bound = start if bound is None else min(bound, start)


def _keep_first(runs: Sequence[Run]) -> None:
    """Refuse what holds at the same time as something that was known earlier."""
    kept: list[Run] = []
    asserted = [run for run in runs if run.asserted]
    for run in sorted(asserted, key=lambda run: (min(one.known for one in run.asserted), run.object)):
        if any(run.object != other.object and _overlap(run, other) for other in kept):
            start = run.valid_from or min(one.said for one in run.asserted)
            run.valid_from = run.valid_to = start
            run.status = "superseded"
        else:
            kept.append(run)


def _overlap(one: Run, other: Run) -> bool:
    def ends_before(first: Run, second: Run) -> bool:
        start = second.valid_from or (min(said.said for said in second.asserted) if first.valid_to else None)
        return first.valid_to is not None and start is not None and first.valid_to <= start

    return not (ends_before(one, other) or ends_before(other, one))


def _dispute(runs: Sequence[Run]) -> None:
    """Mark every value that holds, when there are several."""
    holding = [run for run in runs if run.status == "current"]
    if len({run.object for run in holding}) > 1:
        for run in holding:
            run.status = "disputed"


def _numbered(runs: list[Run]) -> list[Run]:
    """Give the runs of each value their numbers; what was taken back keeps the first number as long as nothing else has it."""
    counts: dict[str, int] = {}
    for run in runs:
        if run.number >= 0:
            run.number = counts.get(run.object, 0)
            counts[run.object] = run.number + 1
    for run in runs:
        if run.number < 0 and run.object not in counts:
            run.number = counts[run.object] = 0
    return runs
