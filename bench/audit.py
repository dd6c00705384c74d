"""What the audit trail costs beside the same writes without it, turn by turn in one run: `python -m bench.audit`."""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from rememo import Memory, Settings
from rememo.bench.speed import sample_messages

BOUND = 1.15


def measure(folder: Path, durability: str, count: int) -> None:
    """Print the median of one add with and without, and their ratio."""
    given = Settings(durability="fast" if durability == "fast" else "full", worker=False)
    taken: dict[str, list[float]] = {"off": [], "on": []}
    with (
        Memory(folder / f"{durability}-off.db", settings=given) as off,
        Memory(folder / f"{durability}-on.db", settings=given.but(audit=True)) as on,
        on.acting(actor="alice", session="s1", address="10.0.0.5"),
    ):
        views = {"off": off.scope(user="alice", room="r"), "on": on.scope(user="alice", room="r")}
        for place, text in enumerate(sample_messages(count, seed=1)):
            # Whoever goes first finds a colder processor: they take turns at that too.
            for name in ("off", "on") if place % 2 else ("on", "off"):
                start = time.perf_counter()
                views[name].add(text, kind="message")
                taken[name].append(time.perf_counter() - start)
        if not on.audit.verify().ok or on.audit.head().count != count:
            raise SystemExit("the trail is not whole: what was measured is not what is promised")
    medians = {name: statistics.median(times) * 1e6 for name, times in taken.items()}
    ratio = medians["on"] / medians["off"]
    mark = f"(must be ≤ {BOUND:g}) {'reached' if ratio <= BOUND else 'MISSED'}"
    print(
        f"add, durability {durability}: {medians['off']:.0f} µs, audited {medians['on']:.0f} µs, ratio {ratio:.3f}  {mark}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    count = 500 if parser.parse_args().quick else 5_000
    with tempfile.TemporaryDirectory() as name:
        for durability in ("full", "fast"):
            measure(Path(name), durability, count)


if __name__ == "__main__":
    main()
