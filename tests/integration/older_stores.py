"""Stores as an earlier release left them: what the files in tests/data/stores hold, and how they were made.

They were made by `python tests/integration/older_stores.py sealed|plain|server TARGET` with a release whose derived ids
were plain UUIDs of version 5. They are stores in use: all that has an id made of what it is, and all that refers to one.
"""

import json
import sys
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString, cast
from uuid import NAMESPACE_URL, uuid5

import psycopg

from rememo import Keyring, Memory, Settings
from rememo.adapters.memory_files import MemoryFiles
from rememo.testing.postgres import lend_databases

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORES = Path(__file__).parents[1] / "data" / "stores"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
SAID = "I live in Lisbon. I work at Globex. I am allergic to peanuts. I am married to Kim."
MANUAL = "# Kettle manual\n\nFill the kettle with water. Press the button to boil it.\n"
BY_HAND = str(uuid5(NAMESPACE_URL, "https://example.org/by-hand"))
"""An id of the same form as derived ones, which its caller gave."""
_TABLES = (
    "records", "words", "tenants", "vault", "kv", "keys", "jobs", "audit", "trails", "snapshots", "floors", "models",
)  # fmt: skip


class Ticking:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def fill(memory: Memory) -> None:
    """Store something of everything that has a derived id, and what refers to it."""
    ana = memory.scope(user="ana", room="chat-7")
    ana.messages.add("user", SAID, external_id=("chat-7", 41)).wait()
    moved = "I moved to Porto in April 2026."
    ana.messages.add("user", moved, external_id=("chat-7", 42), reply_to=("chat-7", 41)).wait()
    ana.messages.add("assistant", "Porto is lovely.", external_id=("chat-7", 43), reply_to=("chat-7", 42))
    for number in range(6):
        ana.messages.add("user", f"Step {number} of the tour goes along the river.").wait()
    ana.posts.add("Sunrise over the Douro", external_id=("fediverse", 7))
    ana.documents.add(title="Kettle", text=MANUAL, key="kettle")
    ana.relationships.touch("ana", "Kim", "married_to")
    ana.typed("mood", {"level": 1}).set({"level": 7})
    ana.working.context.set("tone", "calm")
    ana.working.limit(max_messages=50)
    ana.summaries.update()
    ana.facts.add("ana", "likes", "chess", key="chess")
    ana.add("a note under an id of its owner's own", id=BY_HAND)
    ana.sessions.save("monday")
    memory.snapshot("before")
    MemoryFiles(memory.scope(user="ana")).create("/memories/plan.md", "Buy a kettle.\n")
    memory.scope(tenant="acme", user="ben").messages.add("user", "I live in Oslo.").wait()


def unpack_file(kind: str, target: str) -> None:
    """Put a file of an earlier release where it can be opened."""
    Path(target).write_bytes(zstd.decompress((STORES / f"{kind}.db.zst").read_bytes()))


def load_tables(url: str) -> None:
    """Fill the empty tables of a schema with what an earlier release left there."""
    held: dict[str, list[dict[str, Any]]] = json.loads(zstd.decompress((STORES / "server.json.zst").read_bytes()))
    with psycopg.connect(url, options="-c search_path=rememo", autocommit=True) as connection:
        for table, rows in held.items():
            for row in rows:
                columns, places = ", ".join(f'"{name}"' for name in row), ", ".join(["%s"] * len(row))
                sql = f"INSERT INTO {table} ({columns}) VALUES ({places})"
                connection.execute(cast("LiteralString", sql), [_read(value) for value in row.values()])


def _read(value: Any) -> Any:
    return b64decode(cast("dict[str, str]", value)["bytes"]) if isinstance(value, dict) else value


def _dump_tables(url: str) -> bytes:
    held: dict[str, list[dict[str, Any]]] = {}
    with psycopg.connect(url, options="-c search_path=rememo") as connection:
        for table in _TABLES:
            cursor = connection.execute(f"SELECT * FROM {table}")
            names = [column.name for column in cursor.description or ()]
            held[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return json.dumps(held, default=lambda content: {"bytes": b64encode(bytes(content)).decode()}).encode()


def _make(kind: str, target: Path) -> None:
    settings, keyring = Settings(audit=True, durability="fast"), None if kind == "plain" else Keyring(KEY)
    if kind == "server":
        with lend_databases() as databases:
            url = databases.url(databases.lend())
            with Memory(url, embedder=None, encryption=keyring, settings=settings, clock=Ticking()) as memory:
                fill(memory)
            target.write_bytes(zstd.compress(_dump_tables(url), 19))
        return
    path = target.with_suffix(".tmp")
    with Memory(path, embedder=None, encryption=keyring, settings=settings, clock=Ticking()) as memory:
        fill(memory)
        memory.export(target.with_name(f"{kind}.jsonl"))
    target.write_bytes(zstd.compress(path.read_bytes(), 19))
    path.unlink()


if __name__ == "__main__":
    _make(sys.argv[1], Path(sys.argv[2]))
