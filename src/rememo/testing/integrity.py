"""What a memory says of itself, what it refuses, and how it ends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rememo.errors import Closed, InvalidInput, NotFound, RememoError
from rememo.memory import Memory
from rememo.settings import Settings
from rememo.testing.base import OpenMemory, Suite, texts
from rememo.testing.clock import START, ManualClock


class IntegritySuite(Suite):
    """`stats` and `verify`."""

    def test_stats_count_what_a_tenant_holds(self, memory: Memory) -> None:
        memory.add("1", id="x", kind="thought")
        memory.update("x", text="2")
        memory.add("gone", id="y", kind="thought")
        memory.delete("y")
        memory.add("here")
        memory.kv.set("k", 1)
        memory.scope(tenant="acme").add("not counted")
        stats = memory.stats()
        assert (stats.records, stats.versions, stats.vectors, stats.keys) == (2, 4, 4, 1)
        assert stats.kinds == {"thought": 1, "note": 1}
        assert stats.jobs == {}
        assert min(stats.file_bytes, stats.log_bytes, stats.free_bytes) >= 0

    @pytest.mark.requirement("integrity.validate", "integrity.versions")
    def test_a_memory_in_use_is_sound(self, memory: Memory, clock: ManualClock) -> None:
        assert memory.verify().ok
        memory.add("1", id="x", ttl=60)
        memory.update("x", text="2")
        memory.add("3", id="y")
        memory.delete("y")
        memory.undo(memory.add("4"))
        clock.advance(60)
        memory.add("again", id="x")
        memory.maintain()
        check = memory.verify()
        assert check.faults == ()
        assert check.ok
        assert check.checked["records"] == memory.stats().versions


class RefusalSuite(Suite):
    """Bad input: a typed error that names the thing and says what to do, and nothing is changed."""

    @pytest.mark.requirement("integrity.validate")
    @pytest.mark.parametrize(
        ("arguments", "names"),
        [
            ({"text": None}, "text must be text, not NoneType"),
            ({"text": b"bytes"}, "text must be text, not bytes"),
            ({"text": "nul \x00"}, "text contains a NUL character at position 4"),
            ({"text": "half \ud83d"}, "text contains a lone surrogate at position 5"),
            ({"text": "x" * 1_048_577}, r"text is 1,048,577 bytes.*1,048,576"),
            ({"text": "é" * 524_289}, r"text is 1,048,578 bytes"),
            ({"kind": "rumour"}, "no kind 'rumour'.*message"),
            ({"kind": None}, "no kind None"),
            ({"id": ""}, "id is empty"),
            ({"id": "x" * 513}, "id is 513 bytes"),
            ({"id": 7}, "id must be text, not int"),
            ({"id": "\x00"}, "id contains a NUL"),
            ({"on_conflict": "merge"}, 'on_conflict must be "error"'),
            ({"pinned": 1}, "pinned must be True or False"),
            ({"importance": 1.1}, "importance must be a number from 0 to 1"),
            ({"importance": True}, "importance must be a number from 0 to 1"),
            ({"importance": float("nan")}, "importance must be a number"),
            ({"trust": -0.1}, "trust must be a number from 0 to 1"),
            ({"source": ""}, "source is empty"),
            ({"occurred_at": START.replace(tzinfo=None)}, "occurred_at has no time zone"),
            ({"occurred_at": 1_700_000_000}, "occurred_at must be a datetime, not int"),
            ({"occurred_at": "last week"}, "occurred_at is not an ISO 8601 time"),
            ({"valid_from": START, "valid_to": START.replace(year=2020)}, "valid_from is later than valid_to"),
            ({"metadata": ["a"]}, "metadata must be a mapping, not list"),
            ({"metadata": "a"}, "metadata must be a mapping"),
            ({"metadata": {"a": float("inf")}}, r"metadata\.a is inf"),
            ({"metadata": {"a": [1, {"b": object()}]}}, r"metadata\.a\[1\]\.b is a object"),
            ({"metadata": {"a": {1, 2}}}, r"metadata\.a is a set"),
            ({"metadata": {1: "a"}}, "metadata has the key 1; keys must be text"),
            ({"metadata": {"a\x00": 1}}, "a key of metadata contains a NUL"),
            ({"metadata": {"a": "\ud800"}}, r"metadata\.a contains a lone surrogate"),
            ({"metadata": {"a": 2**63}}, r"metadata\.a is a whole number beyond 64 bits"),
            ({"metadata": {"a": "x" * 65_536}}, "metadata.*more than the 65,536"),
            ({"metadata": {str(number): number for number in range(9_000)}}, "metadata is .* more than the 65,536"),
            ({"data": {"a": START}}, r"data\.a is a datetime"),
            ({"data": np.zeros(2)}, "data must be a mapping"),
            ({"data": {"a": b"x"}}, r"data\.a is a bytes"),
        ],
    )
    def test_what_cannot_be_kept_is_refused_by_name(
        self, memory: Memory, arguments: dict[str, Any], names: str
    ) -> None:
        memory.add("there", id="there")
        fields: dict[str, Any] = {"text": "fine"} | arguments
        with pytest.raises(InvalidInput, match=names):
            memory.add(**fields)
        with pytest.raises(InvalidInput, match=names):
            memory.add_many(["first", fields])
        with pytest.raises(InvalidInput, match=names), memory.batch() as batch:  # noqa: PT012 - nothing of it may stay
            batch.add("first")
            batch.add(**fields)
        if not {"id", "on_conflict"} & set(arguments):
            with pytest.raises(InvalidInput, match=names):
                memory.update("there", **arguments)
        assert texts(memory.list()) == ["there"]
        assert len(memory.history("there")) == 1

    def test_depth_is_limited(self, memory: Memory) -> None:
        def nested(depth: int) -> Any:
            return {"a": nested(depth - 1)} if depth else 1

        memory.add("fine", metadata=nested(16))
        with pytest.raises(InvalidInput, match=r"metadata.*nested too deeply"):
            memory.add("deep", metadata=nested(17))
        with pytest.raises(InvalidInput, match="nested too deeply"):
            memory.kv.set("k", nested(17))

    def test_sizes_are_settings(self, open_memory: OpenMemory) -> None:
        memory = open_memory(settings=Settings(max_text_bytes=8, max_metadata_bytes=16, max_depth=1, durability="fast"))
        memory.add("x" * 8, metadata={"a": "x" * 8})
        with pytest.raises(InvalidInput, match="text is 9 bytes"):
            memory.add("x" * 9)
        with pytest.raises(InvalidInput, match="text is 10 bytes"):
            memory.add("é" * 5)
        with pytest.raises(InvalidInput, match="metadata"):
            memory.add("x", metadata={"a": "x" * 20})
        with pytest.raises(InvalidInput, match="nested"):
            memory.add("x", metadata={"a": [1]})
        assert memory.count() == 1

    def test_the_largest_text_is_kept_and_found(self, memory: Memory) -> None:
        text = "needle " + "hay " * 262_142
        id = memory.add(text).id
        assert memory.get(id).text == text
        assert memory.search("needle", mode="words")[0].id == id

    @pytest.mark.parametrize(
        ("items", "names"),
        [
            ([{"kind": "fact"}], "no text"),
            ([{"text": "a", "colour": "red"}], "unknown field 'colour'"),
            ([{"text": "a", "key": "k"}], "unknown field 'key'"),
            ([{"text": "a", 1: 2, "b": 3}], "unknown field"),
            ([7], "text or a mapping, not int"),
            ([None], "text or a mapping, not NoneType"),
            ("one text", "collection|list|items"),
        ],
    )
    def test_items_that_cannot_be_meant(self, memory: Memory, items: Any, names: str) -> None:
        with pytest.raises(InvalidInput, match=names):
            memory.add_many(items)
        assert memory.count() == 0

    def test_a_record_that_is_not_there_is_named(self, memory: Memory) -> None:
        for verb in (
            lambda: memory.get("missing"),
            lambda: memory.update("missing", text="x"),
            lambda: memory.delete("missing"),
            lambda: memory.history("missing"),
        ):
            with pytest.raises(NotFound, match="'missing'"):
                verb()

    def test_an_update_of_nothing_is_an_error(self, memory: Memory) -> None:
        memory.add("here", id="x")
        with pytest.raises(InvalidInput, match="nothing to change"):
            memory.update("x")

    @pytest.mark.parametrize("expected", [0, -1, "1", 1.5, True])
    def test_an_expected_version_that_cannot_be_is_an_error(self, memory: Memory, expected: Any) -> None:
        memory.add("here", id="x")
        with pytest.raises(RememoError, match="version"):
            memory.update("x", text="new", expected_version=expected)
        with pytest.raises(RememoError, match="version"):
            memory.delete("x", expected_version=expected)
        assert memory.get("x").text == "here"

    @pytest.mark.parametrize("id", ["", "\x00", "\ud800", None, 5])
    def test_an_id_that_cannot_be_is_named(self, memory: Memory, id: Any) -> None:
        for verb in (memory.get, memory.history, memory.delete):
            with pytest.raises(InvalidInput, match="id"):
                verb(id)
        with pytest.raises(InvalidInput, match="id"):
            memory.update(id, text="x")

    def test_a_snapshot_name_that_cannot_be_is_named(self, memory: Memory) -> None:
        for name in ("", "\x00", "x" * 513):
            with pytest.raises(InvalidInput, match="name"):
                memory.snapshot(name)
        assert memory.snapshots() == {}


class ClosedSuite(Suite):
    """A closed memory says so, whichever verb is used."""

    def test_every_verb_says_that_it_is_closed(self, open_memory: OpenMemory, tmp_path: Path) -> None:
        memory = open_memory()
        receipt = memory.add("here", id="x")
        memory.export(tmp_path / "all.jsonl")
        view = memory.scope(user="alice")
        past = memory.as_of(START)
        memory.close()
        verbs: list[Callable[[], object]] = [
            lambda: memory.add("new"),
            lambda: memory.add_many(["new"]),
            lambda: memory.update("x", text="new"),
            lambda: memory.delete("x"),
            lambda: memory.delete_where(kind="note"),
            memory.clear,
            lambda: memory.get("x"),
            memory.list,
            memory.count,
            lambda: memory.search("here"),
            lambda: memory.search("here", mode="words"),
            lambda: memory.similar([1.0] * 16),
            memory.rooms,
            memory.users,
            memory.agents,
            lambda: memory.history("x"),
            lambda: memory.snapshot("s"),
            memory.snapshots,
            lambda: memory.as_of("s"),
            lambda: memory.diff(START),
            lambda: memory.rollback(START),
            lambda: memory.undo(receipt),
            lambda: memory.export(tmp_path / "again.jsonl"),
            lambda: memory.import_(tmp_path / "all.jsonl"),
            lambda: memory.backup(tmp_path / "copy"),
            memory.verify,
            memory.stats,
            memory.maintain,
            lambda: memory.kv.get("k"),
            lambda: memory.kv.set("k", 1),
            lambda: memory.kv.delete("k"),
            memory.kv.keys,
            lambda: memory.kv.update("k", lambda _: 1),
            view.list,
            past.list,
        ]
        for verb in verbs:
            with pytest.raises(Closed, match=r"closed.*open it again"):
                verb()
        assert sorted(path.name for path in tmp_path.glob("*") if path.name in ("again.jsonl", "copy")) == []

    def test_a_batch_that_outlives_its_memory_says_so(self, open_memory: OpenMemory) -> None:
        memory = open_memory()
        with pytest.raises(Closed), memory.batch() as batch:  # noqa: PT012 - the block's end raises
            batch.add("new")
            memory.close()

    def test_closing_twice_is_harmless_and_closes_every_view(self, open_memory: OpenMemory) -> None:
        memory = open_memory()
        memory.scope(user="alice").close()
        memory.close()
        with pytest.raises(Closed):
            memory.count()

    def test_a_block_closes_it(self, open_memory: OpenMemory) -> None:
        with open_memory() as memory:
            memory.add("here")
        with pytest.raises(Closed):
            memory.count()
