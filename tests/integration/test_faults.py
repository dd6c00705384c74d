"""Trouble with the file: each kind is named by a typed error, nothing is changed, and nothing is reset in silence."""

import json
import os
import random
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from rememo import Memory
from rememo.errors import Busy, Corrupt, DiskFull, IncompatibleStore, RememoError, StorageError
from rememo.settings import Settings
from rememo.store.migrations import required_migration
from rememo.store.sqlite.connection import connect
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.errors import translate
from rememo.store.sqlite.migrate import APPLICATION_ID, RECORD, TABLE, Migration, migrations

Process = subprocess.Popen[str]
Start = Callable[..., Process]
NOBODY = 65534


def hear(process: Process) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"the process ended ({process.wait()}) where it should have said something"
    return json.loads(line)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def filled(path: Path) -> Path:
    with Memory(path, embedder=None) as memory:
        memory.add_many([{"text": f"entry{number} about Lisbon", "id": f"id-{number}"} for number in range(400)])
        memory.update("id-1", text="changed")
        memory.kv.set("key", 1)
        memory.snapshot("then")
    return path


def run_sql(path: Path, *statements: str) -> None:
    """Change a file behind Rememo's back."""
    connection = connect(str(path))
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def ask(path: Path, question: str) -> Any:
    connection = connect(str(path))
    try:
        return connection.execute(question).get
    finally:
        connection.close()


# ---- no room


@pytest.mark.requirement("trouble.disk")
def test_the_largest_file_allowed_is_an_error_that_changes_nothing(path: Path):
    with Memory(path, embedder=None, settings=Settings(max_file_bytes=1_000_000)) as memory:
        ids: list[str] = []

        def fill() -> None:
            while True:
                ids.append(memory.add(f"entry{len(ids)} " + "x" * 5_000).id)

        with pytest.raises(DiskFull, match=r"no room left to write .*memory\.db; nothing was changed: free some space"):
            fill()
        with pytest.raises(DiskFull):
            memory.add_many([f"entry{number} " + "x" * 5_000 for number in range(50)])
        assert memory.count() == len(ids) > 20
        assert [memory.get(id).id for id in ids] == ids
        assert memory.verify().faults == ()
    with Memory(path, embedder=None) as memory:
        memory.add("there is room again")
        assert memory.count() == len(ids) + 1
        assert memory.verify().faults == ()


@pytest.mark.requirement("trouble.disk")
def test_one_write_too_large_does_not_take_others_with_it(path: Path):
    settings = Settings(max_file_bytes=1_000_000, compress_above=0)
    with Memory(path, embedder=None, settings=settings) as memory:
        memory.add("small enough")
        with pytest.raises(DiskFull):
            memory.add("x" * 1_000_000)
        memory.add("small again")
        assert memory.count() == 2
        assert memory.verify().faults == ()


@pytest.mark.requirement("trouble.disk")
def test_a_shared_index_that_cannot_grow_is_a_full_disk():
    error = apsw.IOError("disk I/O error")
    vars(error)["extendedresult"] = apsw.SQLITE_IOERR_SHMSIZE
    assert isinstance(translate(error, "a.db"), DiskFull)


def test_a_limit_of_the_operating_system_is_a_full_disk(path: Path, start: Start):
    told = hear(start("run_out_of_room", path, 3_000_000))
    assert told["failed"]["type"] == "DiskFull"
    assert str(path) in told["failed"]["message"]
    assert told["readable"] == told["added"] > 20
    assert told["count"] == told["added"] + 1
    assert told["faults"] == []
    with Memory(path, embedder=None) as memory:
        assert memory.count() == told["added"] + 2
        assert memory.verify().faults == ()


# ---- no rights, no place


