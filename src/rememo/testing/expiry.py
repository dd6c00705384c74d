"""Expiry: invisible at once; sweeping only reclaims."""

from datetime import timedelta
from typing import Any

import pytest

from rememo.errors import InvalidInput, NotFound
from rememo.memory import Memory
from rememo.testing.base import Suite, ids, texts
from rememo.testing.clock import START, ManualClock


class ExpirySuite(Suite):
    """`ttl` on records."""

    def test_expired_is_invisible_at_once(self, memory: Memory, clock: ManualClock) -> None:
        memory.scope(user="alice").add("short lived", id="x", ttl=60, embedding=[1.0] * 16)
        clock.advance(59.999999)
        assert memory.get("x").text == "short lived"
        clock.advance(0.000001)
        with pytest.raises(NotFound, match="'x'"):
            memory.get("x")
        assert memory.list() == []
        assert memory.count() == 0
        assert memory.search("short lived") == []
        assert memory.similar([1.0] * 16) == []
        assert memory.users() == []
        assert memory.clear() == 0
        for change in (lambda: memory.update("x", text="new"), lambda: memory.delete("x")):
            with pytest.raises(NotFound, match="'x'"):
                change()

    def test_stats_do_not_count_what_has_expired(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("stays")
        memory.add("short", ttl=60)
        memory.kv.set("short", 1, ttl=60)
        clock.advance(60)
        stats = memory.stats()
        assert stats.records == memory.count() == 1
        assert stats.keys == len(memory.kv.keys()) == 0

    def test_the_id_is_free_again(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("first", id="x", ttl=60)
        clock.advance(60)
        receipt = memory.add("second", id="x")
        assert (receipt.outcome, receipt.version) == ("added", 2)
        assert memory.get("x").text == "second"
        assert memory.get("x").expires_at is None
        assert ids(memory.search("second", mode="words")) == ["x"]
        assert memory.search("first", mode="words") == []
        assert memory.verify().ok

    def test_maintaining_changes_nothing_that_can_be_read(self, memory: Memory, clock: ManualClock) -> None:
        at = memory.add("short", id="x", ttl=60).recorded_at
        memory.add("long", id="y", ttl="1d")
        memory.add("kept", id="z")
        memory.kv.set("short", 1, ttl=60)
        memory.kv.set("long", 1, ttl=6000)
        clock.advance(3600)

        def seen() -> list[object]:
            return [memory.list(), memory.kv.keys(), ids(memory.list(known_at=at)), texts(memory.history("x"))]

        before = seen()
        assert memory.maintain().reclaimed >= 2
        assert memory.maintain().reclaimed == 0
        assert seen() == before
        assert not memory.history("x")[0].deleted
        assert memory.verify().ok

    def test_what_has_expired_is_reclaimed_by_going_on_writing(self, memory: Memory, clock: ManualClock) -> None:
        memory.add_many([{"text": f"short {number}", "ttl": 60} for number in range(250)])
        for number in range(120):
            memory.kv.set(f"short {number}", number, ttl=60)
        memory.add("long", id="long", ttl="1d")
        memory.kv.set("long", 1, ttl="1d")
        clock.advance(3600)
        before = memory.stats()
        for number in range(4):  # in small steps, each after a write
            memory.kv.set("on and on", number)
            memory.add(f"on and on {number}")
        assert memory.maintain().reclaimed == 0
        assert memory.stats().records == before.records + 4
        assert memory.kv.keys() == ["long", "on and on"]
        assert memory.get("long").text == "long"
        assert memory.verify().ok

    def test_writing_reclaims_in_small_steps_and_not_all_the_time(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("first", 0)
        for number in range(250):
            memory.kv.set(f"short {number}", number, ttl=10)
        clock.advance(30)
        memory.kv.set("not yet", 0)
        clock.advance(30)
        memory.kv.set("a step", 0)
        reclaimed = memory.maintain().reclaimed
        assert 0 < reclaimed < 250
        memory.kv.set("soon gone", 0, ttl=1)
        clock.advance(30)
        memory.kv.set("not yet", 0)
        assert memory.maintain().reclaimed == 1

    def test_the_past_still_knows_what_had_not_expired_then(self, memory: Memory, clock: ManualClock) -> None:
        at = memory.add("short", id="x", ttl=60).recorded_at
        clock.advance(120)
        for _ in range(2):
            assert texts(memory.list(known_at=at)) == ["short"]
            assert memory.list(known_at=START + timedelta(seconds=61)) == []
            memory.maintain()

    def test_a_rollback_does_not_revive_what_has_expired(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("short", id="x", ttl=60)
        memory.snapshot("before")
        clock.advance(120)
        memory.maintain()
        memory.rollback("before")
        assert memory.count() == 0
        assert memory.search("short") == []

    def test_pinned_does_not_outlive_its_end(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("short", pinned=True, ttl=60)
        clock.advance(60)
        assert memory.list(pinned=True) == []

    @pytest.mark.parametrize(
        ("ttl", "seconds"), [(90, 90), (0.5, 0.5), ("15m", 900), ("1.5h", 5400), (timedelta(days=2), 172_800)]
    )
    def test_a_duration_can_be_told_in_many_ways(self, memory: Memory, ttl: Any, seconds: float) -> None:
        id = memory.add("short", ttl=ttl).id
        assert memory.get(id).expires_at == START + timedelta(seconds=seconds)

    @pytest.mark.parametrize(
        "ttl", [0, -1, "0s", "soon", "-5m", "", True, float("nan"), float("inf"), 4e9, 10**400, timedelta(0), []]
    )
    def test_a_duration_that_cannot_be_meant_is_an_error(self, memory: Memory, ttl: Any) -> None:
        with pytest.raises(InvalidInput, match="ttl"):
            memory.add("short", ttl=ttl)
        with pytest.raises(InvalidInput, match="ttl"):
            memory.kv.set("k", 1, ttl=ttl)
        assert memory.count() == 0
        assert memory.kv.keys() == []
