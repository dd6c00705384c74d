"""Hooks: told after the commit; a failing one is reported and never loses the write."""

import logging

import pytest

from rememo.errors import AlreadyExists
from rememo.memory import Memory
from rememo.model.receipt import Change
from rememo.testing.base import OpenMemory, Suite, texts
from rememo.testing.clock import ManualClock


class HookSuite(Suite):
    """`hooks.on_change`."""

    @pytest.mark.requirement("hooks.on-change")
    def test_every_change_is_told_once_with_what_it_was(self, memory: Memory, clock: ManualClock) -> None:
        heard: list[Change] = []
        memory.hooks.on_change(heard.append)
        alice = memory.scope(user="alice")
        added = alice.add("1", id="x", kind="thought")
        alice.update("x", text="2")
        memory.add("3", id="x", on_conflict="replace")
        memory.add("4", id="x", on_conflict="ignore")
        memory.delete("x")
        assert [(change.id, change.version, change.outcome) for change in heard] == [
            ("x", 1, "added"),
            ("x", 2, "updated"),
            ("x", 3, "replaced"),
            ("x", 3, "deleted"),
        ]
        assert (heard[0].kind, heard[0].scope, heard[0].recorded_at) == ("thought", alice.bound, added.recorded_at)
        heard.clear()
        memory.add_many(["a", "b"])
        assert memory.clear() == 2
        assert [change.outcome for change in heard] == ["added", "added", "deleted", "deleted"]
        heard.clear()
        clock.advance(60)
        memory.rollback(added.recorded_at or clock())
        assert [change.outcome for change in heard] == ["restored"]

    def test_a_hook_is_told_after_the_write_is_durable(self, open_memory: OpenMemory) -> None:
        memory = open_memory()
        other = open_memory() if self.reopens else memory
        seen: list[str] = []
        memory.hooks.on_change(lambda change: seen.append(other.get(change.id).text))
        memory.add("durable")
        assert seen == ["durable"]

    def test_a_batch_is_told_when_it_is_whole(self, memory: Memory) -> None:
        counts: list[int] = []
        memory.hooks.on_change(lambda _: counts.append(memory.count()))
        with memory.batch() as batch:
            batch.add("a")
            batch.add("b")
            assert counts == []
        assert counts == [2, 2]

    def test_what_failed_or_was_repeated_is_not_told(self, memory: Memory) -> None:
        heard: list[Change] = []
        memory.add("there", id="x", key="k")
        memory.hooks.on_change(heard.append)
        with pytest.raises(AlreadyExists):
            memory.add("again", id="x")
        memory.add("there", key="k")
        assert heard == []

    @pytest.mark.requirement("hooks.on-change")
    def test_a_failing_hook_is_logged_and_counted_and_the_write_stands(
        self, memory: Memory, caplog: pytest.LogCaptureFixture
    ) -> None:
        heard: list[str] = []

        @memory.hooks.on_change
        def broken(change: Change) -> None:
            raise RuntimeError(f"cannot bear {change.id}")

        memory.hooks.on_change(lambda change: heard.append(change.id))
        with caplog.at_level(logging.ERROR, "rememo.hooks"):
            id = memory.add("kept").id
        assert memory.get(id).text == "kept"
        assert heard == [id]
        assert memory.hooks.failures == 1
        assert id in caplog.text
        assert "cannot bear" in caplog.text
        memory.hooks.remove(broken)
        memory.add("next")
        assert memory.hooks.failures == 1

    def test_a_hook_may_write(self, memory: Memory) -> None:
        @memory.hooks.on_change
        def echo(change: Change) -> None:
            if change.kind == "message":
                memory.add("noted", kind="thought", source=change.id)

        memory.add("hello", kind="message")
        assert texts(memory.list()) == ["hello", "noted"]

    def test_a_removed_hook_is_silent(self, memory: Memory) -> None:
        heard: list[Change] = []
        hook = memory.hooks.on_change(heard.append)
        memory.hooks.remove(hook)
        memory.hooks.remove(hook)
        memory.add("quiet")
        assert heard == []
