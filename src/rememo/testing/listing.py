"""Lists: the latest N, oldest first; pages from the newest; periods."""

from datetime import timedelta
from typing import Any

import pytest

from rememo.errors import InvalidFilter, InvalidInput
from rememo.memory import Memory
from rememo.testing.base import Suite, texts
from rememo.testing.clock import START, ManualClock

HOUR = timedelta(hours=1)


class ListSuite(Suite):
    """Order, limits and pages."""

    @pytest.mark.requirement("memory.insert-all-latest-by-id")
    def test_limit_is_the_latest_n_oldest_first(self, memory: Memory) -> None:
        for number in range(10):
            memory.add(str(number))
        assert texts(memory.list()) == [str(number) for number in range(10)]
        assert texts(memory.list(limit=3)) == ["7", "8", "9"]
        assert texts(memory.list(limit=10_000)) == [str(number) for number in range(10)]

    def test_offset_pages_from_the_newest(self, memory: Memory) -> None:
        for number in range(7):
            memory.add(str(number), kind="goal" if number % 2 else "task")
        assert texts(memory.list(limit=3, offset=0)) == ["4", "5", "6"]
        assert texts(memory.list(limit=3, offset=3)) == ["1", "2", "3"]
        assert texts(memory.list(limit=3, offset=6)) == ["0"]
        assert memory.list(limit=3, offset=7) == []
        assert texts(memory.list(kind="goal", limit=2, offset=1)) == ["1", "3"]

    def test_order_is_by_when_it_happened(self, memory: Memory) -> None:
        memory.add("second", occurred_at=START - HOUR)
        memory.add("first", occurred_at=START - 2 * HOUR)
        memory.add("now")
        memory.add("future", occurred_at=START + HOUR)
        assert texts(memory.list()) == ["first", "second", "now", "future"]
        assert texts(memory.list(limit=2)) == ["now", "future"]

    def test_ties_break_by_arrival(self, memory: Memory) -> None:
        for number in range(5):
            memory.add(str(number), occurred_at=START, kind="goal" if number % 2 else "task")
        assert texts(memory.list()) == ["0", "1", "2", "3", "4"]
        assert texts(memory.list(limit=2)) == ["3", "4"]

    def test_an_update_does_not_make_a_record_arrive_anew(self, memory: Memory) -> None:
        for number in range(3):
            memory.add(str(number), id=str(number), occurred_at=START)
        memory.update("0", metadata={"read": True})
        assert texts(memory.list()) == ["0", "1", "2"]

    def test_writes_at_one_moment_keep_their_order(self, memory: Memory) -> None:
        added = [memory.add(str(number)) for number in range(5)]
        moments = [record.recorded_at for record in added if record.recorded_at is not None]
        assert moments == sorted(set(moments))
        assert texts(memory.list()) == ["0", "1", "2", "3", "4"]

    def test_order_survives_a_clock_that_is_set_back(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("before", id="x")
        clock.advance(-3600)
        memory.update("x", text="after")
        memory.add("newest")
        assert texts(memory.list()) == ["after", "newest"]
        assert [version.text for version in memory.history("x")] == ["before", "after"]
        first, second = memory.history("x")
        assert first.superseded_at == second.recorded_at

    @pytest.mark.requirement("search.date-range", "extend.period", "record.search-time")
    def test_after_is_included_and_before_is_not(self, memory: Memory) -> None:
        for hour in range(5):
            memory.add(str(hour), occurred_at=START + hour * HOUR)
        assert texts(memory.list(after=START + HOUR)) == ["1", "2", "3", "4"]
        assert texts(memory.list(before=START + HOUR)) == ["0"]
        assert texts(memory.list(after=START + HOUR, before=START + 3 * HOUR)) == ["1", "2"]
        assert memory.list(after=START + HOUR, before=START + HOUR) == []
        assert memory.count(after=START + HOUR, before=START + 3 * HOUR) == 2

    def test_pinned_ones_can_be_asked_for(self, memory: Memory) -> None:
        memory.add("kept", pinned=True)
        memory.add("loose")
        assert texts(memory.list(pinned=True)) == ["kept"]
        assert texts(memory.list(pinned=False)) == ["loose"]
        assert memory.count(pinned=True) == 1
        assert memory.delete_where(pinned=False) == 1

    def test_ids_choose_and_no_ids_choose_nothing(self, memory: Memory) -> None:
        memory.add_many([{"text": name, "id": name} for name in "abc"])
        assert texts(memory.list(ids=["c", "a", "missing"])) == ["a", "c"]
        assert memory.list(ids=[]) == []

    @pytest.mark.parametrize("limit", [0, -1, 10_001, 10**30, True, 2.0, "3", None])
    def test_a_limit_that_cannot_be_meant_is_an_error(self, memory: Memory, limit: Any) -> None:
        with pytest.raises(InvalidInput, match=r"limit must be a whole number from 1"):
            memory.list(limit=limit)

    @pytest.mark.parametrize("limit", [0, -1, 1_001, True, "3"])
    def test_a_number_of_hits_that_cannot_be_meant_is_an_error(self, memory: Memory, limit: Any) -> None:
        with pytest.raises(InvalidInput, match="limit must be a whole number from 1"):
            memory.search("word", limit=limit)
        with pytest.raises(InvalidInput, match="limit must be a whole number from 1"):
            memory.similar([1.0] * 16, limit=limit)

    @pytest.mark.parametrize("offset", [-1, 2**62, 10**30, False, 1.0, "0"])
    def test_an_offset_that_cannot_be_meant_is_an_error(self, memory: Memory, offset: Any) -> None:
        with pytest.raises(InvalidInput, match="offset must be a whole number from 0"):
            memory.list(offset=offset)

    def test_after_later_than_before_is_an_error(self, memory: Memory) -> None:
        for verb in (memory.list, memory.count, memory.delete_where):
            with pytest.raises(InvalidFilter, match=r"after .* later than before .*swap"):
                verb(after=START + HOUR, before=START)
        with pytest.raises(InvalidFilter, match="swap"):
            memory.search("word", after=START + HOUR, before=START)

    def test_a_time_without_a_zone_is_an_error_that_names_it(self, memory: Memory) -> None:
        naive = START.replace(tzinfo=None)
        with pytest.raises(InvalidInput, match="after has no time zone"):
            memory.list(after=naive)
        with pytest.raises(InvalidInput, match="known_at has no time zone"):
            memory.get("x", known_at=naive)
        with pytest.raises(InvalidInput, match="valid_at has no time zone"):
            memory.count(valid_at=naive)
        with pytest.raises(InvalidInput, match="at has no time zone"):
            memory.search("word", at=naive)
