"""What encryption costs beside none, interleaved in one run: `python -m bench.encryption`."""

import argparse
import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.timing import time_call
from rememo import Keyring, Memory, Settings
from rememo.bench.speed import sample_messages

KEY = bytes(range(32))
FAST = Settings(durability="fast", learn=False)
FULL = Settings(learn=False)


def print_ratio(name: str, sealed: list[float], plain: list[float], bound: float | None, unit: float = 1e6) -> bool:
    """Print one line; medians of what was measured in turn."""
    with_encryption, other = statistics.median(sealed), statistics.median(plain)
    ratio, sign = with_encryption / other, "ms" if unit == 1e3 else "µs"  # noqa: PLR2004
    must = "" if bound is None else f"  (must be ≤ {bound:g}) {'reached' if ratio <= bound else 'MISSED'}"
    print(f"{name:44} {with_encryption * unit:9.1f} {sign} against {other * unit:9.1f} {ratio:6.2f}{must}")
    return bound is None or ratio <= bound


class EncryptionPair:
    """A sealed memory and a plain one that are told the same in turn."""

    def __init__(self, folder: Path, name: str, settings: Settings) -> None:
        self._arguments = [
            {"url": folder / f"{name}-sealed.db", "encryption": Keyring(KEY), "settings": settings},
            {"url": folder / f"{name}-plain.db", "encryption": None, "settings": settings},
        ]
        self.open()

    def open(self) -> None:
        self.memories = [Memory(**arguments).scope(user="u", room="r", agent="a") for arguments in self._arguments]

    def close(self) -> None:
        for memory in self.memories:
            memory.close()

    def each(self, run: Callable[[Memory], object]) -> tuple[float, float]:
        """Measure one thing on both, in an order that changes."""
        order = [0, 1] if random.random() < 0.5 else [1, 0]  # noqa: PLR2004
        times = [0.0, 0.0]
        for place in order:
            times[place] = time_call(lambda place=place: run(self.memories[place]))
        return times[0], times[1]

    def many(self, runs: list[Callable[[Memory], object]]) -> tuple[list[float], list[float]]:
        pairs = [self.each(run) for run in runs]
        return [first for first, _ in pairs], [other for _, other in pairs]


def measure_adds(folder: Path, count: int) -> None:
    for durability, settings, bound in (("full", FULL, 1.6), ("fast", FAST, 1.6)):
        pair = EncryptionPair(folder, f"add-{durability}", settings)
        texts = sample_messages(count, seed=1)
        print_ratio(
            f"add, {durability}", *pair.many([lambda memory, text=text: memory.add(text) for text in texts]), bound
        )
        batches = [sample_messages(500, seed=seed) for seed in range(max(4, count // 500))]
        sealed, plain = pair.many([lambda memory, batch=batch: memory.add_many(batch) for batch in batches])
        print_ratio(f"add_many of 500, {durability}", sealed, plain, None, 1e3)
        pair.close()


def measure_searches(folder: Path, size: int, count: int) -> None:
    pair = EncryptionPair(folder, f"search-{size}", FAST)
    for start in range(0, size, 5_000):
        records = [
            {"text": text, "metadata": {"n": place % 10}}
            for place, text in enumerate(sample_messages(5_000, seed=start))
        ]
        for memory in pair.memories:
            memory.add_many(records[: size - start])
    ids = (
        [record.id for record in pair.memories[0].list(limit=500)],
        [record.id for record in pair.memories[1].list(limit=500)],
    )
    pair.close()
    questions = [" ".join(text.split()[5:10]) for text in sample_messages(count, seed=-1)]
    first: list[tuple[float, float]] = []
    for question in questions[:3]:
        pair.open()
        first.append(pair.each(lambda memory, question=question: memory.search(question)))
        if question != questions[2]:
            pair.close()
    print_ratio(f"first search of {size:,}", *map(list, zip(*first, strict=True)), None, 1e3)  # pyright: ignore[reportArgumentType]
    sealed, plain = pair.many([lambda memory, question=question: memory.search(question) for question in questions])
    print_ratio(f"search in {size:,}", sealed, plain, 2)
    sealed, plain = pair.many(
        [
            lambda memory, question=question: memory.search(question, metadata={"n": 3})
            for question in questions[: max(3, count // 20)]
        ]
    )
    print_ratio(f"search in {size:,} by metadata", sealed, plain, None, 1e3)
    sealed, plain = pair.many([lambda memory: memory.list(limit=50)] * 200)
    print_ratio("list of 50", sealed, plain, None)
    gets = [
        lambda memory, mine=mine, other=other: memory.get(mine if memory is pair.memories[0] else other)
        for mine, other in zip(*ids, strict=True)
    ]
    print_ratio("get", *pair.many(gets), None)
    pair.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    part = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory() as name:
        measure_adds(Path(name), 3_000 // part)
        measure_searches(Path(name), 10_000 // part, 400 // part)
        measure_searches(Path(name), 100_000 // part, 400 // part)


if __name__ == "__main__":
    main()
