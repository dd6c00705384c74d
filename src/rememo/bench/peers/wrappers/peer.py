"""What a peer must be able to do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar


class Peer(ABC):
    """One system under measurement."""

    needs: ClassVar[tuple[str, ...]] = ()
    """What its environment is made of, the peer itself first; without any, it is Rememo's own."""
    persists: ClassVar[bool] = True
    """Whether another process finds what this one wrote."""
    batch_size: ClassVar[int] = 100
    """How many records one call of `add_many` is given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def add(self, id: str, text: str) -> None:
        """Store one text."""

    def add_many(self, items: Sequence[tuple[str, str]]) -> None:
        """Store several, in one call where the peer has one."""
        for id, text in items:
            self.add(id, text)

    def converse(self, turns: Sequence[dict[str, Any]]) -> None:
        """Store the turns of a conversation; who spoke is part of the text where a peer knows no speakers."""
        for start in range(0, len(turns), self.batch_size):
            part = turns[start : start + self.batch_size]
            self.add_many([(turn["id"], f"{turn['speaker']}: {turn['text']}") for turn in part])

    @abstractmethod
    def search(self, question: str, limit: int) -> list[str]:
        """Return the ids of what is found, best first."""

    def ask(self, question: dict[str, Any], limit: int) -> list[str]:
        """Search as of the moment of a question, where a peer knows moments."""
        return self.search(question["text"], limit)

    @abstractmethod
    def present(self, items: Sequence[tuple[str, str]]) -> set[str]:
        """Return the ids of those that can be read."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close it."""
