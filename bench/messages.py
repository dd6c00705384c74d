"""What `messages.history` costs beside a bare indexed select of the same rows: `python -m bench.messages`."""

import argparse
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw

from bench.timing import interleaved
from rememo import Memory, Settings
from rememo.collections.messages import Messages
from rememo.engine.view import view_of

BOUND = 4.0
BARE = "SELECT id, role, name, at, text FROM messages WHERE room = ? ORDER BY at DESC, id DESC LIMIT 20"


def fill(folder: Path, count: int) -> tuple[Memory, apsw.Connection]:
    """Store the same conversation twice: as ours, and in a plain table with one index."""
    memory = Memory(folder / "memory.db", embedder=None, settings=Settings(durability="fast"))
    room = memory.scope(room="room")
    bare = apsw.Connection(str(folder / "bare.db"))
    bare.pragma("journal_mode", "WAL")
    bare.execute(
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, room TEXT, role TEXT, name TEXT, at INTEGER, text TEXT)"
    )
    bare.execute("CREATE INDEX messages_by_room ON messages (room, at)")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for first in range(0, count, 2_000):
        numbers = range(first, min(first + 2_000, count))
        room.add_many(
            {
                "text": f"message {n} about what was said in the kitchen and in the garden that day",
                "kind": "message",
                "data": {"role": "assistant" if n % 2 else "user", "name": "Ana"},
                "occurred_at": start + timedelta(seconds=n),
            }
            for n in numbers
        )
        with bare:
            bare.executemany(
                "INSERT INTO messages (room, role, name, at, text) VALUES ('room', 'user', 'Ana', ?, ?)",
                [(n, f"message {n} about what was said in the kitchen and in the garden that day") for n in numbers],
            )
    return room, bare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        memory, bare = fill(Path(folder), options.messages)
        chat = Messages(view_of(memory))
        plain, ours, window = interleaved(
            options.rounds,
            lambda _: bare.execute(BARE, ("room",)).fetchall(),
            lambda _: chat.history(limit=20),
            lambda _: chat.history(limit=20, roles="user"),
        )
        print(f"bare indexed select of 20 of {options.messages:,}: {plain:,.0f} us")
        print(f"history(limit=20): {ours:,.0f} us, {ours / plain:.2f} times as long (at most {BOUND:.0f})")
        print(f"history(limit=20, roles='user'): {window:,.0f} us, {window / plain:.2f} times as long")
        memory.close()
        bare.close()


if __name__ == "__main__":
    main()
