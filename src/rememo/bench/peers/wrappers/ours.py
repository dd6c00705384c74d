"""Rememo, as it comes."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from rememo.bench.peers.wrappers.peer import Peer
from rememo.errors import NotFound


class Rememo(Peer):
    """A file, opened without settings."""

    batch_size = 10_000

    def __init__(self, folder: Path) -> None:
        from rememo import Memory

        self.memory = Memory(folder / "agent.db")
        self._ids: dict[str, str] = {}

    def add(self, id: str, text: str) -> None:
        self.memory.add(text, id=id, learn=False)

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        self.memory.add_many([{"id": id, "text": text, "learn": False} for id, text in items])

    def converse(self, turns: Sequence[dict[str, Any]]) -> None:
        with self.memory.batch() as batch:
            for turn in turns:
                said_at = datetime.fromisoformat(turn["time"])
                messages = batch.scope(room=turn["room"]).messages
                receipt = messages.add("user", turn["text"], name=turn["speaker"], at=said_at, learn=False)
                self._ids[receipt.id] = turn["id"]

    def search(self, question: str, limit: int) -> list[str]:
        return [self._ids.get(hit.record.id, hit.record.id) for hit in self.memory.search(question, limit=limit)]

    def ask(self, question: dict[str, Any], limit: int) -> list[str]:
        hits = self.memory.search(
            question["text"], limit=limit, at=datetime.fromisoformat(question["at"]), kind="message"
        )
        return [self._ids.get(hit.record.id, hit.record.id) for hit in hits]

    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        present: set[str] = set()
        for id, _ in items:
            with suppress(NotFound):
                present.add(self.memory.get(id).id)
        return present

    def close(self) -> None:
        self.memory.close()
