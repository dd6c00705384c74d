"""Retention: policies are kept, do what they say and no more, and what they did can be taken back."""

from datetime import timedelta
from typing import Any

import pytest

from rememo.errors import InvalidInput, ReadOnly
from rememo.keep.retention_selection import content_bytes
from rememo.memory import Memory
from rememo.model.retention import Maintenance, PolicyRun
from rememo.settings import Settings
from rememo.testing.base import OpenMemory, Suite, ids, texts
from rememo.testing.clock import ManualClock

DAY = 86_400


def only_policy_run(report: Maintenance) -> PolicyRun:
    """Return the run of the one policy."""
    (run,) = report.runs
    return run


class RetentionSuite(Suite):
    """What leaves, what stays, and how it comes back."""

    def test_nothing_leaves_unasked(self, memory: Memory, clock: ManualClock) -> None:
        memory.scope(room="r").messages.add("user", "said long ago", learn=False)
        clock.advance(4_000 * DAY)
        assert memory.maintain() == Maintenance(dry_run=False, reclaimed=0)
        assert memory.retention.list() == []
        assert memory.count() == 1

    @pytest.mark.requirement("cleanup.messages-by-age")
    def test_messages_leave_by_age_where_that_is_switched_on(self, memory: Memory, clock: ManualClock) -> None:
        on, off = memory.scope(room="on"), memory.scope(room="off")
        for room in (on, off):
            room.messages.add("system", "be kind", learn=False)
            room.messages.add("user", "old", learn=False)
            room.add("an old note")
            room.add("old and pinned", kind="message", pinned=True)
        on.retention.use("messages")
        clock.advance(29 * DAY)
        on.messages.add("user", "new", learn=False)
        assert memory.maintain().done == 0
        clock.advance(2 * DAY)
        would = memory.maintain(dry_run=True)
        assert (
            would.dry_run,
            only_policy_run(would).found,
            only_policy_run(would).done,
            len(only_policy_run(would).ids),
        ) == (True, 1, 0, 1)
        assert on.count() == 5
        did = memory.maintain()
        assert (
            only_policy_run(did).policy,
            only_policy_run(did).found,
            only_policy_run(did).done,
            only_policy_run(did).ids,
        ) == ("messages", 1, 1, only_policy_run(would).ids)
        assert sorted(texts(on.list())) == ["an old note", "be kind", "new", "old and pinned"]
        assert off.count() == 4
        assert memory.maintain().done == 0
        assert memory.verify().ok

    @pytest.mark.requirement("cleanup.facts-cap")
    def test_a_room_keeps_its_surest_and_newest_facts(self, memory: Memory, clock: ManualClock) -> None:
        for name in ("a", "b"):
            room = memory.scope(room=name)
            for number, confidence in enumerate([0.9, 0.5, 0.5, 0.7, 0.5]):
                clock.advance()
                room.facts.add("ana", "likes", f"thing {number}", confidence=confidence)
        memory.scope(room="b").facts.add("ana", "likes", "one more", confidence=0.95)
        memory.facts.add("bo", "likes", "being free", confidence=0.1)
        memory.retention.use("facts", at_most=3)
        assert memory.maintain().done == 5
        kept = {
            name: {fact.object for fact in memory.scope(room=name).facts.list(subject="ana")} for name in ("a", "b")
        }
        assert kept == {"a": {"thing 0", "thing 3", "thing 4"}, "b": {"thing 0", "thing 3", "one more"}}
        assert memory.count(kind="fact") == 7, "those of no room are counted by themselves"
        assert memory.retention.list()[0].at_most == 3
        memory.retention.use("facts")
        assert memory.retention.list()[0].at_most == 1_000
        assert memory.verify().ok

    def test_equal_ones_leave_until_the_number_is_right(self, memory: Memory) -> None:
        memory.scope(room="r").add_many([{"text": f"t{number}"} for number in range(50)])
        memory.add("elsewhere", kind="post")
        memory.retention.set("few", kind="note", at_most=20)
        assert memory.maintain().done == 30
        assert memory.maintain().done == 0
        assert memory.count(kind="note") == 20

    def test_all_together_weigh_no_more_than_they_may(self, memory: Memory, clock: ManualClock) -> None:
        for number in range(10):
            clock.advance()
            kind = "note" if number % 2 else "post"
            memory.add(f"{number}" * 100, kind=kind, pinned=number == 0, importance=0.9 if number == 1 else None)
        memory.retention.set("size", max_bytes=500, keep_important=0.8)
        assert memory.maintain().done == 5
        assert [text[0] for text in texts(memory.list())] == ["0", "1", "7", "8", "9"]

    def test_what_leaves_by_one_bound_is_not_counted_by_another(self, memory: Memory, clock: ManualClock) -> None:
        for number, sure in enumerate([0.9, 0.9, 0.1, 0.2, 0.3]):
            memory.facts.add(f"s{number}", "likes", "x" * 90, confidence=sure)
            clock.advance(2 * DAY if number == 1 else 1)
        four = 4 * max(content_bytes(fact) for fact in memory.list(kind="fact"))
        memory.retention.set("small", kind="fact", older_than="1d", at_most=3, max_bytes=four)
        would = only_policy_run(memory.maintain(dry_run=True))
        assert (would.found, would.refused) == (2, None), "three stay"
        did = only_policy_run(memory.maintain())
        assert (did.found, did.done, did.ids) == (2, 2, would.ids)
        assert [record.data["subject"] for record in memory.list(kind="fact")] == ["s2", "s3", "s4"]

    def test_a_dry_run_of_compressing_tells_what_would_leave(self, memory: Memory, clock: ManualClock) -> None:
        for room in (memory.scope(room="r"), memory):
            room.messages.add("user", "old", learn=False)
            room.messages.add("user", "old and pinned", pinned=True, learn=False)
            room.messages.add("system", "be kind", learn=False)
        clock.advance(8 * DAY)
        memory.messages.add("user", "new", learn=False)
        memory.retention.use("compress")
        would = only_policy_run(memory.maintain(dry_run=True))
        assert (would.found, would.done, len(would.ids), memory.count(kind="message")) == (2, 0, 2, 7)
        did = only_policy_run(memory.maintain())
        assert (did.found, did.done, sorted(did.ids)) == (2, 2, sorted(would.ids))

    def test_a_tool_call_leaves_with_its_result_or_stays(self, memory: Memory, clock: ManualClock) -> None:
        room = memory.scope(room="r")
        calls: list[dict[str, Any]] = [{"id": "c1", "name": "f", "arguments": {}}]
        room.messages.add("assistant", "calling", tool_calls=calls, learn=False)
        clock.advance(2 * DAY)
        answer = room.messages.add("tool", "the result", tool_call_id="c1", learn=False).id
        room.retention.set("day", kind="message", older_than="1d")
        assert memory.maintain().done == 0
        clock.advance(2 * DAY)
        memory.update(answer, pinned=True)
        assert memory.maintain().done == 0
        memory.update(answer, pinned=False)
        memory.add("something else")
        assert memory.maintain().done == 2

    @pytest.mark.requirement("integrity.dedupe")
    def test_copies_are_prevented_and_removed(self, memory: Memory, clock: ManualClock) -> None:
        room = memory.scope(room="r")
        assert room.facts.add("ana", "likes", "tea").id == room.facts.add("Ana", "likes", "Tea").id
        assert room.relationships.add("ana", "bo", "friend").id == room.relationships.add("Ana", "Bo", "friend").id
        links = room.count(kind="relationship")
        first = room.add("the same", data={"a": 1}).id
        clock.advance()
        others = [room.add("the same", data={"a": 1}).id for _ in range(3)]
        memory.update(others[1], pinned=True)
        other = [room.add("the same").id, memory.scope(room="s").add("the same", data={"a": 1}).id]
        messages = [room.messages.add("user", "ok", learn=False).id for _ in range(2)]
        memory.add(
            "ana knows bo", kind="relationship", data={"entity": "x", "type": "p", "target": "y", "confidence": 0.2}
        )
        better = memory.add(
            "x p y", kind="relationship", data={"entity": "X", "type": "p", "target": "Y", "confidence": 0.8}
        )
        memory.retention.use("duplicates")
        assert memory.maintain(dry_run=True).found == 4
        assert memory.maintain().done == 4
        assert ids(memory.list(kind="note")) == [others[1], *other]
        assert ids(memory.list(kind="message")) == messages, "to say the same twice is no mistake"
        assert memory.count(kind="relationship") == links + 1
        assert memory.get(better.id)
        assert first not in ids(memory.list())
        assert memory.maintain().found == 0

    @pytest.mark.requirement("integrity.references")
    def test_references_are_mended(self, memory: Memory, clock: ManualClock) -> None:
        room = memory.scope(room="r")
        question, answered = room.messages.add_pair("a question", "an answer", learn=False).ids
        other = room.messages.add("user", "I like tea", learn=False).id
        fact = room.facts.add("ana", "likes", "tea", sources=[question, other]).id
        chunk = room.add("a part", kind="chunk", data={"document": "no-such"}).id
        for id in (answered, other):
            memory.update(id, pinned=True)
        clock.advance(10)
        memory.retention.set("old", kind="message", older_than="5s")
        memory.retention.use("references")
        report = memory.maintain()
        assert {run.policy: run.done for run in report.runs} == {"old": 1, "references": 2}
        assert memory.retention.remove("old")
        assert room.messages.get(answered).reply_to is None
        assert room.count(kind="chunk") == 0
        assert [source.id for source in room.facts.get(fact).sources] == [question, other], "its past is still known"
        clock.advance(100 * DAY)
        memory.retention.use("versions", forget="10d")
        memory.maintain()
        memory.maintain()
        assert [source.id for source in room.facts.get(fact).sources] == [other]
        assert memory.maintain().done == 0
        assert chunk not in ids(memory.list())
        assert memory.verify().ok

    @pytest.mark.requirement("cleanup.orphans")
    def test_relationships_without_ends_leave(self, memory: Memory) -> None:
        room = memory.scope(room="r")
        fact = room.facts.add("ana", "works at", "CERN").id
        room.relationships.add("ana", "bo", "friend")
        person = room.add("a person").id
        room.relationships.add("ana", person, "knows")
        assert room.count(kind="relationship") == 3
        memory.retention.use("orphans")
        assert memory.maintain().done == 0
        memory.delete(person)
        memory.retention.set("none", kind="fact", at_most=0, allow_all=True)
        report = memory.maintain()
        assert {run.policy: run.done for run in report.runs} == {"none": 1, "orphans": 2}
        assert [relationship.target for relationship in room.relationships.list()] == ["bo"]
        assert fact not in ids(memory.list())
        assert memory.retention.undo(report).restored == 3
        assert room.count(kind="relationship") == 3

    def test_documents_leave_with_their_parts(self, memory: Memory, clock: ManualClock) -> None:
        memory.documents.add(text="One sentence. " * 300, title="long")
        clock.advance(10 * DAY)
        memory.add("stays")
        memory.retention.set("old", older_than="5d")
        assert memory.maintain().done > 1
        assert memory.count() == 1

    def test_a_run_is_taken_back(self, memory: Memory, clock: ManualClock) -> None:
        room = memory.scope(room="r")
        room.add_many([{"text": f"number {number}", "kind": "message"} for number in range(120)])
        clock.advance(40 * DAY)
        room.add("stays")
        before = room.list(limit=200)
        memory.retention.use("messages")
        report = memory.maintain()
        assert report.done == 120
        changed = before[7].id
        room.add("again", id=changed)
        undone = memory.retention.undo(report)
        assert (undone.restored, undone.left) == (119, 1)
        assert [record.text for record in room.list(limit=200) if record.id != changed] == [
            record.text for record in before if record.id != changed
        ]
        assert room.search("number 42", limit=1)[0].record.text == "number 42"
        assert memory.verify().ok
        assert memory.maintain().done == 119

    def test_versions_are_thinned_to_one_a_day(self, memory: Memory, clock: ManualClock) -> None:
        clock.advance(-clock().hour * 3_600)
        id = memory.add("day 0, change 0").id
        moments = {"day 0, change 0": clock()}
        for day in range(3):
            for change in range(1, 5):
                clock.advance(3_600)
                memory.update(id, text=f"day {day}, change {change}")
                moments[f"day {day}, change {change}"] = clock()
                if (day, change) == (1, 2):
                    clock.advance()
                    memory.snapshot("named")
            clock.advance(20 * 3_600 - (day == 1))
        memory.retention.use("versions", older_than="1d")
        assert memory.maintain(dry_run=True).found == 5, "those of the last day stay"
        clock.advance(DAY)
        report = memory.maintain()
        assert (only_policy_run(report).found, only_policy_run(report).done) == (8, 8)
        kept = ["day 0, change 0", "day 0, change 4", "day 1, change 2", "day 1, change 4", "day 2, change 4"]
        assert texts(memory.history(id)) == kept
        assert memory.verify().ok
        assert memory.as_of("named").get(id).text == "day 1, change 2"
        assert memory.as_of("named").search("change", mode="words")[0].record.text == "day 1, change 2"
        for text in kept:
            assert memory.get(id, known_at=moments[text]).text == text
        assert memory.get(id, known_at=moments["day 0, change 2"]).text == "day 0, change 0", (
            "the one before stands for it"
        )
        assert memory.maintain().done == 0
        memory.update(id, text="goes on")
        assert memory.history(id)[-1].version == 14
        memory.rollback("named")
        assert memory.get(id).text == "day 1, change 2"
        assert memory.verify().ok

    def test_what_was_removed_long_ago_is_forgotten(self, memory: Memory, clock: ManualClock) -> None:
        gone, named = memory.add("gone", kind="post").id, memory.add("named", kind="post").id
        memory.snapshot("with")
        late = memory.add("late", kind="post").id
        for id in (gone, named, late):
            memory.delete(id)
        clock.advance(5 * DAY)
        stays = memory.add("stays", id="x").id
        memory.delete(memory.add("fresh").id)
        memory.retention.use("versions", forget="2d")
        versions = memory.stats().versions
        assert memory.maintain().done == 1, "a snapshot needs the others"
        assert memory.stats().versions == versions - 1
        assert texts(memory.as_of("with").list()) == ["gone", "named"]
        assert memory.add("late again", id=late).version == 1
        assert [hit.record.id for hit in memory.search("stays")][:1] == [stays]
        assert memory.count() == 2
        assert memory.verify().ok

    def test_an_old_export_brings_thinned_versions_back(
        self, memory: Memory, clock: ManualClock, tmp_path: Any
    ) -> None:
        id = memory.add("0").id
        for change in range(1, 6):
            clock.advance(60)
            memory.update(id, text=str(change))
        memory.export(tmp_path / "all.jsonl")
        clock.advance(10 * DAY)
        memory.retention.use("versions", older_than="1d")
        assert memory.maintain().done == 4
        assert memory.import_(tmp_path / "all.jsonl").versions == 4
        assert texts(memory.history(id)) == [str(change) for change in range(6)]
        assert memory.verify().ok

    def test_what_leaves_is_archived_and_comes_back(
        self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Any
    ) -> None:
        memory = open_memory(settings=Settings(archive=str(tmp_path / "archive")))
        ids = [memory.scope(user="ana").add(f"said {number}", kind="post").id for number in range(5)]
        memory.update(ids[0], text="said otherwise")
        clock.advance(40 * DAY)
        memory.add("stays")
        before = memory.list(kind="post")
        memory.retention.set("old", kind="post", older_than="30d", archive="all")
        (name,) = only_policy_run(memory.maintain()).archives
        assert (memory.count(kind="post"), memory.archive.list(user="ana")[0].versions) == (0, 6)
        clock.advance(10 * DAY)
        memory.retention.use("versions", forget="1d")
        assert memory.maintain().done == 6
        restored = memory.archive.restore(name)
        assert (restored.records, restored.versions) == (5, 6)
        assert memory.archive.restore(name).present == 5
        assert memory.list(kind="post") == before
        assert memory.verify().ok

    def test_policies_are_kept_and_belong_to_their_scope(self, open_memory: OpenMemory, clock: ManualClock) -> None:
        memory = open_memory()
        room = memory.scope(room="r")
        made = room.retention.set("mine", kind=["note", "post"], older_than=timedelta(days=1), keep_important=0.5)
        memory.retention.use("orphans")
        again = open_memory() if self.reopens else memory
        assert [policy.name for policy in again.retention.list()] == ["mine", "orphans"]
        assert again.scope(room="r").retention.list() == [made]
        assert open_memory(tenant="other").retention.list() == []
        assert not again.retention.remove("mine")
        assert again.scope(room="r").retention.remove("mine")
        assert [policy.name for policy in memory.retention.list()] == ["orphans"]
        with pytest.raises(ReadOnly):
            memory.as_of(clock()).retention.use("facts")

    def test_a_policy_that_would_remove_everything_needs_leave(self, memory: Memory, clock: ManualClock) -> None:
        nothing: list[dict[str, Any]] = [{}, {"older_than": 0}, {"at_most": 0}, {"max_bytes": 0}]
        for bounds in nothing:
            with pytest.raises(InvalidInput, match="allow_all=True"):
                memory.retention.set("all", **bounds)
        memory.add("the only one", kind="message")
        clock.advance(31 * DAY)
        memory.retention.use("messages")
        assert "allow_all=True" in str(only_policy_run(memory.maintain(dry_run=True)).refused)
        report = only_policy_run(memory.maintain())
        assert (report.done, memory.count()) == (0, 1)
        assert "all 1 records" in str(report.refused)
        memory.retention.use("messages", allow_all=True)
        assert memory.maintain().done == 1

    @pytest.mark.parametrize(
        ("name", "given"),
        [
            ("x", {"kind": "mesage", "at_most": 1}), ("x", {"older_than": "soon"}), ("x", {"at_most": -1}),
            ("x", {"at_most": 1.5}), ("x", {"max_bytes": True}), ("x", {"at_most": 1, "keep_important": 2}),
            ("x", {"at_most": 1, "keep_pinned": "no"}), ("", {"at_most": 1}), ("x", {"older_than": False}),
        ],
    )  # fmt: skip
    def test_a_policy_that_cannot_be_meant_is_refused(self, memory: Memory, name: str, given: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            memory.retention.set(name, **given)
        assert memory.retention.list() == []

    def test_ready_made_ones_are_known_by_name(self, memory: Memory) -> None:
        with pytest.raises(InvalidInput, match="empty collection"):
            memory.retention.set("x", kind=[], older_than="1d")
        with pytest.raises(InvalidInput, match="messages, facts"):
            memory.retention.use("everything")  # pyright: ignore[reportArgumentType] - that is the point
        with pytest.raises(InvalidInput, match="at_most"):
            memory.retention.use("versions", at_most=3)
