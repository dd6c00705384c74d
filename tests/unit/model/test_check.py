"""Validation at the edge."""

from typing import Any

import pytest
from hypothesis import given

from rememo.errors import InvalidInput
from rememo.model.check import (
    check_json,
    check_label,
    check_limit,
    check_object,
    check_offset,
    check_text,
    check_unit,
    dump_json,
)
from rememo.testing.strategies import OBJECTS


def test_sizes_count_bytes_not_characters():
    assert check_text("éé", "text", max_bytes=4) == "éé"
    with pytest.raises(InvalidInput, match="text is 6 bytes, more than the 5 allowed"):
        check_text("ééé", "text", max_bytes=5)
    with pytest.raises(InvalidInput, match="text is 5 bytes"):
        check_text("abcde", "text", max_bytes=4)
    assert check_text("abcd", "text", max_bytes=4) == "abcd"


def test_a_label_that_is_too_long_is_to_be_shortened():
    with pytest.raises(InvalidInput, match="user is 513 bytes, more than the 512 allowed; shorten it"):
        check_label("x" * 513, "user")
    assert check_label("x" * 512, "user") == "x" * 512
    with pytest.raises(InvalidInput, match=r"metadata.a is 20 bytes, more than the 10 allowed; raise the limit"):
        check_object({"a": "x" * 20}, "metadata", max_bytes=10, max_depth=3)
    with pytest.raises(InvalidInput, match="text is 20 bytes, more than the 10 allowed; add it as a document"):
        check_text("x" * 20, "text", max_bytes=10)


@pytest.mark.parametrize("text", ["", "a", "\u0001", "\ud7ff\ue000", "\U0010ffff"])
def test_what_every_store_can_hold_passes(text: str):
    assert check_text(text, "text", max_bytes=100) == text


def test_a_nul_and_a_surrogate_are_found_where_they_stand():
    with pytest.raises(InvalidInput, match="text contains a NUL character at position 2"):
        check_text("ab\x00", "text", max_bytes=100)
    with pytest.raises(InvalidInput, match="text contains a lone surrogate at position 1"):
        check_text("a\udc00", "text", max_bytes=100)


def test_a_label_has_something_in_it():
    assert check_label("x", "room") == "x"
    with pytest.raises(InvalidInput, match="room is empty"):
        check_label("", "room")


@pytest.mark.parametrize("value", [0, 1, 0.5, 1.0])
def test_a_unit_is_a_float_from_0_to_1(value: float):
    assert check_unit(value, "trust") == value
    assert isinstance(check_unit(value, "trust"), float)


@pytest.mark.parametrize("value", [-0.001, 1.001, float("nan"), True, None, "1"])
def test_nothing_else_is_a_unit(value: Any):
    with pytest.raises(InvalidInput, match="trust must be a number from 0 to 1"):
        check_unit(value, "trust")


def test_limits_and_offsets_are_whole_numbers_in_their_range():
    assert (check_limit(1), check_limit(10_000), check_offset(0)) == (1, 10_000, 0)
    assert check_limit(5, maximum=5) == 5
    with pytest.raises(InvalidInput, match="limit must be a whole number from 1 to 5, not 6"):
        check_limit(6, maximum=5)
    with pytest.raises(InvalidInput, match="offset must be a whole number from 0, not -1"):
        check_offset(-1)


@given(value=OBJECTS)
def test_an_object_comes_back_as_an_equal_copy(value: dict[str, Any]):
    copy = check_object(value, "data", max_bytes=10**6, max_depth=16)
    assert copy == value
    assert repr(copy) == repr(value)
    assert copy is not value or copy == {}


def test_a_copy_shares_nothing_with_what_was_given():
    given_value = {"a": {"b": [1]}}
    copy = check_object(given_value, "data", max_bytes=100, max_depth=4)
    given_value["a"]["b"].append(2)
    assert copy == {"a": {"b": [1]}}


def test_tuples_become_lists_and_none_becomes_empty():
    assert check_object({"a": (1, 2)}, "data", max_bytes=100, max_depth=4) == {"a": [1, 2]}
    assert check_object(None, "data", max_bytes=100, max_depth=4) == {}


def test_depth_counts_mappings_and_lists():
    assert check_json([[1]], "value", max_bytes=100, depth=2) == [[1]]
    with pytest.raises(InvalidInput, match=r"value\[0\]\[0\] is nested too deeply"):
        check_json([[[1]]], "value", max_bytes=100, depth=2)


def test_json_is_written_in_one_way():
    assert dump_json({"b": 1, "a": ["é", None, 1.0]}) == '{"b":1,"a":["é",null,1.0]}'
