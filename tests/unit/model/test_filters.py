"""Filters: how conditions are read and what they mean. Stores are held to the same answers elsewhere."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rememo.errors import InvalidFilter
from rememo.model.filters import OPERATORS, Condition, Filter, make_filter, parse_conditions
from rememo.model.record import Record
from rememo.model.scope import Scope

NOW = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def record(**fields: Any) -> Record:
    given: dict[str, Any] = {
        "id": "x",
        "version": 1,
        "kind": "note",
        "text": "",
        "scope": Scope(),
        "created_at": NOW,
        "recorded_at": NOW,
    }
    return Record(**(given | fields))


def means(filter: Filter, candidate: Record, moment: datetime = NOW) -> bool:
    return filter.matches(candidate, moment)


def test_a_mapping_is_read_as_conditions():
    assert parse_conditions("metadata", {"a": 1, "b.c": {"$gt": 2, "$lt": 5}, "d": {"e": "x"}, "f\\.g": None}) == (
        Condition("metadata", ("a",), "$eq", 1),
        Condition("metadata", ("b", "c"), "$gt", 2),
        Condition("metadata", ("b", "c"), "$lt", 5),
        Condition("metadata", ("d", "e"), "$eq", "x"),
        Condition("metadata", ("f.g",), "$eq", None),
    )


def test_every_operator_is_understood():
    operands: dict[str, Any] = {"$in": [1], "$nin": [1], "$exists": True}
    for operator in OPERATORS:
        [condition] = parse_conditions("data", {"a": {operator: operands.get(operator, 1)}})
        assert condition.operator == operator
        assert isinstance(condition.holds(record(data={"a": 1})), bool)


@pytest.mark.parametrize(
    ("held", "operator", "wanted", "holds"),
    [
        (1, "$eq", 1.0, True),
        (True, "$eq", 1, False),
        (1, "$eq", True, False),
        ("1", "$eq", 1, False),
        (None, "$eq", None, True),
        (0, "$eq", None, False),
        ([1, 2], "$eq", [1, 2], True),
        ([1.0], "$eq", [1], False),
        (2**53 + 1, "$eq", float(2**53), False),
        (True, "$gt", 0, False),
        ("b", "$gt", "a", True),
        ("10", "$lt", 9, False),
        ([5], "$gt", 1, False),
        (None, "$lte", 1, False),
        ("abc", "$contains", "b", True),
        ("abc", "$contains", "", True),
        ("1", "$contains", 1, False),
        ([1, True], "$contains", True, True),
        ([1], "$contains", True, False),
        ({"k": 1}, "$contains", "k", False),
        (1, "$in", [True, 1], True),
        (True, "$in", [1], False),
        (1, "$nin", [2], True),
        ({"k": 1}, "$ne", "k", True),
    ],
)
def test_types_are_kept_apart(held: Any, operator: str, wanted: Any, holds: bool):
    assert Condition("metadata", ("a",), operator, wanted).holds(record(metadata={"a": held})) is holds


def test_what_is_missing_only_passes_a_denial():
    passing = {
        operator: Condition("metadata", ("a",), operator, [1] if "in" in operator else 1) for operator in OPERATORS
    }
    passing["$exists"] = Condition("metadata", ("a",), "$exists", False)
    held = {operator for operator, condition in passing.items() if condition.holds(record())}
    assert held == {"$ne", "$nin", "$exists"}


def test_a_path_stops_at_what_is_not_a_mapping():
    condition = Condition("metadata", ("a", "b"), "$exists", True)
    for value in ("text", 1, None, [{"b": 1}]):
        assert not condition.holds(record(metadata={"a": value}))
    assert condition.holds(record(metadata={"a": {"b": None}}))


def test_bounds_of_every_time():
    version = record(occurred_at=NOW, recorded_at=NOW, superseded_at=NOW + 2 * DAY, valid_from=NOW, valid_to=NOW + DAY)
    scope = Scope()
    assert means(make_filter(scope, after=NOW), version)
    assert not means(make_filter(scope, before=NOW), version)
    assert means(make_filter(scope, before=NOW + DAY), version)
    assert means(make_filter(scope, valid_at=NOW), version)
    assert not means(make_filter(scope, valid_at=NOW + DAY), version)
    assert not means(make_filter(scope, valid_at=NOW - DAY), version)
    assert not means(make_filter(scope, known_at=NOW - DAY), version)
    assert means(make_filter(scope, known_at=NOW + DAY), version, NOW + 9 * DAY)
    assert not means(make_filter(scope, known_at=NOW + 2 * DAY), version)
    short = record(expires_at=NOW + DAY)
    assert means(make_filter(scope), short)
    assert not means(make_filter(scope), short, NOW + DAY)


def test_only_the_scope_selects_everything():
    scope = Scope(user="alice")
    assert make_filter(scope).selects_everything
    assert make_filter(scope, metadata={}).selects_everything
    for narrowed in (
        make_filter(scope, kind="fact"),
        make_filter(scope, ids=[]),
        make_filter(scope, after=NOW),
        make_filter(scope, before=NOW),
        make_filter(scope, metadata={"a": 1}),
        make_filter(scope, pinned=False),
        make_filter(scope, valid_at=NOW),
    ):
        assert not narrowed.selects_everything


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"after": NOW, "before": NOW - DAY}, "swap"),
        ({"kind": []}, "kind is an empty collection"),
        ({"ids": "abc"}, "ids must be a collection"),
        ({"pinned": 1}, "pinned must be True or False"),
        ({"metadata": {"a": {"$like": "x"}}}, r"\$like.*\$eq"),
        ({"metadata": {".".join("a" * 33): 1}}, "nested too deeply"),
        ({"metadata": {"a": {"b\ud800": 1}}}, "lone surrogate"),
    ],
)
def test_contradictions_are_errors(arguments: Any, names: str):
    with pytest.raises(InvalidFilter, match=names):
        make_filter(Scope(), **arguments)