@pytest.fixture
def public(filled: Path) -> Generator[Path]:
    """A filled file where another user of the machine can reach it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        place = Path(folder) / "memory.db"
        shutil.copy(filled, place)
        place.chmod(0o666)
        yield place
        Path(folder).chmod(0o777)


def somebody() -> object:
    """Return a user without rights: root may do everything, so its tests step down."""
    return NOBODY if os.geteuid() == 0 else "same"


@pytest.mark.requirement("trouble.disk")
def test_a_read_only_file_says_so(public: Path, start: Start):
    before = public.read_bytes()
    public.chmod(0o444)
    told = hear(start("without_rights", public, somebody()))
    assert told["count"] > 0
    assert told["type"] == "ReadOnlyStore"
    assert str(public) in told["message"]
    assert "read-only" in told["message"]
    assert public.read_bytes() == before


@pytest.mark.requirement("trouble.disk")
def test_a_read_only_folder_says_so(public: Path, start: Start):
    before = public.read_bytes()
    public.parent.chmod(0o555)
    told = hear(start("without_rights", public, somebody()))
    assert told["count"] > 0
    assert told["type"] == "ReadOnlyStore"
    assert "folder" in told["message"]
    assert public.read_bytes() == before


@pytest.mark.requirement("trouble.disk")
def test_a_file_that_may_not_be_read_says_so(public: Path, start: Start):
    public.chmod(0o000)
    told = hear(start("without_rights", public, somebody()))
    assert told["type"] == "StorageError"
    assert str(public) in told["message"]


def test_a_missing_folder_and_a_folder_in_place_of_a_file_are_named(tmp_path: Path):
    with pytest.raises(StorageError, match="check that its folder exists"):
        Memory(tmp_path / "nowhere" / "memory.db", embedder=None)
    with pytest.raises(StorageError, match="cannot be opened"):
        Memory(tmp_path, embedder=None)
    assert list(tmp_path.iterdir()) == []


def test_a_backup_that_cannot_be_written_is_named_and_leaves_nothing(filled: Path, tmp_path: Path):
    with Memory(filled, embedder=None) as memory:
        with pytest.raises(StorageError, match="nowhere"):
            memory.backup(tmp_path / "nowhere" / "copy.db")
        with pytest.raises(RememoError, match="nowhere"):
            memory.export(tmp_path / "nowhere" / "copy.jsonl")
        memory.add("goes on")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.db"]


# ---- files that are not ours


def _sqlite_of_another_program(path: Path) -> None:
    run_sql(path, "CREATE TABLE customers (name TEXT)", "INSERT INTO customers VALUES ('Alice')")


def _text(path: Path) -> None:
    path.write_text("Dear diary, today I moved to Lisbon.\n" * 400, encoding="utf-8")


def _short_text(path: Path) -> None:
    path.write_text("notes", encoding="utf-8")


def _noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(50_000))


@pytest.mark.requirement("trouble.corruption")
@pytest.mark.parametrize("make", [_sqlite_of_another_program, _text, _short_text, _noise])
def test_a_file_of_another_program_is_refused_untouched(path: Path, make: Callable[[Path], None]):
    make(path)
    before = path.read_bytes()
    with pytest.raises(IncompatibleStore, match=str(path)):
        Memory(path, embedder=None)
    assert path.read_bytes() == before
    assert [path.name for path in path.parent.iterdir()] == ["memory.db"]


def test_an_empty_file_is_a_new_one(path: Path):
    """It holds nothing that could be lost, and is what a process leaves that was killed while making the file."""
    path.touch()
    with Memory(path, embedder=None) as memory:
        memory.add("works")
    with Memory(path, embedder=None) as memory:
        assert memory.count() == 1


@pytest.mark.requirement("trouble.corruption")
@pytest.mark.parametrize("gone", [False, True])
def test_a_log_whose_file_is_empty_or_gone_is_not_thrown_away(path: Path, start: Start, gone: bool):
    """SQLite would take the empty file for a new one and remove the log, with everything in it."""
    maker = start("acknowledge", path, 1)
    for _ in range(30):
        hear(maker)
    maker.kill()
    maker.wait()
    log = Path(f"{path}-wal")
    before = log.read_bytes()
    assert before
    path.unlink() if gone else path.write_bytes(b"")
    with pytest.raises(Corrupt, match=r"its log .*-wal is not; nothing was changed"):
        Memory(path, embedder=None)
    assert log.read_bytes() == before


# ---- damage


@pytest.mark.requirement("trouble.corruption")
def test_a_truncated_file_is_refused_untouched(filled: Path):
    whole = filled.read_bytes()
    filled.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Corrupt, match="rememo repair"):
        Memory(filled, embedder=None)
    assert filled.read_bytes() == whole[: len(whole) // 2]


@pytest.mark.requirement("trouble.corruption")
def test_a_damaged_first_page_is_refused_untouched(filled: Path):
    whole = bytearray(filled.read_bytes())
    whole[:16] = b"\0" * 16
    filled.write_bytes(whole)
    with pytest.raises(IncompatibleStore, match="first page is damaged"):
        Memory(filled, embedder=None)
    assert filled.read_bytes() == whole


@pytest.mark.requirement("trouble.corruption")
def test_a_lost_schema_is_damage_and_not_a_new_file(filled: Path):
    run_sql(filled, "DROP TABLE migrations")
    with pytest.raises(Corrupt, match="lost its schema"):
        Memory(filled, embedder=None)


@pytest.mark.requirement("trouble.corruption", "integrity.validate")
def test_verify_names_content_that_was_changed_behind_its_back(filled: Path):
    run_sql(filled, "UPDATE records SET text = 'not what was said' WHERE id = 'id-7'")
    with Memory(filled, embedder=None) as memory:
        assert any("id-7" in fault and "what was written" in fault for fault in memory.verify().faults)


@pytest.mark.requirement("trouble.corruption")
@pytest.mark.parametrize(
    "damage", ["data = '{\"cut'", "created_at = 9000000000000000000", "text = CAST(x'fffe' AS TEXT)"]
)
def test_a_record_that_cannot_be_one_is_named_as_damage(filled: Path, damage: str):
    run_sql(filled, f"UPDATE records SET {damage} WHERE id = 'id-7'")
    with Memory(filled, embedder=None) as memory:
        for read in (lambda: memory.get("id-7"), lambda: memory.list(limit=1000), lambda: memory.history("id-7")):
            with pytest.raises(Corrupt, match="rememo repair"):
                read()
        assert memory.get("id-8").text == "entry8 about Lisbon"
        assert any("id-7" in fault or "contents" in fault for fault in memory.verify().faults)


@pytest.mark.requirement("trouble.corruption", "integrity.validate")
@pytest.mark.parametrize("seed", range(12))
def test_no_verb_on_a_damaged_file_raises_anything_but_ours(filled: Path, tmp_path: Path, seed: int):
    """Whatever damage does to the pages, a caller sees typed errors or right answers, and `verify` tells of it."""
    whole = bytearray(filled.read_bytes())
    dice = random.Random(seed)
    pages = list(range(1, len(whole) // 4096))
    for page in dice.sample(pages, len(pages) // 6):
        size = dice.choice((16, 400, 4096))
        place = page * 4096 + dice.randrange(4096 - size + 1)
        whole[place : place + size] = dice.randbytes(size) if dice.random() < 0.7 else b"\0" * size
    filled.write_bytes(whole)
    try:
        memory = Memory(filled, embedder=None)
    except (Corrupt, IncompatibleStore):
        return
    verbs: list[Callable[[], object]] = [
        lambda: memory.get("id-3"),
        lambda: [memory.get(f"id-{number}") for number in range(0, 400, 3)],
        lambda: memory.list(limit=1000),
        lambda: memory.list(metadata={"a": 1}),
        memory.count,
        lambda: memory.search("entry7 Lisbon"),
        lambda: memory.search("Lisbon", known_at=memory.snapshots()["then"]),
        lambda: memory.history("id-1"),
        memory.rooms,
        memory.users,
        memory.agents,
        memory.snapshots,
        lambda: memory.snapshot("now"),
        lambda: memory.diff("then"),
        lambda: memory.add("one more"),
        lambda: memory.add("one more", id="id-9", on_conflict="replace"),
        lambda: memory.add("one more", key="key"),
        lambda: memory.add_many(["one", "two"]),
        lambda: memory.update("id-11", text="changed"),
        lambda: memory.delete("id-12"),
        lambda: memory.delete_where(kind="note"),
        lambda: memory.rollback("then"),
        memory.clear,
        lambda: memory.kv.get("key"),
        lambda: memory.kv.set("key", 2),
        lambda: memory.kv.update("key", lambda value: value),
        memory.kv.keys,
        lambda: memory.kv.delete("key"),
        lambda: memory.kv.invalidate("*"),
        memory.stats,
        memory.maintain,
        lambda: memory.export(tmp_path / "out.jsonl"),
        lambda: memory.backup(tmp_path / "out.db"),
    ]
    with memory:
        assert memory.verify().faults
        for verb in verbs:
            with suppress(RememoError):
                verb()
        assert memory.verify().faults


def test_a_lost_or_spoiled_log_after_a_clean_close_does_no_harm(filled: Path):
    log = Path(f"{filled}-wal")
    assert not log.exists(), "a clean close moves the log into the file"
    log.write_bytes(random.Random(2).randbytes(40_000))
    Path(f"{filled}-shm").write_bytes(b"\1" * 32_768)
    with Memory(filled, embedder=None) as memory:
        assert memory.count() == 400
        memory.add("goes on")
        assert memory.verify().faults == ()
    with Memory(filled, embedder=None) as memory:
        assert memory.count() == 401


# ---- schemas of other days


def make_old_file(path: Path, steps: Sequence[Migration]) -> None:
    """Make a file as a release that knew only these steps made it."""
    run_sql(
        path,
        f"PRAGMA application_id = {APPLICATION_ID}",
        TABLE,
    )
    connection = connect(str(path))
    for step in steps:
        for _ in connection.execute(step.sql):
            pass
        connection.execute(RECORD, (step.number, step.name, step.hash, step.phase))
    connection.pragma("user_version", required_migration({step.number: (step.hash, step.phase) for step in steps}))
    connection.close()


def schema(path: Path) -> list[Any]:
    connection = connect(str(path))
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
    connection.close()
    return rows


def test_a_fresh_schema_is_all_migrations_one_by_one(tmp_path: Path):
    with Memory(tmp_path / "fresh.db", embedder=None):
        pass
    make_old_file(tmp_path / "old.db", migrations())
    assert schema(tmp_path / "fresh.db") == schema(tmp_path / "old.db")


@pytest.mark.parametrize("known", range(1, len(migrations()) + 1))
def test_a_file_of_yesterday_opens_and_is_brought_up_to_date(path: Path, tmp_path: Path, known: int):
    make_old_file(path, migrations()[:known])
    with Memory(tmp_path / "fresh.db", embedder=None):
        pass
    with Memory(path) as memory:
        memory.add("written by today's release")
        assert memory.count() == 1
        assert memory.verify().faults == ()
    assert schema(path) == schema(tmp_path / "fresh.db")
    assert ask(path, "PRAGMA user_version") == ask(tmp_path / "fresh.db", "PRAGMA user_version")
    needed = [step.number for step in migrations() if step.phase == "contract"]
    assert ask(path, "PRAGMA user_version") == max(needed)
    assert ask(path, "SELECT count(*) FROM migrations") == len(migrations())


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO migrations VALUES (9001, '9001_later', 'hash', 'contract')",
        "PRAGMA user_version = 9001",
    ],
)
def test_a_file_from_the_future_is_refused_untouched(filled: Path, change: str):
    run_sql(filled, change)
    before = filled.read_bytes()
    with pytest.raises(IncompatibleStore, match=r"newer Rememo \(schema 9001, .* upgrade rememo"):
        Memory(filled, embedder=None)
    assert filled.read_bytes() == before


def test_a_changed_migration_is_refused_untouched(filled: Path):
    run_sql(filled, "UPDATE migrations SET hash = 'another' WHERE number = 1")
    before = filled.read_bytes()
    with pytest.raises(IncompatibleStore, match="changed migration"):
        Memory(filled, embedder=None)
    assert filled.read_bytes() == before


# ---- promises of durability, and waiting


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("fast", 1)])
def test_commits_wait_for_the_disk_as_promised(path: Path, durability: str, synchronous: int):
    database = SqliteDatabase(str(path), durability=durability, busy_timeout=1)
    try:
        assert database.write(lambda connection: connection.pragma("synchronous")) == synchronous
        assert database.write(lambda connection: connection.pragma("journal_mode")) == "wal"
    finally:
        database.close()
    assert Settings().durability == "full"


@pytest.mark.requirement("process.safe")
def test_a_writer_that_waited_too_long_is_told_and_loses_nothing(filled: Path, start: Start):
    holder = start("hold", filled)
    assert hear(holder) == "ready"
    with Memory(filled, embedder=None, settings=Settings(busy_timeout=0.1)) as memory:
        with pytest.raises(Busy, match=f"{filled} was held by another writer"):
            memory.update("id-3", text="must wait")
        with pytest.raises(Busy):
            memory.kv.set("key", 2)
        assert memory.get("id-3").text == "entry3 about Lisbon"
        assert holder.stdin is not None
        holder.stdin.write("go\n")
        assert hear(holder) == "released"
        memory.update("id-3", text="had its turn")
        assert memory.get("id-3").text == "had its turn"
        assert memory.verify().faults == ()


def test_new_files_are_not_open_to_the_whole_world_beyond_the_users_mask(path: Path):
    with Memory(path, embedder=None):
        pass
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) & ~(0o666 & ~mask) == 0
