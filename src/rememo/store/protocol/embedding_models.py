"""Protocol of a store: the embedding model in use, and one that is built beside it."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rememo.store.embedding_models import ModelInUse, Unembedded, Unvectored


class EmbeddingModels(Protocol):
    """The embedding model in use, and one that is built beside it."""

    def use_model(self, name: str, dimension: int) -> int:
        """Bind the store to an embedding model and return its number; one with vectors of another raises `EmbeddingMismatch`."""
        ...

    def model(self) -> ModelInUse | None:
        """Return the embedding model in use, or None when there is none yet."""
        ...

    def unvectored(self, tenant: str) -> Iterator[Unvectored]:
        """Give the versions of a tenant that have no vector by the model in use, in order of arrival.

        Nothing where the store has no model. A text that nobody can read any more is passed over.
        """
        ...

    def has_vectors(self) -> bool:
        """Return whether there is any vector by the model in use."""
        ...

    def begin_model(self, name: str, dimension: int) -> int:
        """Return the number of a model to be built beside the one in use; one that was begun before goes on."""
        ...

    def unembedded(self, model: int, limit: int) -> tuple[int, list[Unembedded]]:
        """Return how many versions still have no vector by a model, and the first of them."""
        ...

    def put_vectors(self, model: int, vectors: Sequence[tuple[int, NDArray[np.float32] | None]]) -> None:
        """Store vectors by a model under construction, in the order they were asked for.

        Raises `ModelChanged` when somebody else has begun to build another one meanwhile; so do the two below.
        """
        ...

    def swap_model(self, model: int) -> bool:
        """Put a model into use if every version has its vector by it; False when some came in meanwhile."""
        ...

    def drop_models(self, limit: int) -> int:
        """Remove vectors of models that are not in use, at most so many; returns how many were removed."""
        ...
