"""Whatever stands in whichever column of the audit trail: `verify` names the line, and nothing else than a typed error comes up."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString, cast

import apsw
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.errors import Corrupt
from rememo.store.sqlite.connection import connect
from rememo.testing.postgres import DatabasePool

REFUSED = (apsw.Error, psycopg.Error)
"""How a driver says that a column cannot hold a value."""
AUDITED = Settings(durability="fast", audit=True, worker=False)
Execute = Callable[[str, tuple[Any, ...]], list[Any]]
"""Runs a statement with `?` for its values, as anybody can who has the store."""

TEXTS = (
    "x", "", "5", "null", "true", "[]", "{}", '["a"]', "[1]", '{"who": 1}', '{"who":null}', '{"what":"ab"}', '{"x":"y"}',
    '{"who":"' + "0" * 40 + '"}', '{"what":"' + "g" * 40 + '"}', "[" * 20_000, '{"outcomes":{"deleted":1}}', "\ud7ff",
)  # fmt: skip
NUMBERS = (-(2**63), -1, 0, 1, 3, 99, 2**63 - 1)
BYTES = (b"", b"\0", bytes(16), bytes(32), bytes(33), b"\xff" * 64, b"x" * 300)


class Trail:
    """A store with an audited history of which an erasure has taken something out, and raw access to its tables."""

    def __init__(self, url: str, execute: Execute, kinds: dict[str, dict[str, str]]) -> None:
        self.url = url
        self.execute = execute
        self.kinds = kinds
        """Tables that hold the trail, with the type of each column as the store declares it."""
        self.memory = Memory(url, embedder=None, settings=AUDITED)
        for user in ("kim", "ana", "kim", "ana"):
            with self.memory.acting(actor=user, session="s", address="10.0.0.5"):
                self.memory.scope(user=user, room="r").add(f"Something that {user} says here.")
        self.memory.erase(user="kim")
        assert self.faults() == ()

    def faults(self) -> tuple[str, ...]:
        return self.memory.audit.verify().faults

    def numbers(self) -> list[int]:
        """Return a line of each sort: redacted, as it was written, telling what was redacted, and the last."""
        operations = {entry.operation: entry.number for entry in self.memory.audit.list()}
        assert set(operations) == {"write", "redact", "erase"}
        return [1, 2, operations["redact"], operations["erase"]]

    def tampered(self, column: str, number: int, value: Any, sql: str = "?") -> tuple[str, ...] | None:
        """Return what is said of a line with another value in a column; None where the store refuses it or had it."""
        where = "WHERE tenant = 'default' AND number = ?"
        [row] = self.execute(f"SELECT * FROM audit {where}", (number,))
        [[before]] = self.execute(f'SELECT "{column}" FROM audit {where}', (number,))
        if before == value:
            return None
        try:
            self.execute(f'UPDATE audit SET "{column}" = {sql} {where}', (*([] if sql != "?" else [value]), number))
        except REFUSED:
            return None
        try:
            faults = self.faults()
            # Who reads the trail gets its lines, or is told which one was altered.
            try:
                self.memory.audit.list()
            except Corrupt as error:
                assert f"line {number} of the audit trail was altered" in str(error)  # noqa: PT017 - it need not raise
            return faults
        finally:
            self.execute("DELETE FROM audit WHERE tenant <> 'default' OR number = ?", (number,))
            if column == "number":
                self.execute("DELETE FROM audit WHERE number = ?", (value,))
            marks = ", ".join("?" * len(row))
            self.execute(f"INSERT INTO audit VALUES ({marks})", tuple(row))


def sqlite_trail(path: Path) -> Iterator[Trail]:
    Memory(path, embedder=None, settings=AUDITED).close()
    with closing(connect(str(path))) as connection:

        def execute(sql: str, values: tuple[Any, ...]) -> list[Any]:
            return connection.execute(sql, values).fetchall()

        kinds = {
            table: {name: kind.lower() for _, name, kind, *_ in execute(f"PRAGMA table_info({table})", ())}
            for table in ("audit", "tenants")
        }
        trail = Trail(str(path), execute, kinds)
        yield trail
        trail.memory.close()


def postgres_trail(databases: DatabasePool) -> Iterator[Trail]:
    name = databases.lend()
    url = databases.url(name)
    Memory(url, embedder=None, settings=AUDITED).close()
    with psycopg.connect(url, options="-c search_path=rememo", autocommit=True) as connection:

        def execute(sql: str, values: tuple[Any, ...]) -> list[Any]:
            cursor = connection.execute(cast("LiteralString", sql.replace("?", "%s")), values)
            return cursor.fetchall() if cursor.description else []

        columns = """SELECT column_name, data_type FROM information_schema.columns
        WHERE table_schema = 'rememo' AND table_name = ?"""
        kinds = {table: dict(execute(columns, (table,))) for table in ("audit", "trails")}
        trail = Trail(url, execute, kinds)
        yield trail
        trail.memory.close()
    databases.take_back(name)


@pytest.fixture(params=["sqlite", "postgres"])
def trail(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trail]:
    if request.param == "sqlite":
        yield from sqlite_trail(tmp_path / "memory.db")
    else:
        yield from postgres_trail(request.getfixturevalue("databases"))


def garbage(kind: str) -> tuple[Any, ...]:
    return {"integer": NUMBERS, "bigint": NUMBERS, "blob": BYTES, "bytea": BYTES}.get(kind, (None, *TEXTS))


def check(trail: Trail, column: str, number: int, value: Any, sql: str = "?") -> None:
    faults = trail.tampered(column, number, value, sql)
    if faults is not None:
        moved = column in ("number", "tenant")
        named = [fault for fault in faults if f"line {number} " in fault]
        assert named, (column, number, value, faults)
        assert moved or "altered" in named[0], (column, number, value, faults)


@pytest.mark.requirement("audit.trail")
def test_garbage_in_any_column_of_any_line_is_named(trail: Trail):
    numbers = trail.numbers()
    columns = trail.kinds["audit"]
    assert len(columns) > 10
    for column, kind in columns.items():
        for number in numbers:
            for value in garbage(kind):
                check(trail, column, number, value)
    assert trail.faults() == ()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.requirement("audit.trail")
def test_anything_at_all_in_any_column_is_named(trail: Trail, data: st.DataObject):
    column = data.draw(st.sampled_from(sorted(trail.kinds["audit"])))
    values: dict[str, st.SearchStrategy[Any]] = {
        "integer": st.integers(-(2**63), 2**63 - 1),
        "bigint": st.integers(-(2**63), 2**63 - 1),
        "blob": st.binary(max_size=80),
        "bytea": st.binary(max_size=80),
    }
    texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80)
    value = data.draw(values.get(trail.kinds["audit"][column], texts))
    number = data.draw(st.sampled_from(trail.numbers()))
    check(trail, column, number, value)


@pytest.mark.requirement("audit.trail")
def test_garbage_where_the_end_is_kept_is_named(trail: Trail):
    [table] = set(trail.kinds) - {"audit"}
    for column, kind in trail.kinds[table].items():
        if column not in ("audited", "audit_hash", "hash"):
            continue
        [[before]] = trail.execute(f"SELECT {column} FROM {table} WHERE tenant = 'default'", ())
        for value in (None, *garbage(kind)):
            if value == before:
                continue
            try:
                trail.execute(f"UPDATE {table} SET {column} = ? WHERE tenant = 'default'", (value,))
            except REFUSED:
                continue
            assert trail.faults(), (column, value)
            trail.execute(f"UPDATE {table} SET {column} = ? WHERE tenant = 'default'", (before,))
    assert trail.faults() == ()


@pytest.mark.requirement("audit.trail")
def test_text_that_is_no_utf8_is_named_in_its_column(tmp_path: Path):
    for trail in sqlite_trail(tmp_path / "memory.db"):
        for column, kind in trail.kinds["audit"].items():
            if kind == "text" and column != "tenant":
                check(trail, column, 2, object(), sql="CAST(x'ff61' AS TEXT)")


@pytest.mark.requirement("audit.trail")
def test_what_an_erasure_took_out_cannot_be_filled_in_again(trail: Trail):
    [[number]] = trail.execute("SELECT min(number) FROM audit WHERE gone IS NOT NULL", ())
    for column, value in (("actor", "mallory"), ("user", "ana"), ("ids", '["x"]'), ("flags", '["seen"]')):
        faults = trail.tampered(column, number, value)
        assert faults is not None
        assert f"line {number} was altered: its column 'gone' says that" in faults[0]


@pytest.mark.requirement("audit.trail", "erase.proof")
def test_an_erasure_goes_on_beside_a_line_that_was_altered_and_says_so(trail: Trail):
    trail.execute("UPDATE audit SET gone = 'x' WHERE number = 2", ())
    receipt = trail.memory.erase(user="ana")
    assert trail.memory.count() == 0
    assert not receipt.ok
    assert [left for left in receipt.leftovers if left.startswith("line 2 of the audit trail, which was altered")]
    assert trail.memory.audit.list(operation="erase")[-1].detail["receipt"] == receipt.digest
