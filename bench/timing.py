"""How the benches measure: each call by itself, or several in turns."""

import statistics
import time
from collections.abc import Callable


def time_call(run: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def time_each(count: int, run: Callable[[int], object]) -> list[float]:
    """Return the seconds that each of some calls takes; a call gets its number."""
    taken: list[float] = []
    for number in range(count):
        start = time.perf_counter()
        run(number)
        taken.append(time.perf_counter() - start)
    return taken


def interleaved(rounds: int, *runs: Callable[[int], object]) -> list[float]:
    """Return the median time of each, in microseconds, taken in turns so that the machine's moods meet all alike."""
    taken: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds):
        for times, run in zip(taken, runs, strict=True):
            start = time.perf_counter()
            run(turn)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) * 1e6 for times in taken]
