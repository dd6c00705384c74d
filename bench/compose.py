"""What composing a state costs, anew and from the cache: `python -m bench.compose`."""

import argparse
import statistics
import tempfile
from pathlib import Path

from bench.timing import time_each
from rememo import Memory, Settings

BOUND = 50.0
SAID = (
    "I moved to Lisbon in May.",
    "My sister Ana works at Siemens.",
    "Could you look up the trains to Porto?",
    "The rent is due on Mondays.",
    "ok, thanks",
)


def fill(path: Path, count: int) -> Memory:
    """Store a user's conversation of so many messages, with facts, plans, a profile and a document."""
    memory = Memory(path, settings=Settings(durability="fast", worker=False))
    chat = memory.scope(user="alice", agent="helper", room="chat")
    for first in range(0, count, 2_000):
        chat.add_many(
            {"text": f"{SAID[n % len(SAID)]} ({n})", "kind": "message", "data": {"role": "user"}}
            for n in range(first, min(first + 2_000, count))
        )
    for number in range(20):
        chat.facts.add("alice", "likes", f"thing {number}")
    chat.goals.add("Find a flat", priority=8)
    chat.documents.add(text="The lease says: no cats. The rent is due on Mondays.", title="Lease")
    memory.profiles.update("alice", name="Alice", language="Portuguese")
    return memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        memory = fill(Path(folder) / "memory.db", options.messages)
        chat = memory.scope(user="alice", agent="helper", room="chat")
        question = "when is the rent due?"
        chat.compose(question)
        cold = time_each(max(10, options.rounds // 100), lambda _: chat.compose(question, fresh=True))
        search = time_each(max(10, options.rounds // 100), lambda _: chat.search(question))
        warm = sorted(time_each(options.rounds, lambda _: chat.compose(question)))
        print(
            f"compose() anew, all built-in providers, {options.messages:,} messages: {statistics.median(cold) * 1e6:,.0f} us"
        )
        print(f"one search there: {statistics.median(search) * 1e6:,.0f} us")
        print(
            f"compose() from the cache: {statistics.median(warm) * 1e6:,.1f} us (at most {BOUND:.0f}),"
            f" p99 {warm[len(warm) * 99 // 100] * 1e6:,.1f} us"
        )
        memory.providers.add("own", lambda _: "text")
        own = time_each(max(10, options.rounds // 10), lambda _: chat.compose(question, include="own", fresh=True))
        print(f"compose() anew, one plain function on a thread: {statistics.median(own) * 1e6:,.0f} us")
        memory.close()


if __name__ == "__main__":
    main()
