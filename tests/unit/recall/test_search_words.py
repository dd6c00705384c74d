"""Words in a question, through the front door."""

import pytest

from rememo import Memory


@pytest.mark.requirement("record.search-text")
def test_small_talk_is_found_when_nothing_else_is_asked():
    memory = Memory(":memory:")
    memory.add("hello world")
    memory.add("Rui said hello to the gardener")
    memory.add("the invoice is paid")
    assert {hit.text for hit in memory.search("hello", mode="words")} == {
        "hello world",
        "Rui said hello to the gardener",
    }
    assert memory.search("hello")[0].text != "the invoice is paid"
    assert memory.search("hello gardener", mode="words")[0].text == "Rui said hello to the gardener"
    assert len(memory.search("hello gardener", mode="words")) == 1
    memory.close()
