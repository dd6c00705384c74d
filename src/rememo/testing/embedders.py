"""Embedders for tests: small, without weights, and the same vectors everywhere."""

from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np

from rememo.errors import EmbeddingFailed
from rememo.model.health import Health
from rememo.recall.embed.protocol import Embedded, Vector, unit_vectors

DIMENSION = 16


class WordEmbedder:
    """Adds up one pseudo-random vector for each word: texts that share words are near each other."""

    def __init__(self, name: str = "test-words", dimension: int = DIMENSION) -> None:
        self._name = name
        self._dimension = dimension

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return one unit vector for each text; None for one without words."""
        return unit_vectors([self._sum(text) for text in texts], name=self._name, dimension=self._dimension)

    def _sum(self, text: str) -> Vector:
        total = np.zeros(self._dimension, np.float32)
        for word in text.casefold().split():
            digest = blake2b(word.encode("utf-8", "replace"), digest_size=self._dimension).digest()
            total += np.frombuffer(digest, np.uint8).astype(np.float32) - np.float32(127.5)
        return total


class FailingEmbedder(WordEmbedder):
    """A model whose server is down."""

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Raise."""
        raise ConnectionError(f"no answer for {len(texts)} texts")


class NetworkEmbedder(WordEmbedder):
    """An embedder behind a network, which may be down."""

    def __init__(self, name: str = "test-distant", dimension: int = DIMENSION) -> None:
        super().__init__(name, dimension)
        self.away = False
        self.asked: list[str] = []
        """Every text that was embedded."""

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors, or raise while it is down."""
        if self.away:
            raise EmbeddingFailed.for_now("the endpoint cannot be reached")
        self.asked += texts
        return super().embed(texts)

    def attempt(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors, or raise while it is down."""
        return Embedded(self.embed(texts), sum(len(text.split()) for text in texts))

    def expect(self, dimension: int) -> None:
        """Know how long vectors are without being told."""

    def check(self) -> None:
        """Answer as was said."""

    def health(self) -> Health:
        """Tell whether it is away."""
        return Health(name="embedder", place="here", ok=not self.away)

    def close(self) -> None:
        """Hold nothing."""


class InterruptingEmbedder(WordEmbedder):
    """Runs a callback while it embeds, as another thread may at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors after what happens meanwhile, which happens once."""
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().embed(texts)
