"""What somebody with the file in his hands can do to the audit trail, and what verify says of it."""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rememo import AsyncMemory, Memory, Settings
from rememo.engine.opening import repair_file
from rememo.model.audit import Intent
from rememo.store.audit_chain import AuditRow, first_hash, hash_row
from rememo.store.sqlite.connection import Connection, connect

AUDITED = Settings(durability="fast", audit=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a trail of ten lines."""
    path = tmp_path / "memory.db"
    with Memory(path, embedder=None, settings=AUDITED) as memory, memory.acting(actor="alice", address="10.0.0.5"):
        for number in range(10):
            memory.scope(user="alice").add(f"said {number}", id=f"x{number}")
    return path


@pytest.fixture
def file(path: Path) -> Iterator[Connection]:
    connection = connect(str(path))
    yield connection
    connection.close()


def faults(path: Path) -> tuple[str, ...]:
    with Memory(path, embedder=None) as memory:
        return memory.audit.verify().faults


@pytest.mark.requirement("audit.trail")
@pytest.mark.parametrize(
    "change",
    [
        "actor = 'mallory'", "actor = NULL", "session = 's9'", "address = '10.0.0.6'", "user = 'bob'", "room = 'r'",
        "agent = 'a'", "ids = '[\"x9\"]'", "flags = '[\"seen\"]'", "at = at + 1", "operation = 'export'",
        "detail = '{\"outcomes\":{\"deleted\":1}}'", "salt = zeroblob(32)", "hash = zeroblob(32)", "ids = 'no JSON'",
    ],
)  # fmt: skip
def test_an_altered_line_is_named(path: Path, file: Connection, change: str):
    assert faults(path) == ()
    file.execute(f"UPDATE audit SET {change} WHERE number = 4")
    reported = faults(path)
    assert reported[0].startswith("line 4 was altered")
    # Whatever was done to one line, the others are not called altered; only the next one hangs on its hash.
    assert len(reported) <= 2
    assert all(fault.startswith(("line 4 ", "line 5 ")) for fault in reported)


@pytest.mark.requirement("audit.trail")
def test_an_altered_line_with_a_hash_that_fits_breaks_the_next(path: Path, file: Connection):
    columns = ", ".join(AuditRow.__slots__)
    file.execute("UPDATE audit SET actor = 'mallory' WHERE number = 4")
    third, fourth = (
        AuditRow(*row) for row in file.execute(f"SELECT {columns} FROM audit WHERE number IN (3, 4) ORDER BY number")
    )
    file.execute("UPDATE audit SET hash = ? WHERE number = 4", (hash_row(fourth, third.hash),))
    assert [fault[:6] for fault in faults(path)] == ["line 5"]


@pytest.mark.requirement("audit.trail")
@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((1,), "line 1 is missing"),
        ((5,), "line 5 is missing"),
        ((3, 4, 5), "lines 3 to 5 are missing"),
        ((10,), "line 10 is missing: the trail was cut at its end"),
        ((8, 9, 10), "lines 8 to 10 are missing: the trail was cut at its end"),
        (tuple(range(1, 11)), "lines 1 to 10 are missing: the trail was cut at its end"),
    ],
)
def test_removed_lines_are_named(path: Path, file: Connection, numbers: tuple[int, ...], expected: str):
    file.execute("DELETE FROM audit WHERE number IN (SELECT value FROM json_each(?))", (json.dumps(numbers),))
    assert faults(path) == (expected,)


def test_a_cut_that_takes_the_head_along_is_shown_by_a_head_kept_outside(path: Path, file: Connection):
    with Memory(path, embedder=None) as memory:
        head = memory.audit.head()
    file.execute("DELETE FROM audit WHERE number > 7")
    file.execute("UPDATE tenants SET audited = 7, audit_hash = (SELECT hash FROM audit WHERE number = 7)")
    with Memory(path, embedder=None) as memory:
        assert memory.audit.verify().ok
        assert memory.audit.verify(head=head).faults == (
            "the trail ends with line 7, but a head of line 10 was kept: it was cut",
        )


def test_a_trail_forged_as_a_whole_is_shown_by_a_head_kept_outside(path: Path, file: Connection):
    with Memory(path, embedder=None) as memory:
        head = memory.audit.head()
    columns, previous = ", ".join(AuditRow.__slots__), first_hash("default")
    for row in file.execute(f"SELECT {columns} FROM audit ORDER BY number").fetchall():
        line = AuditRow(*row)
        line.actor = "mallory"
        previous = hash_row(line, previous)
        file.execute("UPDATE audit SET actor = 'mallory', hash = ? WHERE number = ?", (previous, line.number))
    file.execute("UPDATE tenants SET audit_hash = ?", (previous,))
    with Memory(path, embedder=None) as memory:
        assert memory.audit.verify().ok
        assert "line 10 is not the one whose head was kept" in memory.audit.verify(head=head).faults[0]


@pytest.mark.requirement("audit.trail")
def test_inserted_and_moved_lines_are_named(path: Path, file: Connection):
    rest = "at, operation, detail, actor, session, address, agent, user, room, ids, flags, salt, gone, hash"
    file.execute(f"INSERT INTO audit (tenant, number, {rest}) SELECT tenant, 11, {rest} FROM audit WHERE number = 10")
    assert faults(path) == ("lines 11 to 11 were inserted behind the end",)
    file.execute("UPDATE tenants SET audited = 11")
    assert faults(path)[0].startswith("line 11 was altered or inserted")
    file.execute("DELETE FROM audit WHERE number = 11")
    file.execute("UPDATE tenants SET audited = 10")
    file.execute("UPDATE audit SET number = number + 100 WHERE number > 5")
    file.execute(f"INSERT INTO audit (tenant, number, {rest}) SELECT tenant, 6, {rest} FROM audit WHERE number = 5")
    file.execute("UPDATE audit SET number = number - 99 WHERE number > 100")
    assert faults(path)[0].startswith("line 6 was altered or inserted")


@pytest.mark.requirement("audit.trail")
def test_a_trail_does_not_pass_for_another_tenants(path: Path, file: Connection):
    file.execute("UPDATE audit SET tenant = 'other'")
    file.execute("INSERT INTO tenants (tenant, audited, audit_hash) SELECT 'other', audited, audit_hash FROM tenants")
    with Memory(path, embedder=None, tenant="other") as memory:
        assert memory.audit.verify().faults[0].startswith("line 1 was altered")


@pytest.mark.requirement("audit.trail")
def test_taking_something_out_without_an_erasure_is_an_alteration(path: Path, file: Connection):
    columns = ", ".join(AuditRow.__slots__)
    line = AuditRow(*file.execute(f"SELECT {columns} FROM audit WHERE number = 4").fetchall()[0]).without("who")
    file.execute(
        "UPDATE audit SET actor = NULL, address = NULL, salt = ?, gone = ? WHERE number = 4", (line.salt, line.gone)
    )
    assert faults(path) == ("line 4 was altered: something was taken out of it, but no erasure says so",)


def test_any_single_change_of_the_table_is_found(path: Path, file: Connection):
    dice = random.Random(7)
    columns = [name for name in AuditRow.__slots__ if name not in ("number", "gone")]
    for _ in range(60):
        name, number = dice.choice(columns), dice.randrange(1, 11)
        file.execute("SAVEPOINT before")
        [(old,)] = file.execute(f"SELECT {name} FROM audit WHERE number = ?", (number,)).fetchall()
        new: object = (
            dice.randbytes(32) if isinstance(old, bytes) else f"{old}!" if not isinstance(old, int) else old + 1
        )
        file.execute(f"UPDATE audit SET {name} = ? WHERE number = ?", (new, number))
        file.execute("RELEASE before")
        assert faults(path)[0].startswith(f"line {number} was altered"), (name, number)
        file.execute(f"UPDATE audit SET {name} = ? WHERE number = ?", (old, number))
    assert faults(path) == ()


@pytest.mark.requirement("audit.trail")
def test_async_callers_act_in_their_own_names_at_once(tmp_path: Path):
    async def run() -> None:
        async with AsyncMemory(tmp_path / "a.db", settings=AUDITED) as memory:

            @memory.compliance
            def check(intent: Intent) -> str | None:
                return intent.who.actor

            async def work(actor: str) -> None:
                with memory.acting(actor=actor):
                    for number in range(5):
                        await memory.add("said", id=f"{actor}-{number}")

            await asyncio.gather(*(work(f"actor{number}") for number in range(8)))
            entries = await memory.audit.list()
            assert len(entries) == 40
            assert all(
                entry.ids[0].startswith(f"{entry.actor}-") and entry.flags == (entry.actor,) for entry in entries
            )
            assert (await memory.audit.verify()).ok

    asyncio.run(run())


def test_a_repaired_file_keeps_what_is_left_of_its_trail(path: Path, tmp_path: Path):
    repair_file(str(path), str(tmp_path / "mended.db"))
    with Memory(tmp_path / "mended.db", embedder=None, settings=AUDITED) as memory:
        assert memory.audit.verify().ok
        memory.add("goes on")
        assert memory.audit.head().count == 11
        assert memory.audit.verify().ok
