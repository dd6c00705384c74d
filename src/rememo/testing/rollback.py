"""Rollbacks to an earlier state, and undoing one operation."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest

from rememo.errors import InvalidInput, VersionConflict
from rememo.memory import Memory
from rememo.model.receipt import Receipt
from rememo.testing.base import Suite, ids, texts
from rememo.testing.clock import ManualClock
from rememo.testing.history import receipt_time

HOUR = timedelta(hours=1)


class RollbackSuite(Suite):
    """Making a scope what it was, by new versions."""

    @pytest.mark.requirement("version.undo")
    def test_everything_becomes_what_it_was_and_nothing_is_lost(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("kept", id="kept")
        memory.add("old", id="changed", metadata={"a": 1}, pinned=True)
        memory.add("gone", id="removed")
        before = memory.list()
        memory.snapshot("before")
        clock.advance(60)
        memory.update("changed", text="new", metadata={}, pinned=False)
        memory.delete("removed")
        memory.add("fresh", id="added")
        receipt = memory.rollback("before")
        assert {id: receipt.outcomes[id] for id in receipt.ids} == {
            "changed": "restored", "removed": "restored", "added": "deleted",
        }  # fmt: skip
        after = memory.list()
        for was, now in zip(before, after, strict=True):
            for field in ("id", "kind", "text", "data", "metadata", "scope", "created_at", "at", "pinned"):
                assert getattr(now, field) == getattr(was, field), field
        assert texts(memory.history("changed")) == ["old", "new", "old"]
        assert ids(memory.search("gone", mode="words")) == ["removed"]
        assert memory.search("fresh", mode="words") == []
        assert memory.verify().ok

    def test_rolling_back_to_now_does_nothing(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("here")
        clock.advance(60)
        assert memory.rollback(clock()).ids == ()
        assert memory.rollback(clock() + HOUR).ids == ()

    def test_a_rollback_can_be_rolled_back(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("1", id="x")
        memory.snapshot("one")
        clock.advance(60)
        memory.update("x", text="2")
        memory.snapshot("two")
        clock.advance(60)
        memory.rollback("one")
        assert memory.get("x").text == "1"
        memory.rollback("two")
        assert memory.get("x").text == "2"

    def test_a_record_that_was_made_anew_gets_its_first_creation_back(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("first life", id="x")
        first = memory.get("x")
        memory.snapshot("before")
        clock.advance(60)
        memory.delete("x")
        memory.add("second life", id="x")
        memory.rollback("before")
        assert memory.get("x").text == "first life"
        assert memory.get("x").created_at == first.created_at

    def test_only_the_views_scope_goes_back(self, memory: Memory, clock: ManualClock) -> None:
        alice, bob = memory.scope(user="alice"), memory.scope(user="bob")
        memory.snapshot("before")
        clock.advance(60)
        alice.add("hers")
        bob.add("his")
        alice.rollback("before")
        assert texts(memory.list()) == ["his"]

    def test_a_scope_goes_back_though_one_of_its_records_moved_out(self, memory: Memory, clock: ManualClock) -> None:
        alice = memory.scope(user="alice")
        alice.add("hers", id="x")
        alice.add("old", id="y")
        memory.snapshot("before")
        clock.advance(60)
        memory.add("everybody's", id="x", on_conflict="replace")
        alice.update("y", text="new")
        alice.rollback("before")
        assert alice.get("y").text == "old"

    def test_a_callers_own_embedding_comes_back(self, memory: Memory, clock: ManualClock) -> None:
        own = [0.0] * 15 + [1.0]
        memory.add("text", id="x", embedding=own)
        memory.snapshot("before")
        clock.advance(60)
        memory.delete("x")
        memory.rollback("before")
        [hit] = memory.similar(own)
        assert hit.score == pytest.approx(1.0, abs=1e-5)


class UndoSuite(Suite):
    """Taking one write back."""

    @pytest.mark.requirement("version.undo")
    def test_an_add_is_undone(self, memory: Memory) -> None:
        receipt = memory.add("mistake")
        undone = memory.undo(receipt)
        assert undone.outcome == "deleted"
        assert memory.count() == 0
        assert memory.search("mistake") == []

    @pytest.mark.requirement("version.undo")
    def test_an_update_is_undone(self, memory: Memory) -> None:
        memory.add("right", id="x", metadata={"a": 1})
        receipt = memory.update("x", text="wrong", metadata={})
        undone = memory.undo(receipt)
        assert (undone.outcome, undone.version) == ("restored", 3)
        assert (memory.get("x").text, memory.get("x").metadata) == ("right", {"a": 1})
        assert ids(memory.search("right", mode="words")) == ["x"]

    @pytest.mark.requirement("version.undo")
    def test_a_delete_is_undone(self, memory: Memory) -> None:
        memory.add("needed", id="x")
        created_at = memory.get("x").created_at
        undone = memory.undo(memory.delete("x"))
        assert undone.outcome == "restored"
        assert memory.get("x").text == "needed"
        assert memory.get("x").created_at == created_at

    def test_a_replacement_is_undone(self, memory: Memory) -> None:
        memory.add("first", id="x")
        memory.undo(memory.add("second", id="x", on_conflict="replace"))
        assert memory.get("x").text == "first"

    def test_a_batch_is_undone_as_one(self, memory: Memory) -> None:
        memory.add("old", id="a")
        memory.add("gone", id="b")
        with memory.batch() as batch:
            batch.update("a", text="new")
            batch.delete("b")
            batch.add("fresh", id="c")
        assert batch.receipt is not None
        memory.undo(batch.receipt)
        assert sorted(texts(memory.list())) == ["gone", "old"]
        assert memory.verify().ok

    def test_many_adds_are_undone_as_one(self, memory: Memory) -> None:
        memory.add("kept")
        memory.undo(memory.add_many(["a", "b", "c"]))
        assert texts(memory.list()) == ["kept"]

    def test_an_undo_can_be_undone(self, memory: Memory) -> None:
        memory.add("1", id="x")
        undone = memory.undo(memory.update("x", text="2"))
        memory.undo(undone)
        assert memory.get("x").text == "2"

    @pytest.mark.requirement("version.undo")
    def test_a_roll_back_is_undone_though_it_was_learned_from_since(self, memory: Memory, clock: ManualClock) -> None:
        chat = memory.scope(user="ana", room="kitchen")
        message = chat.messages.add("user", "I live in Lisbon. My sister is called Eva.").wait()
        records_before = sorted(texts(chat.list()))
        assert len(records_before) > 2
        chat.snapshot("before")
        clock.advance(60)
        chat.delete(message.id).wait()
        assert chat.list() == []
        clock.advance(60)
        back = chat.rollback("before").wait()
        assert sorted(texts(chat.list())) == records_before
        clock.advance(60)
        undone = chat.undo(back).wait()
        assert chat.list() == []
        clock.advance(60)
        chat.undo(undone).wait()
        assert sorted(texts(chat.list())) == records_before
        assert memory.verify().ok

    @pytest.mark.requirement("version.undo")
    def test_a_write_is_undone_once_the_later_one_is(self, memory: Memory) -> None:
        added = memory.add("1", id="x")
        changed = memory.update("x", text="2")
        with pytest.raises(VersionConflict, match="'x'"):
            memory.undo(added)
        memory.undo(changed)
        memory.undo(added)
        assert memory.count() == 0

    def test_what_was_ignored_is_not_undone(self, memory: Memory) -> None:
        memory.add("first", id="x")
        receipt = memory.add("second", id="x", on_conflict="ignore")
        assert memory.undo(receipt).ids == ()
        assert memory.get("x").text == "first"

    def test_a_record_that_changed_since_is_not_touched(self, memory: Memory) -> None:
        first = memory.add("1", id="x")
        second = memory.update("x", text="2")
        memory.update("x", text="3")
        for receipt in (first, second):
            with pytest.raises(VersionConflict, match=r"'x'.*rollback\(\)"):
                memory.undo(receipt)
        assert memory.get("x").text == "3"

    def test_a_record_that_was_deleted_since_is_not_brought_back(self, memory: Memory) -> None:
        memory.add("1", id="x")
        receipt = memory.update("x", text="2")
        memory.delete("x")
        with pytest.raises(VersionConflict, match="'x'"):
            memory.undo(receipt)
        assert memory.count() == 0

    def test_undoing_twice_changes_nothing_more(self, memory: Memory) -> None:
        receipt = memory.add("mistake", id="x")
        memory.undo(receipt)
        history = memory.history("x")
        with contextlib.suppress(VersionConflict):  # saying so is as good as doing nothing
            memory.undo(receipt)
        assert memory.history("x") == history

    def test_a_receipt_of_another_age_is_no_harm(self, memory: Memory) -> None:
        memory.add("here", id="x")
        for year in (1, 1970):
            forged = Receipt(ids=(), recorded_at=datetime(year, 1, 1, tzinfo=UTC))
            assert memory.undo(forged).ids == ()
        assert texts(memory.list()) == ["here"]

    def test_a_pending_receipt_cannot_be_undone(self, memory: Memory) -> None:
        with memory.batch() as batch:
            pending = batch.add("waiting")
        with pytest.raises(InvalidInput, match="not committed"):
            memory.undo(pending)

    def test_undoing_is_seen_in_the_past_too(self, memory: Memory, clock: ManualClock) -> None:
        receipt = memory.add("mistake")
        at = receipt_time(receipt)
        clock.advance(60)
        memory.undo(receipt)
        assert texts(memory.list(known_at=at)) == ["mistake"]
        assert memory.list(known_at=datetime(2030, 1, 1, tzinfo=UTC)) == []
