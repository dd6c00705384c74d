"""Key-value: small state with an end, in the namespace of exactly one scope."""

from typing import Any

import pytest
from hypothesis import given

from rememo.engine.view import view_of
from rememo.errors import InvalidInput, ReadOnly, VersionConflict
from rememo.memory import Memory
from rememo.testing.base import Suite, examples
from rememo.testing.clock import ManualClock
from rememo.testing.strategies import JSON


class KeyValueSuite(Suite):
    """`kv`."""

    @pytest.mark.requirement("kv.set-get-delete")
    def test_set_get_delete(self, memory: Memory) -> None:
        assert memory.kv.get("k") is None
        assert memory.kv.get("k", "default") == "default"
        assert memory.kv.set("k", {"a": [1, None]}) == 1
        assert memory.kv.get("k") == {"a": [1, None]}
        assert memory.kv.set("k", 2) == 2
        assert memory.kv.version("k") == 2
        assert memory.kv.delete("k") is True
        assert memory.kv.delete("k") is False
        assert memory.kv.get("k") is None
        assert memory.kv.version("k") == 0

    def test_versions_of_several_at_once(self, memory: Memory, clock: ManualClock) -> None:
        kv, space = view_of(memory).engine.kv, "[null,null,null]"
        memory.kv.set("a", 1)
        memory.kv.set("a", 2)
        memory.kv.set("b", 1, ttl=60, sliding=True)
        memory.scope(user="u").kv.set("c", 1)
        expected = [(space, "a"), (space, "b"), (space, "c"), ('[null,"u",null]', "c")]
        versions = kv.versions("default", expected, clock())
        assert versions == (memory.kv.version("a"), 1, 0, 1)
        assert kv.versions("default", [], clock()) == ()
        clock.advance(50)
        kv.versions("default", expected, clock())
        clock.advance(20)
        assert kv.versions("default", expected, clock())[1] == 0, "looking at it must not prolong it"

    @given(value=JSON)
    @examples(40)
    def test_any_json_value_comes_back_equal(self, memory: Memory, value: Any) -> None:
        memory.kv.set("k", value)
        stored = memory.kv.get("k", "missing")
        assert stored == value
        assert repr(stored) == repr(value)  # True is not 1, 1.0 is not 1

    def test_values_are_copies(self, memory: Memory) -> None:
        value = {"a": [1]}
        memory.kv.set("k", value)
        value["a"].append(2)
        memory.kv.get("k")["a"].append(3)
        assert memory.kv.get("k") == {"a": [1]}

    def test_none_is_a_value(self, memory: Memory) -> None:
        memory.kv.set("k", None)
        assert memory.kv.get("k", "default") is None
        assert memory.kv.keys() == ["k"]

    @pytest.mark.requirement("kv.set-get-delete")
    def test_a_fixed_end_is_kept_however_often_it_is_read(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("k", 1, ttl=60)
        for _ in range(5):
            clock.advance(10)
            assert memory.kv.get("k") == 1
        clock.advance(10)
        assert memory.kv.get("k") is None
        assert memory.kv.keys() == []
        assert memory.kv.delete("k") is False
        assert memory.kv.version("k") == 0
        assert memory.kv.invalidate("*") == 0

    def test_a_sliding_end_moves_with_every_read(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("k", 1, ttl=60, sliding=True)
        for _ in range(5):
            clock.advance(50)
            assert memory.kv.get("k") == 1
        clock.advance(61)
        assert memory.kv.get("k") is None

    def test_a_new_value_has_its_own_end(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("k", 1, ttl=60, sliding=True)
        memory.kv.set("k", 2)
        clock.advance(3600)
        assert memory.kv.get("k") == 2

    @pytest.mark.requirement("kv.set-get-delete")
    def test_an_update_keeps_the_end(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("session", 0, ttl=60)
        for count in range(1, 6):
            clock.advance(10)
            assert memory.kv.update("session", lambda value: value + 1) == count
        clock.advance(9)
        assert memory.kv.get("session") == 5
        clock.advance(1)
        assert memory.kv.get("session") is None

    def test_an_update_keeps_an_end_that_slides(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("session", 0, ttl=60, sliding=True)
        clock.advance(50)
        memory.kv.update("session", lambda value: value + 1)
        for _ in range(3):
            clock.advance(50)
            assert memory.kv.get("session") == 1
        clock.advance(61)
        assert memory.kv.get("session") is None

    def test_an_update_may_give_another_end(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("session", 0, ttl=60, sliding=True)
        memory.kv.update("session", lambda value: value + 1, ttl=600)
        for _ in range(5):
            clock.advance(100)
            assert memory.kv.get("session") == 1
        clock.advance(100)
        assert memory.kv.get("session") is None

    def test_an_update_gives_no_end_to_what_has_none(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("gone", 0, ttl=60, sliding=True)
        memory.kv.set("plain", 0)
        clock.advance(60)
        for key in ("gone", "new", "plain"):
            memory.kv.update(key, lambda value: value + 1, default=0)
        clock.advance(3600)
        assert [memory.kv.get(key) for key in ("gone", "new", "plain")] == [1, 1, 1]

    def test_a_value_may_be_set_with_the_end_that_is_there(self, memory: Memory, clock: ManualClock) -> None:
        memory.kv.set("fixed", 1, ttl=60)
        memory.kv.set("sliding", 1, ttl=60, sliding=True)
        memory.kv.set("plain", 1)
        clock.advance(30)
        for key in ("fixed", "plain", "new"):
            memory.kv.set(key, 2, keep_ttl=True)
        version = memory.kv.version("sliding")
        assert memory.kv.compare_and_set("sliding", 2, expected_version=version, keep_ttl=True) == version + 1
        with pytest.raises(VersionConflict):
            memory.kv.compare_and_set("sliding", 3, expected_version=version, keep_ttl=True)
        clock.advance(30)
        assert memory.kv.keys() == ["new", "plain", "sliding"]
        assert memory.kv.get("sliding") == 2
        clock.advance(60)
        assert memory.kv.keys() == ["new", "plain"]
        with pytest.raises(InvalidInput, match="keep_ttl"):
            memory.kv.set("plain", 3, ttl=60, keep_ttl=True)

    @pytest.mark.requirement("kv.invalidate-pattern")
    def test_invalidate_by_pattern(self, memory: Memory) -> None:
        for key in ("user:1", "user:2", "user:10", "User:3", "room:1", "*", "a[b]"):
            memory.kv.set(key, key)
        assert memory.kv.keys("user:*") == ["user:1", "user:10", "user:2"]
        assert memory.kv.invalidate("user:?") == 2
        assert memory.kv.invalidate("user:[0-9][0-9]") == 1
        assert memory.kv.keys() == ["*", "User:3", "a[b]", "room:1"]
        assert memory.kv.invalidate("nothing:*") == 0
        assert memory.kv.invalidate("*") == 4
        assert memory.kv.keys() == []

    def test_patterns_and_keys_are_not_sql(self, memory: Memory) -> None:
        for key in ("a%", "a_", "ab", "it's", 'say "x"', "back\\slash", "日本"):
            memory.kv.set(key, key)
            assert memory.kv.get(key) == key
        assert memory.kv.invalidate("a%") == 1
        assert memory.kv.invalidate("a_") == 1
        assert memory.kv.get("ab") == "ab"

    def test_compare_and_set(self, memory: Memory) -> None:
        assert memory.kv.compare_and_set("k", "mine", expected_version=0) == 1
        with pytest.raises(VersionConflict, match=r"'k'.*version 0"):
            memory.kv.compare_and_set("k", "theirs", expected_version=0)
        assert memory.kv.compare_and_set("k", "next", expected_version=1) == 2
        with pytest.raises(VersionConflict, match="read it again"):
            memory.kv.compare_and_set("k", "late", expected_version=1)
        assert memory.kv.get("k") == "next"

    def test_an_expired_value_counts_as_nothing(self, memory: Memory, clock: ManualClock) -> None:
        version = memory.kv.set("lock", "mine", ttl=60)
        clock.advance(60)
        with pytest.raises(VersionConflict):
            memory.kv.compare_and_set("lock", "mine again", expected_version=version)
        memory.kv.compare_and_set("lock", "theirs", expected_version=0)

    @pytest.mark.parametrize("swept", [False, True])
    def test_a_version_never_means_two_values(self, memory: Memory, clock: ManualClock, swept: bool) -> None:
        old = memory.kv.set("lock", "mine", ttl=60)
        clock.advance(60)
        if swept:
            memory.maintain()
        memory.kv.set("lock", "theirs")
        with pytest.raises(VersionConflict):
            memory.kv.compare_and_set("lock", "stolen back", expected_version=old)
        assert memory.kv.get("lock") == "theirs"

    def test_update_lets_nothing_come_in_between(self, memory: Memory) -> None:
        memory.kv.set("n", 0)
        calls: list[int] = []

        def add_one(value: int) -> int:
            if not calls:
                memory.kv.set("n", 10)  # someone is faster, once
            calls.append(value)
            return value + 1

        assert memory.kv.update("n", add_one) == 11
        assert calls == [0, 10]
        assert memory.kv.get("n") == 11

    def test_update_starts_from_the_default_and_keeps_nothing_when_it_fails(self, memory: Memory) -> None:
        assert memory.kv.update("n", lambda value: value + 1, default=4) == 5
        with pytest.raises(ZeroDivisionError):
            memory.kv.update("n", lambda value: value / 0)
        assert memory.kv.get("n") == 5

    def test_each_scope_has_its_own_namespace(self, memory: Memory) -> None:
        views = [
            memory,
            memory.scope(user="a"),
            memory.scope(room="a"),
            memory.scope(agent="a"),
            memory.scope(user="a", room="a"),
            memory.scope(tenant="a"),
        ]
        for number, view in enumerate(views):
            view.kv.set("k", number)
        assert [view.kv.get("k") for view in views] == list(range(len(views)))
        assert memory.kv.invalidate("*") == 1
        assert memory.scope(user="a").kv.get("k") == 1

    def test_records_and_keys_do_not_mix(self, memory: Memory) -> None:
        memory.kv.set("k", "kept")
        memory.add("a record")
        memory.clear()
        assert memory.kv.get("k") == "kept"

    def test_there_is_no_past(self, memory: Memory) -> None:
        memory.kv.set("k", 1)
        memory.snapshot("s")
        for verb in (lambda: memory.as_of("s").kv.get("k"), memory.as_of("s").kv.keys):
            with pytest.raises(ReadOnly, match="no past"):
                verb()

    @pytest.mark.parametrize(
        ("value", "names"),
        [
            (float("nan"), "value is nan"),
            ({"a": {"b": object()}}, r"value\.a\.b is a object"),
            ([b"bytes"], r"value\[0\] is a bytes"),
            ({1: 2}, "keys must be text"),
            ("nul \x00", "value contains a NUL"),
            ("\ud800", "value contains a lone surrogate"),
            (2**64, "value is a whole number beyond 64 bits"),
        ],
    )
    def test_a_value_that_json_cannot_hold_is_named(self, memory: Memory, value: Any, names: str) -> None:
        with pytest.raises(InvalidInput, match=names):
            memory.kv.set("k", value)
        assert memory.kv.keys() == []

    @pytest.mark.parametrize("key", ["", "x" * 513, "\x00", None, 5])
    def test_a_key_that_cannot_be_meant_is_named(self, memory: Memory, key: Any) -> None:
        for verb in (lambda: memory.kv.get(key), lambda: memory.kv.set(key, 1), lambda: memory.kv.delete(key)):
            with pytest.raises(InvalidInput, match="key"):
                verb()

    def test_other_arguments_of_a_key_that_cannot_be_meant(self, memory: Memory) -> None:
        with pytest.raises(InvalidInput, match="sliding needs a ttl"):
            memory.kv.set("k", 1, sliding=True)
        with pytest.raises(InvalidInput, match="expected_version"):
            memory.kv.compare_and_set("k", 1, expected_version=-1)
        with pytest.raises(InvalidInput, match="pattern"):
            memory.kv.invalidate("")
