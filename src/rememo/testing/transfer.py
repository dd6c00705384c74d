"""Export, import and backup: everything can be taken away and brought back without a loss."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from rememo.errors import AlreadyExists, InvalidInput, NotFound, RememoError, StorageError
from rememo.memory import Memory
from rememo.model.record import Record
from rememo.testing.base import OpenMemory, Suite, ids, texts
from rememo.testing.clock import START, ManualClock
from rememo.testing.embedders import FailingEmbedder, WordEmbedder


def fill(memory: Memory, clock: ManualClock) -> None:
    """Write something of everything: versions, ends, labels, vectors, snapshots, keys."""
    alice = memory.scope(user="alice", room="r1", agent="helper")
    alice.add("lives in Porto", id="home", kind="thought", metadata={"a": [1, {"b": "é"}]}, valid_from=START)
    memory.snapshot("early")
    clock.advance(60)
    alice.update("home", text="lives in Lisbon", pinned=True)
    memory.add("gone", id="gone", kind="post", source="test", trust=0.5, importance=0.25)
    memory.delete("gone")
    clock.advance(60)
    memory.scope(user="bob").add("his own", id="bob", kind="post", embedding=[0.0] * 15 + [1.0], occurred_at=START)
    memory.add("short", id="short", ttl=30)
    memory.add("long", id="long", ttl=6000)
    clock.advance(60)
    memory.add("again", id="gone")
    memory.kv.set("plain", {"n": 1})
    alice.kv.set("step", 3, ttl=600, sliding=True)
    alice.kv.set("step", 4, ttl=600, sliding=True)
    memory.snapshot("late")


def memory_contents(memory: Memory) -> dict[str, Any]:
    """Return all that the public surface shows of a tenant."""
    names = ("home", "gone", "bob", "short", "long")
    alice = memory.scope(user="alice", room="r1", agent="helper")
    return {
        "versions": {id: _without_tenant(memory.history(id)) for id in names},
        "now": ids(memory.list()),
        "early": texts(memory.as_of("early").list()),
        "late": texts(memory.as_of("late").list()),
        "snapshots": memory.snapshots(),
        "kv": (memory.kv.get("plain"), alice.kv.get("step"), alice.kv.version("step")),
        "words": [texts(memory.search(word, mode="words")) for word in ("Porto", "Lisbon", "gone", "again", "own")],
        "old words": texts(memory.as_of("early").search("Porto", mode="words")),
        "nearest": [(hit.id, round(hit.score, 5)) for hit in memory.similar([0.0] * 15 + [1.0])],
        "counts": (memory.stats().versions, memory.stats().vectors, memory.stats().kinds),
    }


def _without_tenant(records: list[Record]) -> list[dict[str, Any]]:
    values = [record.to_dict() for record in records]
    for value in values:
        del value["scope"]["tenant"]
    return values


def write_export(path: Path, lines: list[dict[str, Any]], counts: dict[str, int] | None = None) -> Path:
    """Write lines as an export with the right checksum, as a foreign program might."""
    body = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    end = {"end": counts or {}, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    path.write_text(body + json.dumps(end) + "\n", encoding="utf-8")
    return path


class TransferSuite(Suite):
    """`export` and `import_`."""

    def test_a_round_trip_loses_nothing(self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path) -> None:
        memory = open_memory("from")
        fill(memory, clock)
        wrote = memory.export(tmp_path / "all.jsonl", plain=True)
        assert (wrote.versions, wrote.snapshots, wrote.keys) == (memory.stats().versions, 2, 2)
        other = open_memory("to")
        assert other.import_(tmp_path / "all.jsonl") == wrote
        assert memory_contents(other) == memory_contents(memory)
        assert other.verify().ok
        # What comes out again is what went in.
        other.export(tmp_path / "again.jsonl", plain=True)
        first = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()[1:-1]
        again = (tmp_path / "again.jsonl").read_text(encoding="utf-8").splitlines()[1:-1]
        assert again == first

    def test_a_moved_memory_goes_on_as_if_nothing_had_happened(
        self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path
    ) -> None:
        memory = open_memory("from")
        fill(memory, clock)
        memory.export(tmp_path / "all.jsonl", plain=True)
        other = open_memory("to")
        other.import_(tmp_path / "all.jsonl")
        receipt = other.update("home", text="lives in Faro")
        assert receipt.version == 3
        assert receipt.recorded_at is not None
        assert receipt.recorded_at > max(other.snapshots().values())
        assert ids(other.search("Faro", mode="words")) == ["home"]
        other.rollback("late")
        assert other.get("home").text == "lives in Lisbon"
        assert other.verify().ok

    def test_the_header_names_format_version_and_settings(self, memory: Memory, tmp_path: Path) -> None:
        memory.add("here")
        memory.export(tmp_path / "all.jsonl", plain=True)
        header = json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()[0])
        assert (header["format"], header["version"]) == ("rememo-export", 1)
        assert header["settings"]["max_text_bytes"] == 1_048_576
        assert header["model"] == {"name": "test-words", "dimension": 16}

    def test_repeating_an_import_is_harmless(self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path) -> None:
        memory = open_memory("from")
        fill(memory, clock)
        memory.export(tmp_path / "all.jsonl", plain=True)
        other = open_memory("to")
        other.import_(tmp_path / "all.jsonl")
        before = memory_contents(other)
        again = other.import_(tmp_path / "all.jsonl")
        assert (again.versions, again.snapshots, again.keys, again.jobs) == (0, 0, 0, 0)
        assert memory_contents(other) == before
        memory.import_(tmp_path / "all.jsonl")
        assert memory_contents(memory) == before

    def test_into_a_living_store(self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path) -> None:
        memory = open_memory("from")
        fill(memory, clock)
        memory.export(tmp_path / "all.jsonl", plain=True)
        other = open_memory("to")
        other.add("was here before", id="mine")
        other.import_(tmp_path / "all.jsonl")
        assert other.get("mine").text == "was here before"
        assert other.get("home").text == "lives in Lisbon"
        assert other.verify().ok

    def test_a_later_export_brings_an_older_copy_up_to_date(
        self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path
    ) -> None:
        memory, copy = open_memory("from"), open_memory("to")
        memory.add("1", id="x")
        memory.add("gone", id="y")
        memory.export(tmp_path / "one.jsonl")
        copy.import_(tmp_path / "one.jsonl")
        clock.advance(60)
        memory.update("x", text="2")
        memory.delete("y")
        memory.export(tmp_path / "two.jsonl")
        copy.import_(tmp_path / "two.jsonl")
        assert copy.history("x") == memory.history("x")
        assert copy.history("y") == memory.history("y")
        copy.import_(tmp_path / "one.jsonl")
        assert copy.history("x") == memory.history("x")
        assert copy.search("gone") == []
        assert copy.verify().ok

    def test_one_that_contradicts_a_record_here_changes_nothing(
        self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path
    ) -> None:
        memory, other = open_memory("from"), open_memory("to")
        memory.add_many([{"text": "new", "id": "a"}, {"text": "theirs", "id": "x"}])
        memory.export(tmp_path / "all.jsonl", plain=True)
        clock.advance(60)
        other.add("mine", id="x")
        with pytest.raises(AlreadyExists, match=r"'x'.*another tenant or file"):
            other.import_(tmp_path / "all.jsonl")
        assert texts(other.list()) == ["mine"]

    def test_into_another_tenant(self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path) -> None:
        memory = open_memory()
        fill(memory, clock)
        memory.export(tmp_path / "all.jsonl", plain=True)
        acme = memory.scope(tenant="acme")
        acme.import_(tmp_path / "all.jsonl")
        assert memory_contents(acme) == memory_contents(memory)
        assert {record.scope.tenant for record in acme.list()} == {"acme"}

    def test_a_scope_is_exported_alone_and_cannot_be_left_by_an_import(
        self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path
    ) -> None:
        memory = open_memory("from")
        fill(memory, clock)
        alice = memory.scope(user="alice")
        wrote = alice.export(tmp_path / "alice.jsonl")
        assert (wrote.versions, wrote.snapshots, wrote.keys) == (2, 0, 0)
        other = open_memory("to")
        with pytest.raises(InvalidInput, match="outside this view's scope"):
            other.scope(user="bob").import_(tmp_path / "alice.jsonl")
        assert other.count() == 0
        other.scope(user="alice").import_(tmp_path / "alice.jsonl")
        assert ids(other.list()) == ["home"]

    def test_vectors_of_another_model_are_made_anew(self, open_memory: OpenMemory, tmp_path: Path) -> None:
        memory = open_memory("from", embedder=WordEmbedder("first-model", 8))
        memory.add("red boat")
        memory.export(tmp_path / "all.jsonl", plain=True)
        other = open_memory("to")
        other.import_(tmp_path / "all.jsonl")
        [vector] = WordEmbedder().embed(["red boat"])
        assert vector is not None
        assert other.similar(vector.tolist())[0].score == pytest.approx(1.0, abs=1e-5)
        assert other.verify().ok
        bare = open_memory("bare", embedder=None)
        bare.import_(tmp_path / "all.jsonl")
        assert bare.stats().vectors == 0
        assert texts(bare.search("boat")) == ["red boat"]

    def test_open_jobs_move_along(self, open_memory: OpenMemory, tmp_path: Path) -> None:
        memory = open_memory("from", embedder=FailingEmbedder())
        memory.add("owed a vector", learn=False)
        assert memory.export(tmp_path / "all.jsonl").jobs == 1
        other = open_memory("to", embedder=FailingEmbedder())
        assert other.import_(tmp_path / "all.jsonl").jobs == 1
        assert other.stats().jobs == {"waiting": 1}
        assert other.import_(tmp_path / "all.jsonl").jobs == 0
        assert other.verify().ok

    def test_many_records(self, open_memory: OpenMemory, tmp_path: Path) -> None:
        memory = open_memory("from")
        memory.add_many([f"number {number}" for number in range(1_203)])
        memory.export(tmp_path / "all.jsonl", plain=True)
        other = open_memory("to")
        assert other.import_(tmp_path / "all.jsonl").versions == 1_203
        assert texts(other.list(limit=2_000)) == texts(memory.list(limit=2_000))

    def test_an_export_never_overwrites(self, memory: Memory, tmp_path: Path) -> None:
        target = tmp_path / "there.jsonl"
        target.write_text("precious", encoding="utf-8")
        with pytest.raises(AlreadyExists, match=r"there.jsonl.*another file"):
            memory.export(target)
        assert target.read_text(encoding="utf-8") == "precious"
        with pytest.raises((InvalidInput, StorageError), match="nowhere"):
            memory.export(tmp_path / "nowhere" / "all.jsonl")
        assert [path.name for path in tmp_path.iterdir()] == ["there.jsonl"] or not list(tmp_path.glob("*.part"))

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\n",
            b"just some text\n",
            b"\x00\xff\xfe binary",
            b'{"format":"other-export","version":1}\n',
            b'["rememo-export"]\n',
            b"[" * 100_000,
            b'{"format":"rememo-export","version":99}\n{"end":{}}\n',
            b'{"format":"rememo-export"}\n',
            b'{"format":"rememo-export","version":1}\n',
        ],
    )
    def test_a_foreign_file_changes_nothing(self, memory: Memory, tmp_path: Path, content: bytes) -> None:
        memory.add("here")
        path = tmp_path / "foreign.jsonl"
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=r"foreign.jsonl"):
            memory.import_(path)
        assert texts(memory.list()) == ["here"]

    def test_a_file_that_is_not_there_is_named(self, memory: Memory, tmp_path: Path) -> None:
        with pytest.raises((InvalidInput, NotFound), match=r"missing.jsonl"):
            memory.import_(tmp_path / "missing.jsonl")
        with pytest.raises(InvalidInput, match="cannot be read"):
            memory.import_(tmp_path)

    def test_a_damaged_file_changes_nothing(self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path) -> None:
        memory = open_memory("from")
        fill(memory, clock)
        memory.export(tmp_path / "all.jsonl", plain=True)
        whole = (tmp_path / "all.jsonl").read_bytes()
        lines = whole.splitlines(keepends=True)
        damaged = {
            "cut in a line": whole[: len(whole) // 2],
            "cut after a line": b"".join(lines[:-1]),
            "a line missing": b"".join(lines[:2] + lines[3:]),
            "lines swapped": b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
            "a letter changed": whole.replace(b"Lisbon", b"Lisbom", 1),
            "goes on": whole + lines[1],
            "another header": lines[1] + b"".join(lines[1:]),
        }
        for name, content in damaged.items():
            other = open_memory(f"to {name}")
            path = tmp_path / f"{name}.jsonl"
            path.write_bytes(content)
            with pytest.raises(InvalidInput, match=name):
                other.import_(path)
            assert (other.count(), other.stats().versions, other.snapshots(), other.stats().keys) == (0, 0, {}, 0)

    @pytest.mark.parametrize(
        "change",
        [
            {"record": {"id": "x"}},
            {"record": None},
            {"record": "text"},
            {"vector": "not base64!"},
            {"vector": "AAAA"},
            {"kind": "rumour"},
            {"text": 7},
            {"text": "nul \x00"},
            {"recorded_at": "yesterday"},
            {"recorded_at": None},
            {"version": 0},
            {"version": "one"},
            {"metadata": ["a"]},
            {"id": ""},
            {"surprise": 1},
        ],
    )
    def test_a_record_that_cannot_be_is_refused_before_anything_is_changed(
        self, open_memory: OpenMemory, tmp_path: Path, change: dict[str, Any]
    ) -> None:
        memory = open_memory("from")
        memory.add_many([{"text": "fine", "id": "a"}, {"text": "changed", "id": "b"}])
        memory.export(tmp_path / "all.jsonl", plain=True)
        lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()]
        if "record" in change or "vector" in change:
            lines[2] |= change
        else:
            lines[2]["record"] |= change
        other = open_memory("to")
        with pytest.raises(InvalidInput):
            other.import_(write_export(tmp_path / "bad.jsonl", lines[:-1]))
        assert other.stats().versions == 0
        assert other.verify().ok

    @pytest.mark.parametrize(
        "line",
        [
            {"kv": {"key": "k"}, "space": "[null,null,null]"},
            {"kv": {"key": "k", "value": "1", "version": 1, "expires_at": None, "sliding": None}},
            {"kv": {"key": "k", "value": "{broken", "version": 1, "expires_at": None, "sliding": None}, "space": "[]"},
            {"kv": None, "space": "x"},
            {"snapshot": "s", "at": "yesterday"},
            {"snapshot": "s"},
            {"job": {"id": "j"}},
            {"job": None},
            {"unknown": 1},
        ],
    )
    def test_an_entry_that_cannot_be_is_refused_before_anything_is_changed(
        self, open_memory: OpenMemory, tmp_path: Path, line: dict[str, Any]
    ) -> None:
        memory = open_memory("from")
        memory.add("fine", id="a")
        memory.export(tmp_path / "all.jsonl", plain=True)
        lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()]
        other = open_memory("to")
        with pytest.raises(InvalidInput):
            other.import_(write_export(tmp_path / "bad.jsonl", [*lines[:-1], line]))
        assert other.stats().versions == 0


class BackupSuite(Suite):
    """`backup`: a copy of the whole store, for backends that keep one themselves."""

    def open_backup(self, open_memory: OpenMemory, path: Path) -> Memory:
        """Open a copy; a backend whose copies open otherwise overrides this."""
        return open_memory(str(path))

    @pytest.mark.requirement("integrity.backup")
    def test_a_copy_holds_everything_and_lives_on_its_own(
        self, open_memory: OpenMemory, clock: ManualClock, tmp_path: Path
    ) -> None:
        memory = open_memory()
        fill(memory, clock)
        memory.scope(tenant="acme").add("another tenant's")
        memory.backup(tmp_path / "copy")
        memory.add("later")
        copy = self.open_backup(open_memory, tmp_path / "copy")
        assert copy.verify().ok
        memory.rollback("late")
        assert memory_contents(copy)["versions"] == memory_contents(memory)["versions"]
        assert texts(copy.scope(tenant="acme").list()) == ["another tenant's"]
        assert copy.search("later", mode="words") == []
        copy.add("only in the copy", id="copied")
        with pytest.raises(NotFound):
            memory.get("copied")

    def test_a_backup_never_overwrites(self, memory: Memory, tmp_path: Path) -> None:
        (tmp_path / "there").write_text("precious", encoding="utf-8")
        with pytest.raises(AlreadyExists, match=r"there.*another file"):
            memory.backup(tmp_path / "there")
        assert (tmp_path / "there").read_text(encoding="utf-8") == "precious"
        with pytest.raises(RememoError, match="nowhere"):
            memory.backup(tmp_path / "nowhere" / "copy")
