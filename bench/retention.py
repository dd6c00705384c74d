"""Retention beside readers: memory, the longest write, and what readers feel of it: `python -m bench.retention`.

Half of the messages are too old and leave while another process reads; then their versions are removed for good.
"""

import argparse
import json
import multiprocessing
import random
import resource
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import ClassVar

from rememo import Memory, Settings
from rememo.bench.speed import sample_messages
from rememo.keep import batches

ROOM = 500
MEMORY_BOUND, READERS_BOUND, WRITE_BOUND = 150.0, 3.0, 50.0
GIVEN = Settings(worker=False, learn=False)


def build(path: Path, count: int) -> None:
    """Fill a file with messages in rooms, every other one two months old."""
    now = datetime.now(UTC)
    texts = sample_messages(2_000, seed=1)
    with Memory(path, embedder=None, settings=GIVEN.but(durability="fast")) as memory:
        for room in range(count // ROOM):
            memory.scope(user=f"u{room % 97}", room=f"r{room}").add_many(
                {
                    "text": texts[(room * 7 + place) % len(texts)],
                    "kind": "message",
                    "data": {"role": "user"},
                    "occurred_at": now - timedelta(days=60 if place % 2 else 1, seconds=place),
                }
                for place in range(ROOM)
            )


def read(path: str, rooms: int, begin: Event, end: Event, out: str) -> None:
    """Read rooms at random until told to end; before `begin` nothing else happens."""
    choice = random.Random(1)
    texts = sample_messages(2_000, seed=1)
    taken: dict[str, list[float]] = {"idle": [], "during": []}
    with Memory(path, embedder=None, settings=GIVEN) as memory:
        while not end.is_set():
            room = memory.scope(room=f"r{choice.randrange(min(rooms, 50))}")
            question = choice.choice(texts)
            start = time.perf_counter()
            room.list(limit=20)
            room.search(question, limit=5)
            taken["during" if begin.is_set() else "idle"].append(time.perf_counter() - start)
            time.sleep(0.002)
    Path(out).write_text(json.dumps(taken), encoding="utf-8")


def resident() -> float:
    """Return the megabytes this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 1e6


class MeasuredPace(batches.BatchPacer):
    """Keeps what each write took, and how much memory was held."""

    taken: ClassVar[list[float]] = []
    most = 0.0

    def learn_from(self, seconds: float, work: float) -> None:
        MeasuredPace.taken.append(seconds)
        MeasuredPace.most = max(MeasuredPace.most, resident())
        super().learn_from(seconds, work)


def p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98] * 1e3


def mark(value: float, bound: float) -> str:
    return f"(must be ≤ {bound:g}) {'reached' if value <= bound else 'MISSED'}"


def run(folder: Path, count: int) -> None:
    path = folder / "memory.db"
    began = time.perf_counter()
    build(path, count)
    print(f"{count:,} messages written in {time.perf_counter() - began:.0f} s, {path.stat().st_size / 1e6:.0f} MB")
    spawn = multiprocessing.get_context("spawn")
    begin, end = spawn.Event(), spawn.Event()
    out = folder / "reader.json"
    reader = spawn.Process(target=read, args=(str(path), count // ROOM, begin, end, str(out)))
    reader.start()
    with Memory(path, embedder=None, settings=GIVEN) as memory:
        memory.retention.use("messages")
        memory.retention.use("versions", older_than="1s", forget="1s")
        memory.add("stays")
        time.sleep(10)
        before = resident()
        begin.set()
        began = time.perf_counter()
        report = memory.maintain()
        seconds = time.perf_counter() - began
        end.set()
        reader.join()
        growth = max(MeasuredPace.most, resident()) - before
        left = memory.count()
        sound = memory.verify().ok
    taken: dict[str, list[float]] = json.loads(out.read_text(encoding="utf-8"))
    idle, during = p99(taken["idle"]), p99(taken["during"])
    longest = max(MeasuredPace.taken) * 1e3
    print(
        f"{report.done:,} removed and forgotten in {seconds:.0f} s, {left:,} left, verify {'ok' if sound else 'FAILED'}"
    )
    print(f"memory grew by {growth:.0f} MB  {mark(growth, MEMORY_BOUND)}")
    print(f"longest write {longest:.0f} ms, p99 {p99(MeasuredPace.taken):.1f} ms  {mark(longest, WRITE_BOUND)}")
    print(
        f"list and search beside it: p99 {idle:.1f} ms idle ({len(taken['idle'])} reads), {during:.1f} ms during"
        f" ({len(taken['during'])}), ratio {during / idle:.2f}  {mark(during / idle, READERS_BOUND)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 messages instead of 1,000,000")
    count = 100_000 if parser.parse_args().quick else 1_000_000
    from rememo.keep import maintenance  # noqa: PLC0415 - the pace is watched only here

    maintenance.BatchPacer = MeasuredPace
    with tempfile.TemporaryDirectory() as name:
        run(Path(name), count)


if __name__ == "__main__":
    main()
