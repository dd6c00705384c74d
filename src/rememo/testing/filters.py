"""Metadata filters: each operator by example, all of them together against `Filter.matches`."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidFilter, InvalidInput
from rememo.memory import Memory
from rememo.model.filters import make_filter
from rememo.testing.base import Suite, examples, ids, texts
from rememo.testing.clock import ManualClock
from rememo.testing.strategies import CONDITIONS, METADATA

_tenants = count()

STORED: dict[str, dict[str, Any]] = {
    "one": {"n": 1, "s": "travel plans", "b": True, "tags": ["red", "blue"], "author": {"name": "Ana", "age": 30}},
    "two": {"n": 2, "s": "work", "b": False, "tags": [], "author": {"name": "Bo"}},
    "half": {"n": 1.5, "s": "", "b": None, "tags": "red", "author": "Ana"},
    "text": {"n": "1", "s": "Travel", "b": 1, "tags": [1, True, None], "dotted.key": 5},
    "none": {},
}


class FilterSuite(Suite):
    """What conditions on metadata mean."""

    @pytest.mark.requirement("search.metadata", "record.search-filters")
    @pytest.mark.parametrize(
        ("wanted", "expected_ids"),
        [
            ({"n": 1}, "one"),
            ({"n": 1.0}, "one"),
            ({"n": "1"}, "text"),
            ({"b": True}, "one"),
            ({"b": 1}, "text"),
            ({"b": None}, "half"),
            ({"s": ""}, "half"),
            ({"n": {"$eq": 2}}, "two"),
            ({"n": {"$ne": 1}}, "two half text none"),
            ({"n": {"$in": [1, 2, "x"]}}, "one two"),
            ({"n": {"$in": []}}, ""),
            ({"n": {"$nin": [1, 2]}}, "half text none"),
            ({"n": {"$nin": []}}, "one two half text none"),
            ({"n": {"$exists": True}}, "one two half text"),
            ({"n": {"$exists": False}}, "none"),
            ({"b": {"$exists": True}}, "one two half text"),
            ({"n": {"$gt": 1}}, "two half"),
            ({"n": {"$gte": 1}}, "one two half"),
            ({"n": {"$lt": 2}}, "one half"),
            ({"n": {"$lte": 1.5}}, "one half"),
            ({"n": {"$gt": 1, "$lt": 2}}, "half"),
            ({"s": {"$gte": "t"}}, "one two"),
            ({"n": {"$gt": "0"}}, "text"),
            ({"s": {"$contains": "ravel"}}, "one text"),
            ({"tags": {"$contains": "red"}}, "one half"),
            ({"tags": {"$contains": 1}}, "text"),
            ({"tags": {"$contains": True}}, "text"),
            ({"tags": {"$contains": None}}, "text"),
            ({"tags": ["red", "blue"]}, "one"),
            ({"tags": []}, "two"),
            ({"author.name": "Ana"}, "one"),
            ({"author": {"name": "Ana"}}, "one"),
            ({"author": {"name": {"$in": ["Ana", "Bo"]}, "age": {"$exists": False}}}, "two"),
            ({"author": "Ana"}, "half"),
            ({"dotted\\.key": 5}, "text"),
            ({"dotted.key": 5}, ""),
            ({"author.name.deeper": {"$exists": False}}, "one two half text none"),
            ({"n": 1, "b": True}, "one"),
            ({"n": 1, "b": False}, ""),
        ],
    )
    def test_each_operator(self, memory: Memory, wanted: dict[str, Any], expected_ids: str) -> None:
        memory.add_many(
            [
                {"text": f"harbour {name} {len(name)}th", "id": name, "metadata": metadata}
                for name, metadata in STORED.items()
            ]
        )
        assert ids(memory.list(metadata=wanted)) == expected_ids.split()
        assert memory.count(metadata=wanted) == len(expected_ids.split())
        hits = memory.search("harbour", metadata=wanted, mode="words")
        assert sorted(ids(hits)) == sorted(expected_ids.split())
        if expected_ids:
            assert memory.delete_where(metadata=wanted) == len(expected_ids.split())

    @given(stored=st.lists(METADATA, min_size=1, max_size=5), wanted=CONDITIONS)
    @examples(150)
    def test_a_store_finds_what_the_filter_itself_says(
        self, memory: Memory, clock: ManualClock, stored: list[dict[str, Any]], wanted: dict[str, Any]
    ) -> None:
        view = memory.scope(tenant=f"filter-{next(_tenants)}")
        try:
            filter = make_filter(view.bound, metadata=wanted)
        except InvalidInput:
            with pytest.raises(InvalidInput):
                view.list(metadata=wanted)
            return
        view.add_many(
            [{"text": f"harbour number{index}", "metadata": metadata} for index, metadata in enumerate(stored)]
        )
        every = view.list()
        assert [record.metadata for record in every] == stored
        # The writes of one frozen moment are recorded a little after it.
        seen_at = max(record.recorded_at for record in every)
        expected = [record.id for record in every if filter.matches(record, seen_at)]
        assert ids(view.list(metadata=wanted)) == expected
        assert view.count(metadata=wanted) == len(expected)
        # The same conditions cut a search before its ranking.
        assert sorted(ids(view.search("harbour", metadata=wanted, mode="words"))) == sorted(expected)
        clock.advance()

    @pytest.mark.parametrize(
        ("wanted", "names"),
        [
            ({"a": {"$near": 1}}, r"metadata\.a.*\$near.*\$eq"),
            ({"a": {"$exists": 1}}, r"metadata\.a \$exists takes True or False"),
            ({"a": {"$in": "text"}}, r"metadata\.a \$in takes a list"),
            ({"a": {"$nin": None}}, r"metadata\.a \$nin takes a list"),
            ({"a": {"$gt": True}}, r"metadata\.a \$gt takes a number or text"),
            ({"a": {"$lt": None}}, r"metadata\.a \$lt takes a number or text"),
            ({"a": {"$in": [[1]]}}, r"metadata\.a \$in takes plain values"),
            ({"a": {"$eq": {"b": 1}}}, r"metadata\.a .*nested key"),
            ({"a": {}}, r"'a' has an empty mapping"),
            ({"a": {"$gt": 1, "plain": 2}}, "plain"),
            ({"": 1}, "keys must be text"),
            ({1: 1}, "keys must be text"),
            ({"a..b": 1}, "empty part"),
            ({"a\x00b": 1}, "NUL"),
            ({"a": float("nan")}, r"metadata\.a is nan"),
            ({"a": object()}, r"metadata\.a is a object"),
            ({f"k{number}": 1 for number in range(65)}, "65 conditions"),
            (["a"], "mapping of conditions"),
        ],
    )
    def test_a_condition_that_cannot_be_meant_is_named(self, memory: Memory, wanted: Any, names: str) -> None:
        memory.add("here", metadata={"a": 1})
        with pytest.raises(InvalidInput, match=names):
            memory.list(metadata=wanted)
        with pytest.raises(InvalidInput, match=names):
            memory.delete_where(metadata=wanted)
        assert memory.count() == 1

    def test_values_are_never_part_of_a_query(self, memory: Memory) -> None:
        memory.add("here", metadata={"a": "1"})
        for attempt in ("' OR 1=1 --", "$.a", '"', "\\", "%", "*"):
            assert memory.list(metadata={"a": attempt}) == []
            assert memory.list(metadata={"a": {"$contains": attempt}}) == []
            assert memory.list(ids=[attempt]) == []

    def test_an_empty_choice_of_kinds_is_an_error(self, memory: Memory) -> None:
        with pytest.raises(InvalidFilter, match="kind is an empty collection"):
            memory.list(kind=[])
        with pytest.raises(InvalidFilter, match=r"ids=\["):
            memory.list(ids="abc")

    def test_nothing_to_choose_by_is_not_everything(self, memory: Memory) -> None:
        memory.add("here")
        with pytest.raises(InvalidFilter, match=r"delete_where.*clear\(\)"):
            memory.delete_where()
        with pytest.raises(InvalidFilter, match=r"clear\(\)"):
            memory.delete_where(metadata={})
        with pytest.raises(InvalidFilter, match=r"clear\(\)"):
            memory.scope(user="alice").delete_where()
        assert texts(memory.list()) == ["here"]
