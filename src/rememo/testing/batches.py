"""Batches: several writes as one, in order, all or none; and keys that make a retry harmless."""

from datetime import timedelta
from typing import Any

import pytest

from rememo.errors import AlreadyExists, InvalidInput, NotFound, RememoError, VersionConflict
from rememo.memory import Memory
from rememo.model.receipt import Receipt
from rememo.settings import Settings
from rememo.testing.base import OpenMemory, Suite, texts
from rememo.testing.clock import ManualClock


class BatchSuite(Suite):
    """`batch()` as a transaction."""

    @pytest.mark.requirement("record.batch", "store.transactions-concurrency")
    def test_all_writes_happen_at_one_moment_in_their_order(self, memory: Memory) -> None:
        memory.add("old", id="changed")
        memory.add("gone", id="removed")
        with memory.batch() as batch:
            batch.add("first", id="a")
            batch.update("changed", text="new")
            batch.delete("removed")
            batch.add_many(["second", "third"])
        assert batch.receipt is not None
        assert batch.receipt.ids[:3] == ("a", "changed", "removed")
        outcomes = [batch.receipt.outcomes[id] for id in batch.receipt.ids]
        assert outcomes == ["added", "updated", "deleted", "added", "added"]
        assert texts(memory.list()) == ["new", "first", "second", "third"]
        moments = {memory.get(id).recorded_at for id in batch.receipt.ids if id != "removed"}
        assert moments == {batch.receipt.recorded_at}

    def test_what_is_brought_twice_was_added_and_can_be_undone(self, memory: Memory) -> None:
        with memory.batch() as batch:
            batch.messages.add("user", "hello", external_id=("chat", 1))
            batch.messages.add("user", "hello", external_id=("chat", 1))
        assert batch.receipt is not None
        assert batch.receipt.outcome == "added"
        memory.undo(batch.receipt)
        assert memory.count() == 0

    def test_nothing_is_seen_before_the_block_ends(self, memory: Memory) -> None:
        with memory.batch() as batch:
            pending = batch.add("waiting")
            assert pending.status == "pending"
            assert pending.recorded_at is None
            assert memory.count() == batch.count() == 0
        assert memory.get(pending.id).text == "waiting"

    @pytest.mark.requirement("store.transactions-concurrency")
    def test_an_exception_drops_everything(self, memory: Memory) -> None:
        memory.add("old", id="x")
        with pytest.raises(ZeroDivisionError), memory.batch() as batch:  # noqa: PT012 - the block is what is tested
            batch.add("new")
            batch.update("x", text="changed")
            raise ZeroDivisionError
        assert texts(memory.list()) == ["old"]
        assert len(memory.history("x")) == 1
        assert batch.receipt is None

    def test_a_write_that_cannot_be_done_drops_everything(self, memory: Memory) -> None:
        memory.add("there", id="taken")
        with pytest.raises(AlreadyExists), memory.batch() as batch:  # noqa: PT012 - the block's end raises
            batch.add("one")
            batch.add("two", id="taken")
        with pytest.raises(NotFound), memory.batch() as batch:  # noqa: PT012 - the block's end raises
            batch.add("one")
            batch.delete("missing")
        assert texts(memory.list()) == ["there"]
        assert memory.verify().ok

    def test_what_cannot_wait_is_refused_instead_of_done_at_once(self, memory: Memory) -> None:
        memory.kv.set("there", 1)
        with memory.batch() as batch:
            for write in (
                lambda: batch.kv.set("k", 1),
                lambda: batch.kv.delete("there"),
                lambda: batch.kv.invalidate("*"),
                lambda: batch.profiles.update("p", name="Ana"),
                batch.profiles.forget_all,
                lambda: batch.snapshot("now"),
            ):
                with pytest.raises(InvalidInput, match="batch"):
                    write()
        assert memory.kv.keys() == ["there"]
        assert memory.profiles.get("p") is None
        assert memory.snapshots() == {}

    def test_a_waiting_record_can_be_updated(self, memory: Memory) -> None:
        with memory.batch() as batch:
            id = batch.add("draft", metadata={"a": 1}).id
            batch.update(id, text="better")
            batch.update(id, pinned=True)
        record = memory.get(id)
        assert (record.text, record.metadata, record.pinned, record.version) == ("better", {"a": 1}, True, 1)

    def test_a_waiting_record_can_be_deleted(self, memory: Memory) -> None:
        with memory.batch() as batch:
            id = batch.add("draft").id
            batch.add("kept")
            batch.delete(id)
        assert texts(memory.list()) == ["kept"]

    def test_a_stored_record_can_be_changed_twice_and_deleted(self, memory: Memory) -> None:
        memory.add("0", id="x", metadata={"a": 1})
        with memory.batch() as batch:
            batch.update("x", text="1")
            batch.update("x", pinned=True)
        record = memory.get("x")
        assert (record.text, record.pinned, record.metadata) == ("1", True, {"a": 1})
        with memory.batch() as batch:
            batch.update("x", text="2")
            batch.delete("x")
        assert memory.count() == 0

    def test_delete_and_add_again(self, memory: Memory) -> None:
        memory.add("old", id="x")
        with memory.batch() as batch:
            batch.delete("x")
            batch.add("new", id="x")
        assert memory.get("x").text == "new"
        assert memory.verify().ok

    @pytest.mark.parametrize("on_conflict", ["ignore", "replace"])
    def test_deleting_a_waiting_record_deletes_the_stored_one_it_meant(self, memory: Memory, on_conflict: Any) -> None:
        memory.add("stored", id="x")
        with memory.batch() as batch:
            batch.add("waiting", id="x", on_conflict=on_conflict)
            batch.delete("x")
        assert memory.count() == 0

    def test_updating_a_record_that_would_be_ignored_updates_the_stored_one(self, memory: Memory) -> None:
        memory.add("stored", id="x")
        with memory.batch() as batch:
            batch.add("waiting", id="x", on_conflict="ignore")
            batch.update("x", text="updated")
        assert memory.get("x").text == "updated"

    def test_a_deleted_record_cannot_be_updated_in_the_same_batch(self, memory: Memory) -> None:
        memory.add("stored", id="x")
        with pytest.raises(NotFound, match="'x'"), memory.batch() as batch:  # noqa: PT012 - either line may raise
            batch.update("x", text="1")
            batch.delete("x")
            batch.update("x", text="2")
        assert memory.get("x").text == "stored"

    def test_a_record_that_moved_on_meanwhile_is_not_overwritten(self, memory: Memory) -> None:
        memory.add("0", id="x")
        with pytest.raises(VersionConflict, match="'x'"), memory.batch() as batch:  # noqa: PT012 - the block's end raises
            batch.update("x", text="mine")
            memory.update("x", text="someone was faster")
        assert memory.get("x").text == "someone was faster"

    def test_expected_version_holds_in_a_batch(self, memory: Memory) -> None:
        memory.add("0", id="x")
        memory.update("x", text="1")
        with pytest.raises(VersionConflict, match="'x'"), memory.batch() as batch:
            batch.update("x", text="2", expected_version=1)
        with pytest.raises(VersionConflict, match="'x'"), memory.batch() as batch:
            batch.delete("x", expected_version=1)
        assert memory.get("x").text == "1"

    def test_an_empty_batch_does_nothing(self, memory: Memory) -> None:
        with memory.batch() as batch:
            pass
        assert batch.receipt is not None
        assert batch.receipt.ids == ()

    def test_a_batch_has_narrower_views(self, memory: Memory) -> None:
        with memory.batch() as batch:
            batch.scope(user="alice").add("hers")
            batch.scope(user="bob").add("his")
        assert texts(memory.scope(user="alice").list()) == ["hers"]
        assert texts(memory.scope(user="bob").list()) == ["his"]

    def test_what_cannot_be_part_of_a_batch_is_refused(self, memory: Memory) -> None:
        receipt = memory.add("kept")
        memory.snapshot("now")
        with memory.batch() as batch:
            for verb in (
                batch.clear,
                lambda: batch.delete_where(kind="note"),
                lambda: batch.batch().__enter__(),
                lambda: batch.rollback("now"),
                lambda: batch.undo(receipt),
            ):
                with pytest.raises(InvalidInput, match="batch"):
                    verb()
        assert texts(memory.list()) == ["kept"]

    def test_a_write_after_the_block_is_never_lost_in_silence(self, memory: Memory) -> None:
        with memory.batch() as batch:
            batch.add("inside")
        try:
            batch.add("after")
        except RememoError:
            assert texts(memory.list()) == ["inside"]
        else:
            assert texts(memory.list()) == ["inside", "after"]


