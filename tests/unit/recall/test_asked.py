"""Which kinds of facts a question asks for."""

import pytest

from rememo import Memory
from rememo.recall.asked import asked_predicates, names_other_favourite
from rememo.recall.relevance import FLOOR


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("favourite pizza", "My favourite colour is green", True),
        ("what's my favorite color?", "ana's favourite colour is green", False),
        ("favourite pizza?", "My favourite food is a margherita pizza", False),
        ("which of my favourite films is oldest?", "my favourite film is Alien", False),
        ("favourite pizza", "I had pizza on Friday", False),
        ("where do I live?", "My favourite colour is green", False),
    ],
)
def test_favourites_of_another_kind_are_told_apart(question: str, text: str, other: bool):
    assert names_other_favourite(question, text) == other


def test_asked_predicates_name_the_favourite():
    assert "favourite_colour" in asked_predicates("what's my favorite color?")


def test_search_finds_a_favourite_of_another_kind_below_the_floor():
    with Memory(":memory:") as memory:
        ana = memory.scope(user="ana", room="r")
        for text in ("I live in Lisbon.", "My favourite colour is green", "I drive a Golf.", "My cat is called Miso."):
            ana.messages.add("user", text).wait()
        assert [hit.text for hit in ana.search("favourite pizza", threshold=FLOOR)] == []
        assert "green" in ana.search("what is my favourite colour?", threshold=FLOOR)[0].text
