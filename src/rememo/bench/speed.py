"""Speed and memory of a store as it grows: adding, bulk loading and searching, cold and warm."""

import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from rememo.bench.report import Report, align
from rememo.memory import Memory
from rememo.settings import Settings

_SYLLABLES: Final = [
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi", "yo", "zu",
    "bra", "cle", "dri", "flo", "gru", "sta", "tre", "pli",
]  # fmt: skip
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_CHUNK: Final = 10_000
_QUESTIONS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """What was measured at one size."""

    scope: int
    """Records in the scope that is searched."""
    file: int
    """Records in the whole file."""
    bulk_per_second: float
    add_p50: float
    """Milliseconds of one `add`."""
    add_p99: float
    search_cold: float
    """Milliseconds of the first search after opening."""
    search_p50: float
    search_p99: float
    memory: float
    """Megabytes this process held more after the searches than before opening."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedReport(Report):
    """What was measured, by size."""

    rows: tuple[SpeedRow, ...]

    def table(self) -> str:
        """Return it as a table."""
        head = ("scope", "file", "bulk/s", "add p50", "p99", "cold", "search p50", "p99 ms", "MB")
        lines: list[tuple[str, ...]] = [head]
        for row in self.rows:
            times = (row.add_p50, row.add_p99, row.search_cold, row.search_p50, row.search_p99)
            figures = (f"{row.bulk_per_second:,.0f}", *(f"{time:.2f}" for time in times), f"{row.memory:.0f}")
            lines.append((f"{row.scope:,}", f"{row.file:,}", *figures))
        return align(lines, names=0)

    def plot(self, path: Path) -> None:
        """Draw search times by size to a PNG file; needs matplotlib."""
        from matplotlib.figure import Figure  # noqa: PLC0415 - only for those who want pictures

        figure: Any = Figure(figsize=(7, 4), layout="constrained")
        axes: Any = figure.subplots()
        sizes = [f"{row.scope:,} of {row.file:,}" for row in self.rows]
        for name, values in (
            ("first", [row.search_cold for row in self.rows]),
            ("p99", [row.search_p99 for row in self.rows]),
            ("p50", [row.search_p50 for row in self.rows]),
        ):
            axes.plot(sizes, values, marker="o", label=name)
        axes.set(yscale="log", ylabel="milliseconds a search", xlabel="records in the scope, in the file")
        axes.legend()
        figure.savefig(str(path), dpi=120)


def measure(sizes: Sequence[tuple[int, int]], *, progress: Callable[[str], None] | None = None) -> SpeedReport:
    """Measure at each size: records in the searched scope, and in the file (the rest lies in scopes of that size)."""
    rows: list[SpeedRow] = []
    for scope, file in sizes:
        if progress is not None:
            progress(f"{scope:,} records in a scope, {file:,} in the file")
        with tempfile.TemporaryDirectory() as folder:
            rows.append(_measure(Path(folder) / "speed.db", scope, max(scope, file)))
    return SpeedReport(rows=tuple(rows))


def _measure(path: Path, scope: int, file: int) -> SpeedRow:
    settings = Settings(durability="fast")
    with Memory(path, settings=settings) as memory:
        start = time.perf_counter()
        for room in range(max(1, file // scope)):
            view = memory.scope(user=f"user{room}", room=f"room{room}")
            for first in range(0, scope, _CHUNK):
                view.add_many(_messages(min(_CHUNK, scope - first), seed=room * scope + first))
        bulk = file / (time.perf_counter() - start)
    before = _resident()
    with Memory(path, settings=settings) as memory:
        view = memory.scope(user="user0", room="room0")
        questions = [" ".join(message["text"].split()[5:10]) for message in _messages(_QUESTIONS, seed=-1)]
        cold = _times(questions[:1], view.search)[0]
        warm = _times(questions[1:], view.search)
        memory_used = _resident() - before
        added = _times([message["text"] for message in _messages(_QUESTIONS, seed=-2)], view.add)
    return SpeedRow(
        scope=scope,
        file=file,
        bulk_per_second=bulk,
        add_p50=statistics.median(added),
        add_p99=added[int(len(added) * 0.99)],
        search_cold=cold,
        search_p50=statistics.median(warm),
        search_p99=warm[int(len(warm) * 0.99)],
        memory=memory_used,
    )


def sample_messages(count: int, *, seed: int) -> list[str]:
    """Return made-up messages of about twenty words: few words often, many rarely, as in real conversations."""
    words = random.Random(7)
    vocabulary = ["".join(words.choices(_SYLLABLES, k=words.randint(2, 4))) for _ in range(5_000)]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    chosen = iter(random.Random(seed).choices(vocabulary, weights, k=count * 14))
    return [f"I told you that the {' '.join(next(chosen) for _ in range(14))} was mine." for _ in range(count)]


def _messages(count: int, *, seed: int) -> list[dict[str, Any]]:
    """Return made-up messages a minute apart."""
    return [
        {
            "text": text,
            "kind": "message",
            "occurred_at": _START + timedelta(minutes=max(seed, 0) + index),
            "learn": False,
        }
        for index, text in enumerate(sample_messages(count, seed=seed))
    ]


def _times(arguments: Sequence[str], call: Callable[[str], object]) -> list[float]:
    """Return how long each call took, in milliseconds, sorted."""
    durations: list[float] = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        durations.append(1000 * (time.perf_counter() - start))
    return sorted(durations)


def _resident() -> float:
    """Return the most memory this process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
