"""The engine's cost beside bare SQLite, in one run: `make bench`. Every figure is a ratio of two things measured here."""

import argparse
import json
import statistics
import tempfile
import threading
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import apsw

from bench.timing import time_each
from rememo import Memory, Scope, Settings
from rememo.bench.speed import sample_messages
from rememo.recall.analyze import Analyzer
from rememo.store.sqlite.words import index_line


@dataclass
class EngineFigure:
    """One line of the table."""

    name: str
    measured: str
    ratio: float
    bound: float
    at_least: bool = False

    @property
    def reached(self) -> bool:
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound


def make_texts(count: int, seed: int = 1) -> list[str]:
    return sample_messages(count, seed=seed)


def settings(durability: str) -> Settings:
    return Settings(durability="fast" if durability == "fast" else "full")


def open_bare(path: Path, synchronous: str, *, words: bool = False) -> apsw.Connection:
    """Open a plain table with one index, and a table of words beside it if asked."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "WAL")
    connection.pragma("synchronous", synchronous)
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, room TEXT, at INTEGER, text TEXT)")
    connection.execute("CREATE INDEX notes_by_room ON notes (room, at)")
    if words:
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5 (terms, content='', contentless_delete=1, detail=none)"
        )
    return connection


def measure_single_adds(folder: Path, durability: str, count: int) -> EngineFigure:
    """Interleaved, because the disk has moods: one bare insert and commit, one add of ours, and so on."""
    connection = open_bare(folder / f"bare-{durability}.db", "FULL" if durability == "full" else "NORMAL")
    messages = make_texts(count)

    def insert(number: int) -> None:
        connection.execute("INSERT INTO notes (room, at, text) VALUES (?, ?, ?)", ("r", number, messages[number]))

    with Memory(folder / f"add-{durability}.db", settings=settings(durability)) as memory:
        room = memory.scope(user="u", room="r", agent="a")
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(count):
            theirs += time_each(1, lambda _, number=number: insert(number))
            ours += time_each(1, lambda _, number=number: room.add(messages[number]))
    own, other = statistics.median(ours[100:]), statistics.median(theirs[100:])
    bound = 2.5 if durability == "full" else 8.0
    return EngineFigure(f"add, {durability}", f"{own * 1e6:.0f} µs against {other * 1e6:.0f}", own / other, bound)


def measure_tail(folder: Path, count: int) -> EngineFigure:
    messages = make_texts(count)
    with Memory(folder / "tail.db") as memory:
        room = memory.scope(user="u", room="r")
        taken = sorted(time_each(count, lambda number: room.add(messages[number])))
    middle, late = taken[count // 2], taken[int(count * 0.99)]
    return EngineFigure(
        f"add, p99 to p50 over {count:,}", f"{late * 1e6:.0f} µs against {middle * 1e6:.0f}", late / middle, 10
    )


def measure_threads(folder: Path, count: int) -> EngineFigure:
    messages = make_texts(count)

    def rate(workers: int) -> float:
        with Memory(folder / f"threads-{workers}.db") as memory:
            room = memory.scope(user="u", room="r")
            room.add_many(messages[:1000])
            each_one = count // workers
            group = [
                threading.Thread(
                    target=lambda start=start: time_each(each_one, lambda number: room.add(messages[start + number]))
                )
                for start in range(0, count, each_one)
            ]
            start = time.perf_counter()
            for thread in group:
                thread.start()
            for thread in group:
                thread.join()
            return count / (time.perf_counter() - start)

    rates = [(rate(1), rate(16)) for _ in range(1)]
    alone, together = rates[0]
    return EngineFigure(
        "16 threads adding, full", f"{together:.0f}/s against {alone:.0f}/s", together / alone, 4, at_least=True
    )


def measure_bulk(folder: Path, count: int) -> EngineFigure:
    analyzer, scope = Analyzer(), Scope(user="u", room="r")
    messages = make_texts(count)
    lines = [(number + 1, index_line(scope, analyzer.terms(message))) for number, message in enumerate(messages)]
    connection = open_bare(folder / "bulk-bare.db", "FULL", words=True)
    start = time.perf_counter()
    with connection:
        connection.executemany(
            "INSERT INTO notes (room, at, text) VALUES ('r', 1, ?)", [(message,) for message in messages]
        )
        connection.executemany("INSERT INTO words (rowid, terms) VALUES (?, ?)", lines)
    other = time.perf_counter() - start
    with Memory(folder / "bulk.db") as memory:
        room = memory.scope(user="u", room="r")
        room.add_many(messages[:1000])
        start = time.perf_counter()
        room.add_many(messages)
        own = time.perf_counter() - start
    return EngineFigure(f"add_many of {count:,}", f"{own:.2f} s against {other:.2f}", own / other, 5)


def measure_gets(folder: Path, count: int) -> EngineFigure:
    with Memory(folder / "bulk.db") as memory:
        ids = [record.id for record in memory.list(limit=1000)]
        connection = apsw.Connection(str(folder / "bulk.db"))
        theirs = time_each(
            count,
            lambda number: (
                connection.execute(
                    "SELECT text, data, metadata FROM records WHERE tenant = 'default' AND id = ? AND superseded_at IS NULL",
                    (ids[number % len(ids)],),
                ).get
            ),
        )
        ours = time_each(count, lambda number: memory.get(ids[number % len(ids)]))
        connection.close()
    own, other = statistics.median(ours), statistics.median(theirs)
    return EngineFigure("get", f"{own * 1e6:.1f} µs against {other * 1e6:.1f}", own / other, 8)


def measure_opening(folder: Path, count: int) -> list[EngineFigure]:
    path = folder / "large.db"
    with Memory(path, settings=settings("fast")) as memory:
        for start in range(0, count, 10_000):
            memory.scope(user="u", room=f"r{start}").add_many(make_texts(10_000, start))
    taken: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        memory = Memory(path)
        taken.append(time.perf_counter() - start)
        memory.close()
    opened = statistics.median(taken) * 1000
    with Memory(path) as memory:
        tracemalloc.start()
        memory.export(folder / "large.jsonl")
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    return [
        EngineFigure(f"open a file of {count:,}", f"{opened:.1f} ms", opened, 50),
        EngineFigure(f"export of {count:,}, peak memory", f"{peak:.1f} MB", peak, 100),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    arguments = parser.parse_args()
    part = 10 if arguments.quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            measure_single_adds(folder, "full", 5_000 // part),
            measure_single_adds(folder, "fast", 5_000 // part),
            measure_threads(folder, 16_000 // part),
            measure_bulk(folder, 10_000),
            measure_tail(folder, 20_000 // part),
            measure_gets(folder, 20_000 // part),
            *measure_opening(folder, 100_000 // part),
        ]
    for row in rows:
        mark = "reached" if row.reached else "MISSED"
        sign = "≥" if row.at_least else "≤"
        print(f"{row.name:36} {row.measured:34} {row.ratio:8.2f}  (must be {sign} {row.bound:g}) {mark}")
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
