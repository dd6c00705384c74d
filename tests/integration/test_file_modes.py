"""Who may read the files that Rememo makes: their owner and nobody else, unless somebody says otherwise."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.cli.test_commands import rememo

from rememo import Keyring, Memory, Settings
from rememo.errors import InvalidInput
from rememo.testing import ManualClock

PLAIN = Settings(durability="fast", worker=False)


@pytest.fixture(params=["000", "077"], autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Under the widest umask and a narrow one alike."""
    before = os.umask(int(request.param, 8))
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def files(folder: Path) -> dict[str, str]:
    return {path.name: mode(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_new_memory_and_its_log_are_their_owners(tmp_path: Path):
    with Memory(tmp_path / "a.db", embedder=None, settings=PLAIN) as memory:
        memory.add("private")
        assert files(tmp_path) == {"a.db": "600", "a.db-shm": "600", "a.db-wal": "600"}


def test_what_leaves_a_memory_is_its_owners(tmp_path: Path):
    (tmp_path / "export.jsonl.part").write_text("left by an earlier attempt")
    (tmp_path / "export.jsonl.part").chmod(0o644)
    clock = ManualClock()
    settings = PLAIN.but(audit=True, archive=str(tmp_path / "archive" / "here"))
    with Memory(tmp_path / "a.db", embedder=None, settings=settings, clock=clock) as memory:
        memory.add("private")
        memory.backup(tmp_path / "backup.db")
        memory.export(tmp_path / "export.jsonl")
        memory.audit.export(tmp_path / "audit.jsonl")
        memory.retention.set("old", kind="note", older_than="30d", archive="all", allow_all=True)
        clock.advance(31 * 86_400)
        assert memory.maintain().ok
        assert memory.archive.list()
    found = files(tmp_path)
    assert {"backup.db", "export.jsonl", "audit.jsonl"} < set(found)
    assert len(found) == 6
    assert set(found.values()) == {"600"}
    assert {mode(path) for path in (tmp_path / "archive").rglob("*") if path.is_dir()} == {"700"}


def test_a_backup_of_a_memory_without_a_file_is_its_owners(tmp_path: Path):
    with Memory(":memory:", embedder=None, settings=PLAIN) as memory:
        memory.backup(tmp_path / "backup.db")
    assert files(tmp_path) == {"backup.db": "600"}


def test_what_commands_write_is_its_owners(tmp_path: Path):
    path = tmp_path / "a.db"
    with Memory(path, embedder=None, settings=PLAIN) as memory:
        memory.add("private")
    path.chmod(0o644)
    for command in (["backup", path, tmp_path / "b.db"], ["restore", tmp_path / "b.db", tmp_path / "c.db"],
                    ["repair", path, tmp_path / "d.db"], ["export", path, tmp_path / "e.jsonl"],
                    ["encryption", "new-key", tmp_path / "key"]):  # fmt: skip
        done = rememo(*command)
        assert done.returncode == 0, done.stderr
    found = files(tmp_path)
    assert found.pop("a.db") == "644"  # it was there, and keeps what it had
    assert set(found) == {"b.db", "c.db", "d.db", "e.jsonl", "key"}
    assert set(found.values()) == {"600"}
    assert Keyring.from_file(tmp_path / "key")
    assert "is there already" in rememo("encryption", "new-key", tmp_path / "key").stderr


def test_others_may_be_let_in(tmp_path: Path):
    settings = PLAIN.but(file_mode="640", archive=str(tmp_path / "archive"))
    with Memory(tmp_path / "a.db", embedder=None, settings=settings) as memory:
        memory.add("shared with a group")
        memory.backup(tmp_path / "backup.db")
        memory.export(tmp_path / "export.jsonl")
        memory.archive.list()
        assert set(files(tmp_path).values()) == {"640"}
        assert mode(tmp_path / "archive") == "750"
    for wrong in ("rw", "777", "", "400", "06000", 600):
        with pytest.raises(InvalidInput, match="file_mode"):
            Settings(file_mode=wrong)  # pyright: ignore[reportArgumentType] - one of them
    assert Settings.load(environ={"REMEMO_FILE_MODE": "0660"}).file_permissions == 0o660


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path):
    path, link = tmp_path / "a.db", tmp_path / "link.db"
    path.touch()
    path.chmod(0o664)
    link.symlink_to(tmp_path / "elsewhere.db")
    for place in (path, link):
        with Memory(place, embedder=None, settings=PLAIN) as memory:
            memory.add("x")
    assert mode(path) == "664"
    assert mode(tmp_path / "elsewhere.db") == "600"


def test_a_key_file_that_others_can_read_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "key"
    path.write_text(Keyring.new_key())
    for bits in (0o600, 0o400):
        path.chmod(bits)
        Keyring.from_file(path)
    assert caplog.records == []
    for bits in (0o640, 0o604):
        path.chmod(bits)
        with caplog.at_level(logging.WARNING, "rememo.encrypt"):
            Keyring.from_file(path)
        assert f"chmod 600 {path}" in caplog.text
        caplog.clear()
