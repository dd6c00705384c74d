"""What a record weighs in each store, and what a billion of them would: `python -m bench.scale`."""

import argparse
import random
import tempfile
import time
from pathlib import Path

from bench.postgres import random_text
from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.store.postgres.embedded import EmbeddedPostgres

QUIET = Settings(durability="fast", worker=False)
PARTS = """SELECT regexp_replace(relname, '_[0-9][0-9].*', ''), sum(pg_relation_size(pg_class.oid))::bigint FROM pg_class
WHERE relnamespace = 'rememo'::regnamespace AND relkind IN ('r', 'i') AND relname ~ '^(records|words|vectors)'
GROUP BY 1 ORDER BY 2 DESC"""
BILLION = 1_000_000_000
ROOM = 1_000


def fill(memory: Memory, texts: list[str]) -> float:
    began = time.perf_counter()
    for place in range(0, len(texts), ROOM):
        memory.scope(user=f"u{place // ROOM}", room=f"r{place // ROOM}").add_many(
            {"text": text, "kind": "message", "data": {"role": "user"}} for text in texts[place : place + ROOM]
        )
    return len(texts) / (time.perf_counter() - began)


def bytes_held(memory: Memory) -> float:
    """Return the bytes that a process holds of each record of a scope it searches."""
    view = memory.scope(user="u0")
    view.search("anything")
    store = view_of(memory).engine.store
    return store._scopes.get(view.bound, view_of(memory).engine.now()).weight / ROOM  # noqa: SLF001


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    count = parser.parse_args().count
    random.seed(1)
    texts = [random_text() for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.db"
        with Memory(file, settings=QUIET) as memory:
            rate = fill(memory, texts)
            print(f"{count:,} messages of 30 words, each with a vector of 256 numbers")
            print(f"held in a process that searches: {bytes_held(memory):,.0f} bytes a record")
        weight = file.stat().st_size / count
        print(f"SQLite: {weight:,.0f} bytes a record; filled at {rate:,.0f} records a second")
    with (
        EmbeddedPostgres(settings=("shared_buffers = 512MB",)) as server,
        Memory(server.url(), settings=QUIET) as memory,
    ):
        rate = fill(memory, texts)
        database = view_of(memory).engine.store._database  # noqa: SLF001
        parts = {name: size / count for name, size in database.rows(PARTS)}
        weight = sum(parts.values())
        summary = ", ".join(f"{name} {size:,.0f}" for name, size in parts.items())
        print(f"PostgreSQL: {weight:,.0f} bytes a record ({summary}); filled at {rate:,.0f} records a second")
        print(f"a billion on PostgreSQL: {weight * BILLION / 1e12:.1f} TB, before replicas and the server's own log")


if __name__ == "__main__":
    main()