class KeySuite(Suite):
    """`key=`: the same key returns the first receipt."""

    @pytest.mark.requirement("write.receipt")
    def test_a_retry_of_an_add_is_harmless(self, memory: Memory) -> None:
        first = memory.add("once", key="request-1")
        again = memory.add("once", key="request-1")
        assert again == first
        assert memory.count() == 1
        assert memory.add("twice", key="request-2").id != first.id

    def test_a_retry_of_many_is_harmless(self, memory: Memory) -> None:
        first = memory.add_many(["a", "b"], key="k")
        assert memory.add_many(["a", "b"], key="k") == first
        assert memory.count() == 2

    def test_a_retry_of_an_update_is_harmless(self, memory: Memory) -> None:
        memory.add("0", id="x")
        first = memory.update("x", text="1", key="k")
        assert memory.update("x", text="1", key="k") == first
        assert len(memory.history("x")) == 2

    def test_a_retry_of_a_guarded_update_is_harmless(self, memory: Memory) -> None:
        memory.add("0", id="x")
        first = memory.update("x", text="1", expected_version=1, key="k")
        assert memory.update("x", text="1", expected_version=1, key="k") == first

    def test_a_retry_of_an_update_is_harmless_though_the_record_is_gone(self, memory: Memory) -> None:
        memory.add("0", id="x")
        first = memory.update("x", text="1", key="k")
        memory.delete("x")
        assert memory.update("x", text="1", key="k") == first
        assert memory.count() == 0

    def test_a_retry_of_a_delete_is_harmless(self, memory: Memory) -> None:
        memory.add("0", id="x")
        first = memory.delete("x", key="k")
        assert memory.delete("x", key="k") == first
        memory.add("again", id="x")
        assert memory.delete("x", key="k") == first
        assert memory.count() == 1

    def test_a_retry_of_a_batch_is_harmless(self, memory: Memory) -> None:
        receipts: list[Receipt | None] = []
        for _ in range(2):
            with memory.batch(key="k") as batch:
                batch.add("a")
                batch.add("b")
            receipts.append(batch.receipt)
        assert receipts[0] == receipts[1]
        assert texts(memory.list()) == ["a", "b"]

    def test_a_key_inside_a_batch_is_never_ignored_in_silence(self, memory: Memory) -> None:
        for _ in range(2):
            try:
                with memory.batch() as batch:
                    batch.add("once", key="k")
            except InvalidInput:
                continue  # refusing is as safe as honouring it
        assert memory.count() <= 1

    def test_a_write_that_failed_does_not_use_up_its_key(self, memory: Memory) -> None:
        memory.add("there", id="x")
        with pytest.raises(AlreadyExists):
            memory.add("new", id="x", key="k")
        assert memory.add("new", id="y", key="k").outcome == "added"

    def test_a_key_survives_reopening(self, open_memory: OpenMemory) -> None:
        self.need_reopening()
        memory = open_memory()
        first = memory.add("once", key="k")
        memory.close()
        again = open_memory()
        assert again.add("once", key="k") == first
        assert again.count() == 1

    def test_keys_are_forgotten_after_their_days(self, open_memory: OpenMemory, clock: ManualClock) -> None:
        memory = open_memory(settings=Settings(key_days=2, durability="fast"))
        memory.add("once", key="k")
        clock.advance(timedelta(days=1).total_seconds())
        memory.maintain()
        memory.add("once", key="k")
        assert memory.count() == 1
        clock.advance(timedelta(days=2).total_seconds())
        memory.maintain()
        memory.add("once more", key="k")
        assert memory.count() == 2

    @pytest.mark.parametrize("key", ["", "x" * 513, "\x00", 7])
    def test_a_key_that_cannot_be_meant_is_an_error(self, memory: Memory, key: Any) -> None:
        with pytest.raises(InvalidInput, match="key"):
            memory.add("once", key=key)
        assert memory.count() == 0
