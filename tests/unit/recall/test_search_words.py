"""Words in a question, through the front door."""

from datetime import UTC, datetime, timedelta

import pytest

from rememo import Memory, Settings


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


@pytest.mark.parametrize("limit", [1, 10, 1_000])
def test_a_word_that_stands_everywhere_finds_the_newest(limit: int):
    start = datetime(2024, 1, 5, tzinfo=UTC)
    entries = [
        {"text": f"entry {number} of the tulip garden", "occurred_at": start + timedelta(hours=number)}
        for number in range(2_500)
    ]
    with Memory(":memory:", embedder=None, settings=Settings(durability="fast", learn=False)) as memory:
        ids = memory.add_many(entries).ids
        better = memory.add("the tulip garden of the tulip garden").id
        hits = memory.search("tulip garden", limit=limit)
        assert len(hits) == limit
        assert hits[0].id == better
        assert {hit.id for hit in hits[1:]} <= set(ids[-2 * max(40, 2 * limit) :])
