"""What turns texts into vectors, and how the rest of Rememo asks for it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rememo.errors import EmbeddingFailed, EmbeddingMismatch
from rememo.model.health import Health

Vector: TypeAlias = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors of one model.

    `name` and `dimension` identify the vectors: those of another name or dimension are never compared with these.
    """

    @property
    def name(self) -> str:
        """The model and everything about its use that changes its vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return one unit-length vector for each text, in order; None for a text without content.

        Either every text is answered or an error is raised: no vector is ever made up. Safe to call from threads.
        """
        ...


@runtime_checkable
class QuestionEmbedder(Protocol):
    """The ability of models that read questions otherwise than what is remembered."""

    def embed_question(self, text: str) -> Vector | None:
        """Return the vector to search with, or None for a text without content."""
        ...


class Embedded(NamedTuple):
    """What a model answered."""

    vectors: list[Vector | None]
    """One for each text, in order; None for a text without content."""
    tokens: int
    """How many tokens that cost, as the endpoint says, or about."""


@runtime_checkable
class RemoteEmbedder(Protocol):
    """The ability of models that are asked over a network: they take long, cost money and may be away.

    No write waits for one: its vectors are made by jobs. Search goes by words while one is away.
    """

    def attempt(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors as `embed` does, but ask only once: for those who try again later themselves.

        Raises `EmbeddingFailed`; while an endpoint rests that just failed, at once.
        """
        ...

    def expect(self, dimension: int) -> None:
        """Take vectors to be that long, where no dimension was given: those that were made before are."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...

    def check(self) -> None:
        """Ask for one vector; one of another length than was said raises `EmbeddingMismatch`."""
        ...

    def health(self) -> Health:
        """Return how the endpoint is, without asking it."""
        ...


def embed_question(embedder: Embedder, text: str) -> Vector | None:
    """Return the vector to search with, by the embedder's own way for questions if it has one."""
    if isinstance(embedder, QuestionEmbedder):
        return embedder.embed_question(text)
    return embedder.embed([text])[0]


def unit_vectors(rows: Sequence[object], *, name: str, dimension: int) -> list[Vector | None]:
    """Bring what a model returned to unit-length float32 vectors; a row of zeros becomes None.

    Raise `EmbeddingMismatch` if a row has another length than `dimension` or holds NaN or infinity.
    """
    units: list[Vector | None] = []
    for row in rows:
        vector = np.asarray(row, dtype=np.float64).reshape(-1)
        if vector.shape[0] != dimension:
            raise EmbeddingMismatch(
                f"embedder {name!r} returned a vector of {vector.shape[0]} numbers where {dimension} were expected"
            )
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length):
            raise EmbeddingMismatch(f"embedder {name!r} returned a vector that is not finite")
        units.append((vector / length).astype(np.float32) if length > 0 else None)
    return units


def embed_present(
    texts: Sequence[str], model: Callable[[list[str]], Sequence[object]], embedder: Embedder
) -> list[Vector | None]:
    """Ask a model for the vectors of the texts that are not blank; the others have none.

    Raise `EmbeddingFailed` if the model answers with another number of rows than it was asked for.
    """
    places = [place for place, text in enumerate(texts) if text.strip()]
    vectors: list[Vector | None] = [None] * len(texts)
    if not places:
        return vectors
    rows = model([texts[place] for place in places])
    if len(rows) != len(places):
        raise EmbeddingFailed(f"embedder {embedder.name!r} answered {len(places)} texts with {len(rows)} vectors")
    units = unit_vectors(rows, name=embedder.name, dimension=embedder.dimension)
    for place, vector in zip(places, units, strict=True):
        vectors[place] = vector
    return vectors
