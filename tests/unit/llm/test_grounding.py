"""What a model tells is held against the text."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.learn.grounding import contains_words, find_quote, parse_stated_time, same_value

AT = datetime(2026, 5, 1, tzinfo=UTC)
TEXT = "I\u2019ve moved to Lisbon in May, and my cat is called “Miso”."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("moved to Lisbon", "moved to Lisbon"),
        ("MOVED  to\nlisbon", "moved to Lisbon"),
        ("I've moved to Lisbon", "I\u2019ve moved to Lisbon"),
        ('my cat is called "Miso"', "my cat is called “Miso"),
        ("moved to Lis", None),
        ("moved to Porto", None),
        ("Lisbon moved to", None),
        ("", None),
        ("…", None),
        ("a " * 100, None),
    ],
)
def test_a_quote_is_found_word_by_word(quote: str, found: str | None):
    place = find_quote(quote, TEXT)
    assert (None if place is None else TEXT[slice(*place)]) == found


def test_words_without_blanks_between_them_are_found():
    assert find_quote("里斯本", "我五月搬到了里斯本。") is not None
    assert find_quote("北京", "我五月搬到了里斯本。") is None


@given(st.text(max_size=80), st.text(max_size=20))
def test_what_was_said_is_always_found_and_nothing_breaks(text: str, other: str):
    find_quote(other, text)
    contains_words(text, other)
    if any(word.isalnum() for word in text.split()):
        assert contains_words(text, text)


def test_values_are_the_same_when_one_has_all_words_of_the_other():
    assert same_value("Lisbon", "lisbon, Portugal")
    assert not same_value("Lisbon", "Porto")
    assert not same_value("Lisbon", "")


@pytest.mark.parametrize(
    ("told", "text", "found"),
    [
        ("2026-05-01", "since May", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T10:00:00+02:00", "at 10", datetime(2026, 5, 1, 8, tzinfo=UTC)),
        ("2026-05-01", "since ever", None),
        ("May", "since May", None),
        ("0001-01-01T00:00:00+14:00", "in the year 1", None),
        (None, "since May", None),
    ],
)
def test_a_time_counts_only_where_the_text_speaks_of_one(told: str | None, text: str, found: datetime | None):
    assert parse_stated_time(told, text, AT) == found
