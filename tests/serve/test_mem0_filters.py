"""Filters of mem0 as alternatives: whatever tree is built, they mean what it means, or it is refused."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidFilter, InvalidInput
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.serve.mem0.filters import MEMORIES, Alternative, parse_filters

Holds = Callable[[Record], bool]
Tree = tuple[dict[str, Any], Holds]

START = datetime(2026, 5, 1, tzinfo=UTC)
NOW = START + timedelta(days=30)
HOUR = timedelta(hours=1)
MOMENTS = [START + number * 12 * HOUR for number in range(5)]
RECORDS = [
    Record(
        id=f"{number}", version=1, kind=MEMORIES[number % 3], text="x", metadata=metadata,
        scope=Scope(user=("ana", "bob", None)[number % 3], room=("r1", None)[number % 2]),
        created_at=MOMENTS[number % 5], recorded_at=MOMENTS[number % 5],
    )
    for number, metadata in enumerate(
        [{}, {"a": 1}, {"a": 2}, {"a": "x"}, {"a": ["x", 1]}, {"a": None}, {"a": True}, {"b": 1}, {"a": 1, "app_id": "s"}] * 3
    )
]  # fmt: skip

# Each leaf with what it means, told in another way than the code under test tells it.
LEAVES: list[Tree] = [
    ({"metadata": {"a": 1}}, lambda record: record.metadata.get("a") == 1 and record.metadata["a"] is not True),
    ({"metadata": {"a": {"ne": "x"}}}, lambda record: record.metadata.get("a") != "x"),
    ({"metadata": {"a": {"in": [1, "x"]}}}, lambda record: record.metadata.get("a") in (1, "x") and record.metadata["a"] is not True),
    ({"app_id": "*"}, lambda record: "app_id" in record.metadata),
    ({"categories": {"in": ["fact", "note"]}}, lambda record: record.kind in ("fact", "note")),
    ({"categories": {"ne": "fact"}}, lambda record: record.kind != "fact"),
    ({"categories": {"contains": "ote"}}, lambda record: record.kind == "note"),
    ({"created_at": {"gte": "2026-05-01T12:00:00Z"}}, lambda record: record.at >= MOMENTS[1]),
    ({"created_at": {"lt": "2026-05-02"}}, lambda record: record.at < MOMENTS[2]),
    ({"created_at": {"lte": "2026-05-02"}}, lambda record: record.at < MOMENTS[4]),
    ({"timestamp": {"gt": "2026-05-01"}}, lambda record: record.at >= MOMENTS[2]),
    ({"created_at": {"ne": "2026-05-01"}}, lambda record: record.at >= MOMENTS[2]),
    ({"created_at": MOMENTS[1].isoformat()}, lambda record: record.at == MOMENTS[1]),
]  # fmt: skip
WANTED: list[Tree] = [
    ({"user_id": "ana"}, lambda record: record.scope.user == "ana"),
    ({"user_id": {"in": ["ana", "bob"]}}, lambda record: record.scope.user in ("ana", "bob")),
    ({"run_id": "*"}, lambda _: True),
    ({"memory_ids": ["1", "2", "7"]}, lambda record: record.id in ("1", "2", "7")),
    ({"metadata": {"a": {"gt": 1}}}, lambda record: record.metadata.get("a") == 2),
]


def trees() -> st.SearchStrategy[Tree]:
    """Build trees with what they mean."""

    def grown(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        several = st.lists(parts, min_size=1, max_size=3)
        return st.one_of(
            several.map(lambda some: ({"AND": [part for part, _ in some]}, _all(some))),
            several.map(lambda some: ({"OR": [part for part, _ in some]}, _any(some))),
            several.map(lambda some: ({"NOT": [part for part, _ in some]}, _none(some))),
            parts.map(lambda part: ({"NOT": part[0]}, _none([part]))),
        )

    return st.recursive(st.sampled_from(LEAVES), grown, max_leaves=6)


def _all(some: Sequence[Tree]) -> Holds:
    return lambda record: all(holds(record) for _, holds in some)


def _any(some: Sequence[Tree]) -> Holds:
    return lambda record: any(holds(record) for _, holds in some)


def _none(some: Sequence[Tree]) -> Holds:
    return lambda record: not any(holds(record) for _, holds in some)


def matching_ids(alternatives: list[Alternative]) -> set[str]:
    """Return the ids that alternatives mean."""
    filters = [
        Filter(
            scope=Scope(**alternative.labels), kinds=tuple(alternative.kinds or ()), ids=None if alternative.ids is None else tuple(alternative.ids),
            after=alternative.after, before=alternative.before, conditions=alternative.conditions,
        )
        for alternative in alternatives
    ]  # fmt: skip
    return {record.id for record in RECORDS for filter in filters if filter.matches(record, NOW)}


def raised(filters: Any, found: list[Alternative]) -> Exception | None:
    """Put what filters mean into a list, or return what is raised."""
    try:
        found += parse_filters(filters)
    except Exception as error:  # noqa: BLE001 - of which kind it is, is the question
        return error
    return None


@given(trees(), st.sampled_from([*WANTED, None]))
def test_alternatives_mean_what_the_tree_means(tree: Tree, more: Tree | None):
    filters, holds = tree
    if more is not None:
        filters, holds = {"AND": [filters, more[0]]}, _all([tree, more])
    found: list[Alternative] = []
    # Too many is the one thing that may be wrong with these.
    refused = raised(filters, found)
    if refused is not None:
        assert "alternatives" in str(refused)
        return
    assert matching_ids(found) == {record.id for record in RECORDS if holds(record)}


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(
        st.sampled_from(["AND", "OR", "NOT", "user_id", "created_at", "categories", "metadata", "memory_ids", "in", "gte", "a"]),
        part, max_size=3,
    ), max_leaves=8,
))  # fmt: skip
def test_nonsense_is_refused_by_name(nonsense: Any):
    refused = raised({"OR": [nonsense]}, [])
    assert refused is None or isinstance(refused, InvalidFilter | InvalidInput), refused


def test_deep_nesting_is_refused():
    filters: dict[str, Any] = {"user_id": "ana"}
    for _ in range(100):
        filters = {"AND": [filters]}
    with pytest.raises(InvalidFilter, match="nested too deeply"):
        parse_filters(filters)
    deep: Any = "x"
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(InvalidFilter):
        parse_filters({"metadata": deep})
