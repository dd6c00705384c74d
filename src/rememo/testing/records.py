"""Records: adding, reading, changing and ending them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Literal

import pytest

from rememo.errors import AlreadyExists, InvalidInput, NotFound, VersionConflict
from rememo.memory import Memory
from rememo.model.record import KINDS
from rememo.testing.base import OpenMemory, Suite, texts
from rememo.testing.clock import START, ManualClock


class RecordSuite(Suite):
    """The record verbs and what their receipts say."""

    @pytest.mark.requirement("record.create-get-by-id", "write.receipt", "memory.insert-all-latest-by-id")
    def test_what_is_added_can_be_read_by_its_id(self, memory: Memory) -> None:
        receipt = memory.add("My cat is called Miso.")
        record = memory.get(receipt.id)
        assert record.text == "My cat is called Miso."
        assert record.kind == "note"
        assert (record.id, record.version) == (receipt.id, 1)
        assert (receipt.version, receipt.outcome, receipt.wait().status) == (1, "added", "done")
        assert receipt.recorded_at == record.recorded_at

    @pytest.mark.requirement("record.kinds")
    def test_every_kind_can_be_remembered_and_told_apart(self, memory: Memory) -> None:
        data = {"fact": {"subject": "a", "predicate": "likes", "object": "b"}, "document": {"title": "a document"}}
        for kind in sorted(KINDS):
            memory.add(f"a {kind}", kind=kind, data=data.get(kind))
        plain = KINDS - {"fact", "document", "chunk"}
        for kind in plain:
            assert texts(memory.list(kind=kind)) == [f"a {kind}"]
        assert texts(memory.list(kind=["goal", "post"])) == ["a goal", "a post"]
        assert [record.data["object"] for record in memory.list(kind="fact")] == ["b"]
        assert [record.data["title"] for record in memory.list(kind="document")] == ["a document"]
        assert sorted(texts(memory.list(kind="chunk"))) == ["a chunk", "a document"]

    @pytest.mark.requirement("record.fields")
    def test_every_field_comes_back_as_it_was_given(self, memory: Memory) -> None:
        lisbon = timezone(timedelta(hours=1))
        view = memory.scope(agent="helper", user="alice", room="chat-1")
        receipt = view.add(
            "moved to Lisbon",
            kind="post",
            data={"subject": "alice", "nested": {"list": [1, 2.5, None, True, "é"]}},
            metadata={"topic": "home", "tags": ["a", "b"]},
            occurred_at=datetime(2026, 4, 30, 9, 30, 0, 123456, tzinfo=lisbon),
            valid_from=datetime(2026, 4, 1, tzinfo=UTC),
            valid_to=datetime(2027, 4, 1, tzinfo=UTC),
            id="moved",
            pinned=True,
            importance=0.75,
            ttl="7d",
            source="telegram",
            trust=0.5,
        )
        record = view.get("moved")
        assert record.data == {"subject": "alice", "nested": {"list": [1, 2.5, None, True, "é"]}}
        assert record.metadata == {"topic": "home", "tags": ["a", "b"]}
        assert record.scope == view.bound
        assert (record.scope.agent, record.scope.user, record.scope.room) == ("helper", "alice", "chat-1")
        assert record.occurred_at == datetime(2026, 4, 30, 8, 30, 0, 123456, tzinfo=UTC)
        assert record.valid_from == datetime(2026, 4, 1, tzinfo=UTC)
        assert record.valid_to == datetime(2027, 4, 1, tzinfo=UTC)
        assert (record.pinned, record.importance, record.source, record.trust) == (True, 0.75, "telegram", 0.5)
        assert record.expires_at == START + timedelta(days=7)
        assert record.created_at == record.recorded_at == record.updated_at == receipt.recorded_at

    def test_all_times_are_aware_and_utc(self, memory: Memory) -> None:
        receipt = memory.add("now", ttl=60, occurred_at=datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-8))))
        record = memory.get(receipt.id)
        for time in (record.created_at, record.recorded_at, record.occurred_at, record.expires_at, record.at):
            assert time is not None
            assert time.utcoffset() == timedelta(0)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "línea\nnueva\ttab\r\n",
            "日本語のテキスト",
            "👩‍👩‍👧‍👦 family",
            "a'; DROP TABLE records; --",
            '"quoted" \\ back',
            "\u202eright to left",
            "\x01\x7f",
        ],
    )
    def test_text_is_kept_as_it_was_said(self, memory: Memory, text: str) -> None:
        id = memory.add(text, metadata={"said": text}, data={text or "key": text}).id
        record = memory.get(id)
        assert record.text == text
        assert record.metadata == {"said": text}
        assert record.data == {text or "key": text}

    @pytest.mark.parametrize("id", ["1", "a/b?c=d&e", "ключ", "with 'quotes' and \"more\"", "%_*", "x" * 512])
    def test_any_label_can_be_an_id(self, memory: Memory, id: str) -> None:
        assert memory.add("mine", id=id).ids == (id,)
        assert memory.get(id).text == "mine"
        assert [record.id for record in memory.list(ids=[id, "other"])] == [id]

    def test_given_ids_are_unique_and_made_ones_sort_by_time(self, memory: Memory) -> None:
        made = [memory.add(f"{number}").id for number in range(20)]
        assert made == sorted(set(made))

    def test_reads_return_copies(self, memory: Memory) -> None:
        original = {"tags": ["a"]}
        id = memory.add("mine", metadata=original, data=original).id
        original["tags"].append("later")
        record = memory.get(id)
        record.metadata["tags"].append("b")
        record.data.clear()
        memory.list()[0].metadata.clear()
        memory.search("mine")[0].record.metadata.clear()
        memory.history(id)[0].data.clear()
        assert memory.get(id).metadata == {"tags": ["a"]}
        assert memory.get(id).data == {"tags": ["a"]}

    @pytest.mark.requirement("record.batch")
    def test_add_many_takes_texts_and_mappings_in_order(self, memory: Memory) -> None:
        receipt = memory.add_many(["one", {"text": "two", "kind": "thought", "id": "second"}, {"text": "three"}])
        assert len(receipt.ids) == 3
        assert receipt.ids[1] == "second"
        assert [memory.get(id).text for id in receipt.ids] == ["one", "two", "three"]
        assert texts(memory.list()) == ["one", "two", "three"]
        assert len({memory.get(id).recorded_at for id in receipt.ids}) == 1

    @pytest.mark.requirement("record.batch")
    def test_add_many_is_all_or_none(self, memory: Memory) -> None:
        memory.add("there", id="taken")
        with pytest.raises(AlreadyExists, match="taken"):
            memory.add_many(["one", {"text": "two", "id": "taken"}, "three"])
        with pytest.raises(InvalidInput, match="text"):
            memory.add_many(["one", {"text": "bad \x00"}])
        assert texts(memory.list()) == ["there"]

    def test_add_many_of_nothing_does_nothing(self, memory: Memory) -> None:
        assert memory.add_many([]).ids == ()
        assert memory.count() == 0

    def test_the_same_id_twice_in_one_write_is_refused(self, memory: Memory) -> None:
        with pytest.raises(AlreadyExists, match="twin"):
            memory.add_many([{"text": "a", "id": "twin"}, {"text": "b", "id": "twin"}])
        assert memory.count() == 0


class ConflictSuite(Suite):
    """Creating an id that is there: error, ignore or replace, and the receipt says what happened."""

    def test_error_is_the_default_and_says_what_to_do(self, memory: Memory) -> None:
        memory.add("first", id="taken")
        with pytest.raises(AlreadyExists, match=r"'taken'.*update\(\).*on_conflict"):
            memory.add("second", id="taken")
        assert memory.get("taken").text == "first"
        assert len(memory.history("taken")) == 1

    def test_ignore_keeps_what_is_there(self, memory: Memory) -> None:
        memory.add("first", id="taken")
        receipt = memory.add("second", id="taken", on_conflict="ignore")
        assert (receipt.outcome, receipt.version) == ("ignored", 1)
        assert memory.get("taken").text == "first"

    def test_replace_opens_the_next_version_and_keeps_the_creation(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("first", id="taken", metadata={"a": 1}, pinned=True)
        created_at = memory.get("taken").created_at
        clock.advance(60)
        receipt = memory.add("second", id="taken", on_conflict="replace")
        assert (receipt.outcome, receipt.version) == ("replaced", 2)
        record = memory.get("taken")
        assert (record.text, record.metadata, record.pinned) == ("second", {}, False)
        assert record.created_at == created_at
        assert record.recorded_at > created_at

    @pytest.mark.parametrize("on_conflict", ["error", "ignore", "replace"])
    def test_a_free_id_is_added(self, memory: Memory, on_conflict: Literal["error", "ignore", "replace"]) -> None:
        assert memory.add("first", id="free", on_conflict=on_conflict).outcome == "added"

    def test_a_deleted_id_is_free_again(self, memory: Memory) -> None:
        memory.add("first", id="again")
        memory.delete("again")
        receipt = memory.add("second", id="again")
        assert (receipt.outcome, receipt.version) == ("added", 2)
        assert memory.get("again").text == "second"
        assert [version.text for version in memory.history("again")] == ["first", "second"]


class ChangeSuite(Suite):
    """Updates and deletes."""

    def test_what_is_not_given_stays(self, memory: Memory) -> None:
        memory.add(
            "old",
            id="x",
            kind="thought",
            metadata={"a": 1},
            data={"b": 2},
            pinned=True,
            importance=0.5,
            source="s",
            ttl="1h",
        )
        before = memory.get("x")
        receipt = memory.update("x", text="new")
        after = memory.get("x")
        assert (receipt.outcome, receipt.version, after.version) == ("updated", 2, 2)
        assert after.text == "new"
        for field in ("kind", "metadata", "data", "pinned", "importance", "source", "trust", "expires_at", "scope"):
            assert getattr(after, field) == getattr(before, field), field

    def test_created_at_never_changes(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("0", id="x")
        created_at = memory.get("x").created_at
        for number in range(1, 4):
            clock.advance(3600)
            memory.update("x", text=str(number))
        clock.advance(3600)
        memory.add("4", id="x", on_conflict="replace")
        assert {version.created_at for version in memory.history("x")} == {created_at}

    def test_data_and_metadata_are_replaced_not_merged(self, memory: Memory) -> None:
        memory.add("x", id="x", metadata={"a": 1}, data={"b": 1})
        memory.update("x", metadata={"c": 2}, data=None)
        assert memory.get("x").metadata == {"c": 2}
        assert memory.get("x").data == {}

    def test_every_field_can_be_changed(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("x", id="x", valid_from=START, importance=0.1, source="a")
        earlier = START - timedelta(days=3)
        memory.update(
            "x", kind="goal", occurred_at=earlier, valid_from=None, valid_to=earlier, pinned=True, importance=None,
            source="b", trust=0.25, ttl=60,
        )  # fmt: skip
        record = memory.get("x")
        assert (record.kind, record.occurred_at, record.valid_from, record.valid_to) == ("goal", earlier, None, earlier)
        assert (record.pinned, record.importance, record.source, record.trust) == (True, None, "b", 0.25)
        assert record.expires_at == clock() + timedelta(seconds=60)
        memory.update("x", ttl=None)
        assert memory.get("x").expires_at is None

    def test_expected_version_guards_a_read_modify_write(self, memory: Memory) -> None:
        memory.add("0", id="x")
        read = memory.get("x")
        memory.update("x", text="someone was faster")
        with pytest.raises(VersionConflict, match=r"'x'.*version 2, not 1.*read it again"):
            memory.update("x", text="lost update", expected_version=read.version)
        with pytest.raises(VersionConflict, match="'x'"):
            memory.delete("x", expected_version=read.version)
        assert memory.get("x").text == "someone was faster"
        memory.update("x", text="mine", expected_version=2)
        memory.delete("x", expected_version=3)
        assert memory.count() == 0

    @pytest.mark.requirement("cleanup.manual")
    def test_delete_ends_a_record_and_keeps_its_past(self, memory: Memory) -> None:
        memory.add("secret plan", id="x")
        receipt = memory.delete("x")
        assert (receipt.outcome, receipt.version) == ("deleted", 1)
        with pytest.raises(NotFound, match="'x'"):
            memory.get("x")
        assert memory.list() == []
        assert memory.count() == 0
        assert memory.search("secret plan") == []
        [last] = memory.history("x")
        assert last.deleted
        assert last.superseded_at == receipt.recorded_at

    @pytest.mark.requirement("cleanup.manual")
    def test_delete_where_ends_what_the_filter_means_and_says_how_many(
        self, memory: Memory, clock: ManualClock
    ) -> None:
        for number in range(6):
            memory.add(f"{number}", kind="goal" if number % 2 else "task", metadata={"n": number})
            clock.advance(60)
        assert memory.delete_where(kind="goal", metadata={"n": {"$gte": 3}}) == 2
        assert texts(memory.list()) == ["0", "1", "2", "4"]
        assert memory.delete_where(before=START + timedelta(seconds=61)) == 2
        assert memory.delete_where(ids=[]) == 0
        assert texts(memory.list()) == ["2", "4"]

    @pytest.mark.requirement("cleanup.manual", "memory.named-isolated")
    def test_clear_leaves_a_usable_memory(self, open_memory: OpenMemory) -> None:
        memory = open_memory()
        memory.add_many(["a", "b", "c"])
        assert memory.clear() == 3
        assert memory.clear() == 0
        assert memory.count() == 0
        assert memory.search("a") == []
        memory.add("d")
        assert texts(memory.list()) == ["d"]
        assert memory.verify().ok

    def test_a_callers_own_embedding_outlives_other_changes(self, memory: Memory) -> None:
        own = [0.0] * 15 + [1.0]
        memory.add("text", id="x", embedding=own)
        memory.update("x", metadata={"touched": True})
        [hit] = memory.similar(own)
        assert hit.score == pytest.approx(1.0, abs=1e-5)


class DurabilitySuite(Suite):
    """Durable when the call returns."""

    @pytest.mark.requirement("memory.named-isolated", "store.embedded", "write.receipt")
    def test_everything_is_there_when_it_is_opened_again(self, open_memory: OpenMemory) -> None:
        self.need_reopening()
        memory = open_memory()
        view = memory.scope(user="alice")
        view.add("first", id="x", metadata={"a": 1}, embedding=[1.0] + [0.0] * 15)
        view.update("x", text="second")
        view.kv.set("step", {"n": 1})
        at = memory.snapshot("before the end")
        view.add("third")
        before = view.history("x")
        memory.close()

        again = open_memory().scope(user="alice")
        assert again.history("x") == before
        assert texts(again.list()) == ["second", "third"]
        assert texts(again.search("third", limit=1)) == ["third"]
        assert again.kv.get("step") == {"n": 1}
        assert again.snapshots() == {"before the end": at}
        assert texts(again.as_of("before the end").list()) == ["second"]

    @pytest.mark.requirement("write.receipt")
    def test_a_write_is_seen_by_others_when_it_returns(self, open_memory: OpenMemory) -> None:
        self.need_reopening()
        writer, reader = open_memory(), open_memory()
        id = writer.add("the harbour opens at nine").id
        assert reader.get(id).text == "the harbour opens at nine"
        assert reader.search("harbour")[0].id == id
        assert reader.count() == 1
        reader.delete(id)
        assert writer.search("harbour") == []

    @pytest.mark.requirement("memory.named-isolated")
    def test_stores_know_nothing_of_each_other(self, open_memory: OpenMemory) -> None:
        first, other = open_memory("one"), open_memory("other")
        first.add("mine", id="x")
        first.kv.set("k", 1)
        assert other.count() == 0
        assert other.kv.get("k") is None
        assert other.add("also mine", id="x").outcome == "added"
        other.clear()
        assert first.get("x").text == "mine"
