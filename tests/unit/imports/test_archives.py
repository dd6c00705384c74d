"""Archives: read as they were downloaded, in folders and in one another, and never more of them than an export holds."""

import io
import json
import zipfile
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.errors import InvalidInput
from rememo.imports import import_from

Pack = Callable[[str, dict[str, Any]], Path]
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def talk(*parts: Any) -> dict[str, Any]:
    """Return a conversation of ChatGPT with one message."""
    message = {"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": list(parts)}}
    return {"id": str(parts[0])[:20], "current_node": "n", "mapping": {"n": {"message": message, "parent": None}}}


def test_archives_in_a_folder_or_in_an_archive_are_read(memory: Memory, tmp_path: Path, pack: Pack):
    (tmp_path / "got").mkdir()
    for number in range(2):
        words = f"Number {number}"
        pack(
            f"got/conversations-00{number}.zip",
            {"x.json": 1, f"conversations-00{number}.json": [talk(words)]},
        )
    assert import_from(memory, tmp_path / "got", "chatgpt-export").added == {"message": 2}
    inner = {path.name: path.read_bytes() for path in (tmp_path / "got").iterdir()}
    again = import_from(memory, pack("all.zip", inner), "chatgpt-export")
    assert (again.known, again.left_out) == ({"message": 2}, {"a file beside the conversations, which is not read": 2})


def test_a_damaged_archive_is_named_wherever_it_lies(memory: Memory, tmp_path: Path, pack: Pack):
    whole = pack("whole.zip", {"conversations.json": [talk("word " * 400)]}).read_bytes()
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "conversations-000.zip").write_bytes(whole[:-30])
    with pytest.raises(InvalidInput, match=r"damaged archive: conversations-000\.zip: "):
        import_from(memory, tmp_path / "got", "chatgpt-export")
    (tmp_path / "hole.zip").write_bytes(whole[:60] + b"\xff" * 40 + whole[100:])
    with pytest.raises(InvalidInput, match=r"hole\.zip is a damaged archive"):
        import_from(memory, tmp_path / "hole.zip", "chatgpt-export")


def test_a_name_that_stands_twice_in_an_archive_is_read(memory: Memory, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([talk("Hi")]))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("conversations.json", json.dumps([talk("Hi")]))
    assert import_from(memory, tmp_path / "twice.zip", "chatgpt-export").added == {"message": 1}


def test_no_path_leads_out_of_an_export(memory: Memory, tmp_path: Path, pack: Pack):
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (tmp_path / "out").mkdir()
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Abc"}
    question = talk("See", pointer)
    (tmp_path / "out" / "conversations.json").write_text(json.dumps([question]))
    (tmp_path / "out" / "file-Abc-x.png").symlink_to(tmp_path / "secret.png")
    done = import_from(memory, tmp_path / "out", "chatgpt-export")
    assert done.left_out == {"an image that is not in the export, or too large": 1}
    before = {*tmp_path.rglob("*")}
    outside = pack("up.zip", {"../../conversations.json": [talk("Up")], "/etc/file-Abc.png": PIXEL})
    assert import_from(memory, outside, "chatgpt-export").added == {"message": 1}
    assert {*tmp_path.rglob("*")} - before == {outside}


@pytest.mark.parametrize("nested", [False, True])
def test_an_archive_that_swells_is_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool
):
    monkeypatch.setattr("rememo.imports.folder._MIN_UNPACKED", 1 << 20)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (16 << 20) + b"]")
    path = tmp_path / "bomb.zip"
    path.write_bytes(packed.getvalue())
    if nested:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("conversations-000.zip", packed.getvalue())
    with pytest.raises(InvalidInput, match=r"bomb\.zip holds more than 200 times its own size"):
        import_from(memory, path, "chatgpt-export")


def test_an_entry_larger_than_memory_should_hold_is_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rememo.imports.source_path._MAX_ENTRY", 1 << 20)
    small, large = talk("Small"), talk("x" * (2 << 20))
    (tmp_path / "conversations.json").write_text(json.dumps([small, large]))
    with pytest.raises(InvalidInput, match=r"conversations\.json has an entry of more than 1 MB"):
        import_from(memory, tmp_path, "chatgpt-export")
    lines = [{"text": "x" * (1 << 20)}, {"text": "y" * (3 << 20)}, {"text": "short"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = import_from(memory, tmp_path / "a.jsonl", "jsonl")
    assert (done.added, done.left_out) == ({"note": 1}, {"a line that is no JSON object": 2})


def test_a_backup_of_openmemory_is_what_mem0_keeps(memory: Memory, pack: Pack, tmp_path: Path):
    def kept(id: str, words: str, state: str = "active") -> dict[str, Any]:
        return {"id": id, "user_id": "row-7", "app_id": "app-1", "content": words, "metadata": {"topic": "sea"}, "state": state,
                "created_at": "2026-03-01T10:00:00+00:00", "archived_at": None, "deleted_at": None, "category_ids": ["c"]}  # fmt: skip

    backup = {"user": {"id": "row-7", "user_id": "ana", "name": None}, "apps": [], "categories": [{"id": "c", "name": "sport"}],
              "memories": [kept("m1", "Sails on Sundays"), kept("m2", "Once rowed", "archived"), kept("m3", "Gone", "deleted")],
              "export_meta": {"version": "1"}}  # fmt: skip
    path = pack("memories_export_ana.zip", {"memories.json": backup, "memories.jsonl.gz": b"\x1f\x8b"})
    done = import_from(memory, path, "mem0")
    assert (done.added, done.left_out) == ({"note": 2}, {"a memory that mem0 deleted": 1})
    assert [(record.id, record.text, record.metadata) for record in memory.scope(user="ana").list()] == [
        ("m1", "Sails on Sundays", {"topic": "sea"}),
        ("m2", "Once rowed", {"topic": "sea", "state": "archived"}),
    ]
    (tmp_path / "memories.json").write_text(json.dumps(backup))
    assert import_from(memory, tmp_path / "memories.json", "mem0").known == {"note": 2}
    with pytest.raises(InvalidInput, match=r"talks\.zip has no memories\.json"):
        import_from(memory, pack("talks.zip", {"conversations.json": []}), "mem0")
