"""Times in a question, through the front door."""

from datetime import UTC, datetime, timedelta

import pytest

from rememo import Memory

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
def memory():
    with Memory(":memory:", clock=lambda: NOW) as memory:
        yield memory


def told(memory: Memory, text: str, at: datetime) -> None:
    memory.scope(user="ana", room="r").messages.add("user", text, at=at)


@pytest.mark.requirement("record.search-time")
def test_a_named_time_lifts_what_was_said_then(memory: Memory):
    for day in (3, 13, 33, 200):
        told(memory, f"I went swimming, lane {day}", NOW - timedelta(days=day))
    found = memory.scope(user="ana").search(
        "when did I go swimming two days ago?", at=NOW - timedelta(days=11), explain=True
    )
    assert found[0].text == "I went swimming, lane 13"
    assert found[0].reasons["time"] > 0


def test_a_birthday_that_is_known_is_a_time(memory: Memory):
    ana = memory.scope(user="ana", room="r")
    ana.facts.add("ana", "birthday", "7 May 1990")
    told(memory, "I met Rui at the harbour", datetime(2026, 4, 23, 10, tzinfo=UTC))
    told(memory, "I met Rui at the station", datetime(2026, 10, 2, 10, tzinfo=UTC))
    found = ana.search("where did I meet Rui two weeks before my birthday?", kind="message", explain=True)
    assert found[0].text == "I met Rui at the harbour"
    assert found[0].reasons["time"] > 0
