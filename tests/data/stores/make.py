"""Makes the stores beside this file; run with a release whose derived ids were plain UUIDs of version 5 (schema 1).

    python make.py sqlite|plain|postgres TARGET

They are stores in use: everything that has an id made of what it says, and everything that refers to one.
"""

import json
import sys
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from rememo import Keyring, Memory, Settings
from rememo.adapters.memory_files import MemoryFiles

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
SAID = "I live in Lisbon. I work at Globex. I am allergic to peanuts. I am married to Kim."
MANUAL = "# Kettle manual\n\nFill the kettle with water. Press the button to boil it.\n"
BY_HAND = str(uuid5(NAMESPACE_URL, "https://example.org/by-hand"))
TABLES = {
    "records": "*", "words": "*", "tenants": "*", "vault": "*", "kv": "*", "keys": "*", "jobs": "*", "audit": "*",
    "trails": "*", "snapshots": "*", "floors": "*", "models": "*",
}  # fmt: skip


class Ticking:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def fill(memory: Memory) -> None:
    ana = memory.scope(user="ana", room="chat-7")
    ana.messages.add("user", SAID, external_id=("chat-7", 41)).wait()
    ana.messages.add("user", "I moved to Porto in April 2026.", external_id=("chat-7", 42), reply_to=("chat-7", 41)).wait()
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
    files = MemoryFiles(memory.scope(user="ana"))
    files.create("/memories/plan.md", "Buy a kettle.\n")
    other = memory.scope(tenant="acme", user="ben")
    other.messages.add("user", "I live in Oslo.").wait()


def dump(url: str, target: Path) -> None:
    import psycopg
    from psycopg.rows import dict_row

    held: dict[str, list[dict[str, Any]]] = {}
    with psycopg.connect(url, options="-c search_path=rememo", row_factory=dict_row) as connection:
        for table in TABLES:
            held[table] = connection.execute(f"SELECT * FROM {table}").fetchall()
    text = json.dumps(held, default=lambda one: {"bytes": b64encode(bytes(one)).decode()})
    write(target, text.encode())


def write(target: Path, content: bytes) -> None:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    target.write_bytes(zstd.compress(content, 19))


def main(kind: str, target: Path) -> None:
    settings = Settings(audit=True, durability="fast")
    keyring = None if kind == "plain" else Keyring(KEY)
    if kind == "postgres":
        from rememo.testing.postgres import lend_databases

        with lend_databases() as databases:
            url = databases.url(databases.lend())
            with Memory(url, embedder=None, encryption=keyring, settings=settings, clock=Ticking()) as memory:
                fill(memory)
            dump(url, target)
        return
    path = target.with_suffix(".tmp")
    with Memory(path, embedder=None, encryption=keyring, settings=settings, clock=Ticking()) as memory:
        fill(memory)
        memory.export(target.with_name(target.name.replace(".db", ".jsonl")))
    write(target, path.read_bytes())
    path.unlink()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
