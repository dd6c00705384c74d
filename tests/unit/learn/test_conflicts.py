"""Contradictions, as pure functions: what held when follows from what was said, in whatever order it arrives."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory
from rememo.bench.contradictions import measure
from rememo.extract.predicates import EVERY, OPPOSITIONS, PREDICATES
from rememo.learn.conflicts import Policy, ValidityPeriod, arrange_periods
from rememo.learn.oppositions import SubjectPredicate, arrange_all
from rememo.learn.statements import Statement, folded
from rememo.model.fact import Source
from rememo.model.scope import Scope
from rememo.testing.clock import START

PLACES = ("Lisbon", "Porto", "Rome", "Oslo")


def said(place: str, day: int, *, begin: int | None = None, end: int | None = None, ends: bool = False) -> Statement:
    at = START + timedelta(days=day)
    return Statement(
        object=place,
        said=at,
        known=at,
        scope=Scope(user="ana"),
        confidence=0.9,
        source=Source(f"{place}-{day}-{begin}-{end}-{ends}", 1),
        begin=None if begin is None else START + timedelta(days=begin),
        end=None if end is None else START + timedelta(days=end),
        ends=ends,
    )


def describe(runs: list[ValidityPeriod]) -> list[tuple[object, ...]]:
    return sorted(
        (run.object, run.number, run.valid_from, run.valid_to, run.status, sorted(map(repr, run.statements)))
        for run in runs
    )


def spans(runs: list[ValidityPeriod]) -> list[tuple[str, int | None, int | None, str]]:
    def days(run: ValidityPeriod) -> tuple[int | None, int | None]:
        return (
            None if run.valid_from is None else (run.valid_from - START).days,
            None if run.valid_to is None else (run.valid_to - START).days,
        )

    return [(run.object, *days(run), run.status) for run in runs]


@st.composite
def dated(draw: st.DrawFn) -> Statement:
    day = draw(st.integers(0, 60))
    begin = draw(st.none() | st.integers(-60, 90))
    end = draw(st.none() | st.integers(0, 60)) if begin is not None else None
    return said(
        draw(st.sampled_from(PLACES)),
        day,
        begin=begin,
        end=None if begin is None or end is None else begin + end,
        ends=draw(st.booleans()) and begin is None,
    )


statements = st.lists(
    dated(), max_size=8, unique_by=lambda statement: (statement.said, statement.object, statement.begin, statement.ends)
)


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize("policy", ["latest", "ask", "gather"])
@given(given_statements=statements, data=st.data())
def test_the_order_of_arrival_does_not_matter(policy: Policy, given_statements: list[Statement], data: st.DataObject):
    shuffled = data.draw(st.permutations(given_statements))
    assert describe(arrange_periods(shuffled, "lives_in", policy)) == describe(
        arrange_periods(given_statements, "lives_in", policy)
    )


@pytest.mark.requirement("conflict.policy")
@given(given_statements=statements)
def test_one_value_at_a_time_holds_and_no_statement_is_lost(given_statements: list[Statement]):
    runs = arrange_periods(given_statements, "lives_in", "latest")
    assert sorted(map(repr, (statement for run in runs for statement in run.statements))) == sorted(
        map(repr, given_statements)
    )
    holding = [run for run in runs if run.status != "retracted"]
    for before, after in pairwise(holding):
        assert before.valid_to is not None
        assert after.valid_from is None or before.valid_to <= after.valid_from
        assert before.valid_from is None or before.valid_from <= before.valid_to
    assert sum(run.status == "current" for run in runs) <= 1
    assert len({(run.object, run.number) for run in runs}) == len(runs)


@given(given_statements=statements, data=st.data())
def test_what_is_taken_back_leaves_no_trace(given_statements: list[Statement], data: st.DataObject):
    # Nothing is remembered between two arrangements: without a statement all is as if it had never been.
    if given_statements:
        gone = data.draw(st.sampled_from(given_statements))
        rest = [statement for statement in given_statements if statement is not gone]
        arrange_periods(given_statements, "lives_in", "latest")
        assert describe(arrange_periods(rest, "lives_in", "latest")) == describe(
            arrange_periods(list(reversed(rest)), "lives_in", "latest")
        )


def test_a_home_moved_from_and_back_to():
    runs = arrange_periods([said("Lisbon", 0), said("Porto", 10), said("Lisbon", 20)], "lives_in", "latest")
    assert spans(runs) == [
        ("lisbon", None, 10, "superseded"),
        ("porto", 10, 20, "superseded"),
        ("lisbon", 20, None, "current"),
    ]
    assert [run.number for run in runs] == [0, 0, 1]


def test_who_says_later_since_when_is_believed():
    runs = arrange_periods([said("Lisbon", 20), said("Porto", 31, begin=1)], "lives_in", "latest")
    assert spans(runs) == [("lisbon", None, 1, "superseded"), ("porto", 1, None, "current")]


def test_a_stay_that_is_over_ends_nothing_later():
    runs = arrange_periods([said("Lisbon", 20), said("Rome", 31, begin=-30, end=-20)], "lives_in", "latest")
    assert spans(runs) == [("rome", -30, -20, "superseded"), ("lisbon", 20, None, "current")]


def test_a_denial_ends_what_it_denies_and_nothing_else():
    runs = arrange_periods([said("meat", 0), said("fish", 0), said("meat", 5, ends=True)], "eats", "gather")
    assert sorted(spans(runs)) == [("fish", None, None, "current"), ("meat", None, 5, "superseded")]
    again = arrange_periods([said("meat", 0), said("meat", 5, ends=True), said("meat", 9)], "eats", "gather")
    assert spans(again) == [("meat", None, 5, "superseded"), ("meat", 9, None, "current")]


def test_what_was_only_denied_is_no_fact():
    (run,) = arrange_periods([said("nuts", 5, ends=True)], "allergic_to", "gather")
    assert (run.status, run.denied) == ("retracted", True)


def test_a_correction_takes_back_and_nothing_more():
    right = replace(said("Porto", 1), corrects="Lisbon")
    runs = arrange_periods([said("Lisbon", 0), right, said("Lisbon", 5)], "lives_in", "latest")
    assert sorted(spans(runs), key=repr) == sorted(
        [("lisbon", None, None, "retracted"), ("porto", None, 5, "superseded"), ("lisbon", 5, None, "current")],
        key=repr,
    )


def test_other_dates_are_other_occasions():
    runs = arrange_periods(
        [said("dentist", 0, begin=3, end=4), said("dentist", 1, begin=3, end=4), said("dentist", 2, begin=9, end=10)],
        "appointment",
        "gather",
    )
    assert [(run.number, len(run.statements)) for run in runs] == [(0, 2), (1, 1)]


def test_what_has_happened_stays_a_fact():
    (run,) = arrange_periods([said("Paris", 0, begin=-30, end=-20)], "visited", "gather")
    assert run.status == "current"


@pytest.mark.requirement("conflict.policy")
def test_keep_makes_room_when_the_first_has_ended():
    runs = arrange_periods([said("Lisbon", 0), said("Lisbon", 5, ends=True), said("Porto", 9)], "lives_in", "keep")
    assert spans(runs) == [("lisbon", None, 5, "superseded"), ("porto", None, None, "current")]


LIVES = Path(__file__).parents[2] / "data" / "contradictions.jsonl"


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize("held_out", [False, True])
def test_what_is_said_later_ends_what_it_contradicts_and_nothing_else(held_out: bool) -> None:
    scores = measure(LIVES, held_out=held_out)
    assert scores.recall >= 0.9, scores.table()
    assert scores.precision >= 0.98, scores.table()


def test_oppositions_name_known_predicates() -> None:
    assert {name for rule in OPPOSITIONS for name in (rule.said, rule.ends)} <= PREDICATES.keys()


def test_whatever_the_value_was_it_ends() -> None:
    runs = arrange_periods([said("Siemens", 0), said(EVERY, 5, ends=True), said("Bosch", 9)], "works_at", "latest")
    assert sorted(spans(runs)) == [
        ("*", None, 5, "retracted"),
        ("bosch", 9, None, "current"),
        ("siemens", None, 5, "superseded"),
    ]


def test_what_is_over_may_be_named_in_other_words() -> None:
    rex = replace(said("Rex", 0), kind="dog")
    assert spans(arrange_periods([rex, said("dog", 5, ends=True)], "has_pet", "gather")) == [
        ("rex", None, 5, "superseded")
    ]
    gym = [said("go to the gym on Mondays", 0), said("going to the gym", 5, ends=True)]
    assert [run.status for run in arrange_periods(gym, "habit", "gather")] == ["superseded"]
    york = [said("New York", 0), said("York", 5, ends=True)]
    assert sorted(run.status for run in arrange_periods(york, "lives_in", "latest")) == ["current", "retracted"]
    two = [rex, replace(said("Bo", 0), kind="dog"), said("dog", 5, ends=True)]
    assert sorted(run.status for run in arrange_periods(two, "has_pet", "gather")) == [
        "current",
        "current",
        "retracted",
    ]


_MATTERS = [
    ("ana", name) for name in ("likes", "dislikes", "eats", "avoids", "diet", "married_to", "marital_status", "partner")
]
_VALUES = ("jazz", "meat", "vegan", "Tom", "single", "divorced", EVERY)
_told = st.lists(
    st.tuples(st.sampled_from(_MATTERS), st.sampled_from(_VALUES), st.integers(0, 9), st.booleans()),
    max_size=10,
    unique_by=lambda statement: (statement[0], folded(statement[1]), statement[2]),
)


def _settled(told: list[tuple[SubjectPredicate, str, int, bool]]) -> dict[SubjectPredicate, list[tuple[object, ...]]]:
    matters: dict[SubjectPredicate, list[Statement]] = {}
    for matter, value, day, ends in told:
        matters.setdefault(matter, []).append(said(value, day, ends=ends or value == EVERY))
    return {matter: describe(runs) for matter, runs in arrange_all(matters).items()}


@pytest.mark.requirement("conflict.policy")
@given(told=_told, data=st.data())
def test_what_ends_what_does_not_depend_on_the_order_of_arrival(
    told: list[tuple[SubjectPredicate, str, int, bool]], data: st.DataObject
) -> None:
    assert _settled(data.draw(st.permutations(told))) == _settled(told)


@pytest.mark.parametrize(
    ("first", "then", "ended"),
    [
        ("I love jazz.", "I can't stand jazz.", ("ana", "likes", "jazz")),
        ("I'm vegetarian.", "I eat meat again.", ("ana", "diet", "vegetarian")),
        ("I'm married to Tom.", "We got divorced.", ("ana", "married_to", "Tom")),
        ("I work at Siemens.", "I quit my job.", ("ana", "works_at", "Siemens")),
        ("I have a dog named Rex.", "Our dog died.", ("ana", "has_pet", "Rex")),
        ("I have a dog named Rex.", "Rex died yesterday.", ("ana", "has_pet", "Rex")),
        ("I live on Maple Street. I live in Cork.", "I moved to Oslo.", ("ana", "address", "Maple Street")),
    ],
)
def test_taking_a_message_back_revives_what_it_had_ended(first: str, then: str, ended: tuple[str, str, str]) -> None:
    def holding() -> set[tuple[str, str, str]]:
        return {(fact.subject, fact.predicate, fact.object) for fact in chat.facts.list()}

    with Memory(":memory:") as memory:
        chat = memory.scope(user="ana", room="chat")
        chat.messages.add("user", first).wait()
        assert ended in holding()
        later = chat.messages.add("user", then)
        later.wait()
        assert ended not in holding()
        chat.delete(later.id).wait()
        assert ended in holding()
