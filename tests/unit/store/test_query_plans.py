"""The hot queries walk an index, in the order they return."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from rememo import Memory, Scope
from rememo.model.filters import Filter
from rememo.store.sqlite.filter_sql import RECORD_COLUMNS, count_by_index, labels_by_index, selects

NOW = datetime(2026, 5, 1, tzinfo=UTC)
VIEWS = {
    "records_by_room": Scope(room="r"),
    "records_by_user": Scope(user="u"),
    "records_by_agent": Scope(agent="a"),
    "records_by_kind": Scope(),
}


def plan(path: Path, sql: str, values: list[object]) -> str:
    connection = apsw.Connection(str(path))
    try:
        return "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportArgumentType] - the library's types
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        memory.scope(user="u", room="r", agent="a").add_many([f"note {number}" for number in range(100)])
    return tmp_path / "a.db"


@pytest.mark.requirement("index.fast")
@pytest.mark.parametrize(("index", "scope"), VIEWS.items())
def test_lists_walk_the_index_of_their_narrowest_label(path: Path, index: str, scope: Scope):
    order = " ORDER BY at DESC, arrival DESC LIMIT ?"
    [(sql, values)] = selects(Filter(scope=scope, kinds=("note",)), NOW, RECORD_COLUMNS, order, [20])
    found = plan(path, sql, values)
    assert f"USING INDEX {index}" in found
    assert "TEMP B-TREE" not in found


@pytest.mark.requirement("index.fast")
def test_a_list_of_every_kind_scans_no_table(path: Path):
    for sql, values in selects(
        Filter(scope=Scope(room="r")), NOW, "number", " ORDER BY at DESC, arrival DESC LIMIT ?", [20]
    ):
        assert "SCAN" not in plan(path, sql, values)


@pytest.mark.requirement("index.fast")
def test_a_record_is_found_by_its_key(path: Path):
    [(sql, values)] = selects(Filter(scope=Scope(), ids=("x",)), NOW, RECORD_COLUMNS)
    assert "USING INDEX records_by_id (tenant=? AND id=?)" in plan(path, sql, values)


@pytest.mark.requirement("index.fast")
def test_the_past_is_read_by_index_too(path: Path):
    filter = Filter(scope=Scope(room="r"), kinds=("note",), known_at=NOW)
    for sql, values in selects(filter, NOW, RECORD_COLUMNS):
        assert "USING INDEX records_by_room" in plan(path, sql, values)


@pytest.mark.parametrize(("index", "scope"), VIEWS.items())
@pytest.mark.parametrize("kinds", [(), ("note",)])
def test_counting_reads_no_record(path: Path, index: str, scope: Scope, kinds: tuple[str, ...]):
    query = count_by_index(Filter(scope=scope, kinds=kinds, after=NOW), NOW)
    assert query is not None
    walked = [line for line in plan(path, *query).splitlines() if "kind=?" in line]
    assert walked
    assert all(f"USING COVERING INDEX {index}" in line for line in walked), walked


def test_labels_are_walked_by_their_index(path: Path):
    query = labels_by_index(Filter(scope=Scope()), "room", NOW)
    assert query is not None
    found = plan(path, *query)
    assert "SCAN records" not in found
    assert "USING COVERING INDEX records_by_room (tenant=? AND room>?)" in found


def steps_of_an_export(path: Path, scope: Scope, records: int) -> int:
    """Return how many thousand instructions SQLite runs to export so many records."""
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    def watch(connection: apsw.Connection) -> None:
        connection.set_progress_handler(count, 1_000)

    with Memory(path, embedder=None) as memory:
        view = memory.scope(user=scope.user, room=scope.room)
        view.add_many([f"note {number}" for number in range(records)])
        apsw.connection_hooks.append(watch)
        try:
            # A thread of its own reads by a connection of its own, which is opened now.
            with ThreadPoolExecutor(1) as reader:
                written = reader.submit(view.export, path.with_suffix(".jsonl")).result()
        finally:
            apsw.connection_hooks.remove(watch)
    assert written.versions == records
    return steps


@pytest.mark.requirement("index.fast")
@pytest.mark.parametrize("scope", [Scope(), Scope(room="r"), Scope(user="u")])
def test_exporting_more_costs_no_more_for_each_record(tmp_path: Path, scope: Scope):
    few, many = (steps_of_an_export(tmp_path / f"{count}.db", scope, count) for count in (1_000, 8_000))
    assert many <= 8 * few * 1.25
