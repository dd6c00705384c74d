"""A table as anyone would make it."""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from rememo.bench.peers.wrappers.peer import Peer


class Fts5(Peer):
    """FTS5 of the standard library, ranked by bm25."""

    batch_size = 10_000

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "plain.db", timeout=30)
        self.connection.execute("PRAGMA journal_mode = wal")
        self.connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(id UNINDEXED, text, tokenize='porter')"
        )
        self.connection.commit()

    def add(self, id: str, text: str) -> None:
        self.add_many([(id, text)])

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        with self.connection:
            self.connection.executemany("INSERT INTO texts (id, text) VALUES (?, ?)", items)

    def search(self, question: str, limit: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = self.connection.execute(
            "SELECT id FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?", (words, limit)
        )
        return [row[0] for row in rows]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        return {row[0] for row in self.connection.execute("SELECT id FROM texts")} & set(dict(items))

    def close(self) -> None:
        self.connection.close()
