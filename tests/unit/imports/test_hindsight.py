"""Hindsight: an archive as its models write it (1.1), and the list that its client returns."""

import json
import zipfile
from pathlib import Path

import pytest

from rememo import Memory
from rememo.errors import InvalidInput
from rememo.imports import import_from

FILES: dict[str, object] = json.loads(
    (Path(__file__).parents[2] / "data" / "imports" / "hindsight_bank.json").read_text()
)
GOOGLE = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    path = tmp_path / "bank.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, json.dumps(content))
    return path


def test_a_bank_that_was_exported(memory: Memory, bank: Path):
    done = import_from(memory, bank, "hindsight")
    assert (done.added, done.left_out) == (
        {"document": 1, "note": 5},
        {"a directive that is switched off": 1, "a fact that was taken back": 1},
    )
    notes = {record.text: record for record in memory.list(kind="note")}
    google = notes["Alice works at Google"]
    assert (google.at.isoformat(), google.metadata) == (
        "2025-05-01T00:00:00+00:00",
        {
            "from": "chat", "fact_type": "world", "context": "career", "tags": ["career"], "document_id": "doc-1",
            "entities": ["Alice", "Google"],
        },
    )  # fmt: skip
    assert notes["Alice is a musician who works in tech"].metadata["fact_type"] == "observation"
    assert notes["Alice is an engineer."].metadata == {"mental_model": "Work", "question": "What does Alice do?"}
    assert [record.text for record in memory.list(pinned=True)] == ["Always answer in metric units."]
    assert [document.title for document in memory.documents.list()] == ["doc-1"]
    assert not memory.search("hushhush", mode="words")
    assert import_from(memory, bank, "hindsight").total == 0


def test_an_archive_that_was_unpacked(memory: Memory, bank: Path, tmp_path: Path):
    with zipfile.ZipFile(bank) as archive:
        archive.extractall(tmp_path / "bank")
    assert import_from(memory, tmp_path / "bank", "hindsight").added == {"document": 1, "note": 5}


@pytest.mark.parametrize("shape", ["page", "pages", "rows"])
def test_memories_that_were_listed_are_the_same_facts(memory: Memory, bank: Path, tmp_path: Path, shape: str):
    row = {"id": GOOGLE, "text": "Alice works at Google", "context": "career", "date": "2025-05-01T00:00:00+00:00",
           "fact_type": "world", "document_id": "doc-1", "entities": "Alice, Google", "proof_count": 1, "tags": ["career"],
           "metadata": {"from": "chat"}, "state": "valid", "occurred_start": "2025-05-01T00:00:00+00:00"}  # fmt: skip
    rows = [row, {"id": "x", "text": "wrong", "state": "invalidated"}, {"id": "y", "text": " "}, "odd"]
    page = {"items": rows, "total": 4, "limit": 100, "offset": 0}
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"page": page, "pages": [page], "rows": rows}[shape]))
    done = import_from(memory, path, "hindsight")
    assert (done.added, done.left_out) == ({"note": 1}, {"a fact without words": 2, "a fact that was taken back": 1})
    [fact] = memory.list(kind="note")
    assert fact.metadata["entities"] == ["Alice", "Google"]
    assert import_from(memory, bank, "hindsight").known == {"note": 1}


def test_an_archive_of_somebody_else_is_refused(memory: Memory, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("conversations.json", "[]")
    with pytest.raises(InvalidInput, match=r"a\.zip has no manifest\.json"):
        import_from(memory, tmp_path / "a.zip", "hindsight")
