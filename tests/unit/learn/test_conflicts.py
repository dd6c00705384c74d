"""Contradictions, as pure functions: what held when follows from what was said, in whatever order it arrives."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.learn.conflicts import Policy, Run, arrange
from rememo.learn.statements import Statement
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


def told(runs: list[Run]) -> list[tuple[object, ...]]:
    return sorted(
        (run.object, run.number, run.valid_from, run.valid_to, run.status, sorted(map(repr, run.statements)))
        for run in runs
    )


def spans(runs: list[Run]) -> list[tuple[str, int | None, int | None, str]]:
    def days(run: Run) -> tuple[int | None, int | None]:
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


statements = st.lists(dated(), max_size=8, unique_by=lambda one: (one.said, one.object, one.begin, one.ends))


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize("policy", ["latest", "ask", "gather"])
@given(given_statements=statements, data=st.data())
def test_the_order_of_arrival_does_not_matter(policy: Policy, given_statements: list[Statement], data: st.DataObject):
    shuffled = data.draw(st.permutations(given_statements))
    assert told(arrange(shuffled, "lives_in", policy)) == told(arrange(given_statements, "lives_in", policy))


@pytest.mark.requirement("conflict.policy")
@given(given_statements=statements)
def test_one_value_at_a_time_holds_and_no_statement_is_lost(given_statements: list[Statement]):
    runs = arrange(given_statements, "lives_in", "latest")
    assert sorted(map(repr, (one for run in runs for one in run.statements))) == sorted(map(repr, given_statements))
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
        rest = [one for one in given_statements if one is not gone]
        arrange(given_statements, "lives_in", "latest")
        assert told(arrange(rest, "lives_in", "latest")) == told(arrange(list(reversed(rest)), "lives_in", "latest"))


def test_a_home_moved_from_and_back_to():
    runs = arrange([said("Lisbon", 0), said("Porto", 10), said("Lisbon", 20)], "lives_in", "latest")
    assert spans(runs) == [
        ("lisbon", None, 10, "superseded"),
        ("porto", 10, 20, "superseded"),
        ("lisbon", 20, None, "current"),
    ]
    assert [run.number for run in runs] == [0, 0, 1]


def test_who_says_later_since_when_is_believed():
    runs = arrange([said("Lisbon", 20), said("Porto", 31, begin=1)], "lives_in", "latest")
    assert spans(runs) == [("lisbon", None, 1, "superseded"), ("porto", 1, None, "current")]


def test_a_stay_that_is_over_ends_nothing_later():
    runs = arrange([said("Lisbon", 20), said("Rome", 31, begin=-30, end=-20)], "lives_in", "latest")
    assert spans(runs) == [("rome", -30, -20, "superseded"), ("lisbon", 20, None, "current")]


def test_a_denial_ends_what_it_denies_and_nothing_else():
    runs = arrange([said("meat", 0), said("fish", 0), said("meat", 5, ends=True)], "eats", "gather")
    assert sorted(spans(runs)) == [("fish", None, None, "current"), ("meat", None, 5, "superseded")]
    again = arrange([said("meat", 0), said("meat", 5, ends=True), said("meat", 9)], "eats", "gather")
    assert spans(again) == [("meat", None, 5, "superseded"), ("meat", 9, None, "current")]


def test_what_was_only_denied_is_no_fact():
    (run,) = arrange([said("nuts", 5, ends=True)], "allergic_to", "gather")
    assert (run.status, run.denied) == ("retracted", True)


def test_a_correction_takes_back_and_nothing_more():
    right = replace(said("Porto", 1), corrects="Lisbon")
    runs = arrange([said("Lisbon", 0), right, said("Lisbon", 5)], "lives_in", "latest")
    assert sorted(spans(runs), key=repr) == sorted(
        [("lisbon", None, None, "retracted"), ("porto", None, 5, "superseded"), ("lisbon", 5, None, "current")],
        key=repr,
    )


def test_other_dates_are_other_occasions():
    runs = arrange(
        [said("dentist", 0, begin=3, end=4), said("dentist", 1, begin=3, end=4), said("dentist", 2, begin=9, end=10)],
        "appointment",
        "gather",
    )
    assert [(run.number, len(run.statements)) for run in runs] == [(0, 2), (1, 1)]


def test_what_has_happened_stays_a_fact():
    (run,) = arrange([said("Paris", 0, begin=-30, end=-20)], "visited", "gather")
    assert run.status == "current"


@pytest.mark.requirement("conflict.policy")
def test_keep_makes_room_when_the_first_has_ended():
    runs = arrange([said("Lisbon", 0), said("Lisbon", 5, ends=True), said("Porto", 9)], "lives_in", "keep")
    assert spans(runs) == [("lisbon", None, 5, "superseded"), ("porto", None, None, "current")]
