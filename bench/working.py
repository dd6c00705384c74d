"""What a typed value costs to read, beside a bare select of the same JSON by its key: `python -m bench.working`."""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from bench.timing import interleaved
from rememo import Memory, Settings

BOUND = 6.0
BARE = "SELECT value FROM states WHERE name = ?"


@dataclass
class SignupState:
    user: str = "ana"
    turns: int = 3
    tags: list[str] = field(default_factory=lambda: ["travel", "cats"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10_000)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory.db", settings=Settings(durability="fast")) as memory,
    ):
        bare = apsw.Connection(str(Path(folder) / "bare.db"))
        bare.pragma("journal_mode", "WAL")
        bare.execute("CREATE TABLE states (name TEXT PRIMARY KEY, value TEXT)")
        box = memory.typed("session", SignupState())
        box.set(SignupState())
        value = memory.get(box.id).data["value"]
        memory.add_many({"text": "", "kind": "state", "data": {"value": value}} for _ in range(options.values))
        text = '{"user":"ana","turns":3,"tags":["travel","cats"]}'
        bare.executemany("INSERT INTO states VALUES (?, ?)", [(str(n), text) for n in range(options.values)])
        bare.execute("INSERT INTO states VALUES ('session', ?)", (text,))
        plain, ours = interleaved(options.rounds, lambda _: bare.execute(BARE, ("session",)).get, lambda _: box.get())
        print(f"bare select of one of {options.values:,} values: {plain:.1f} us")
        print(f"typed.get(): {ours:.1f} us, {ours / plain:.2f} times as long (at most {BOUND:.0f})")
        flow = memory.flow("signup", steps=["name", "age"])
        flow.start("ana")
        counter = memory.typed("counter", 0)
        for name, run in {
            "typed.update": lambda: counter.update(lambda n: n + 1),
            "flow.set": lambda: flow.set("ana", data={"name": "Ana"}),
            "flow.get": lambda: flow.get("ana"),
        }.items():
            start = time.perf_counter()
            for _ in range(options.rounds // 10):
                run()
            print(f"{name}: {(time.perf_counter() - start) / (options.rounds // 10) * 1e6:.0f} us")
        bare.close()
    sys.exit(ours / plain > BOUND)


if __name__ == "__main__":
    main()
