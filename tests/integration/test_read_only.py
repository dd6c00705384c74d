"""A memory that can only be read, as on a read-only medium: it is read and searched, and says why it is not written."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.integration.test_faults import Start, hear, somebody

from rememo import Memory
from rememo.errors import ReadOnlyStore
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.readonly import connect_to_read

SENTENCE = "the kettle is red"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder where another user of the machine can reach it."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)
        Path(place).chmod(0o700)


def fill(path: Path, state: str) -> None:
    """Make a file: closed in order, with a log that was left behind, or as a backup."""
    source = path.with_name("source.db")
    with Memory(source) as memory:
        kim = memory.scope(user="kim", room="one")
        kim.messages.add("user", "I live in Lisbon.").wait()
        memory.kv.set("a", 1)
        memory.snapshot("monday")
        memory.add(SENTENCE)
        if state == "backup":
            memory.backup(path)
        for end in {"log": ("", "-wal", "-shm"), "log alone": ("", "-wal")}.get(state, ()):
            shutil.copy(f"{source}{end}", f"{path}{end}")
    if state == "closed":
        source.rename(path)
    else:
        for left in path.parent.glob("source.db*"):
            left.unlink()


def make_read_only(path: Path) -> None:
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)


@pytest.mark.requirement("trouble.disk")
@pytest.mark.parametrize("state", ["closed", "log", "log alone", "backup"])
def test_it_is_read_searched_and_served(folder: Path, start: Start, state: str):
    path = folder / "memory.db"
    fill(path, state)
    make_read_only(path)
    before = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}
    seen = hear(start("read_without_rights", path))
    writes = seen.pop("writes")
    assert seen == {
        "count": 3, "found": SENTENCE, "facts": ["Lisbon"], "context": True, "history": 1, "kv": 1, "past": 2,
        "faults": [], "served": SENTENCE, "pages": [200, 200, 200], "refused": [409, "read_only_store"],
        "maintained": False, "command": [0, True], "doctor": True,
    }  # fmt: skip
    assert len(writes) == 6
    for refusal in writes:
        assert refusal.startswith("read_only_store: ")
        assert str(path) in refusal
        assert "copy the memory to where it can be written" in refusal
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.name in before} == before


def test_what_another_user_writes_meanwhile_is_seen(tmp_path: Path):
    """A file that is opened without locks, since its log cannot be shared, is opened anew when it has changed."""
    path = tmp_path / "memory.db"
    fill(path, "closed")
    with closing(SqliteDatabase(str(path), durability="full", busy_timeout=1)) as reading:
        # As for somebody who may not write here.
        reading._connector.read_only = True  # pyright: ignore[reportPrivateUsage]
        assert reading.value("SELECT count(*) FROM records") == 3
        with Memory(path) as other:
            other.add("one more")
        assert reading.value("SELECT count(*) FROM records") == 4


def test_a_file_of_an_older_release_says_what_to_do(folder: Path, start: Start):
    path = folder / "memory.db"
    path.touch()
    make_read_only(path)
    told = hear(start("without_rights", path, somebody()))
    assert told["type"] == ReadOnlyStore.__name__
    assert "copy it to where it can be written" in told["message"]


def test_what_is_no_database_or_not_there_is_told_as_ever(tmp_path: Path):
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(apsw.NotADBError):
        connect_to_read(str(tmp_path / "text"))
    with pytest.raises(apsw.CantOpenError):
        connect_to_read(str(tmp_path / "nothing"))
