"""The embedding model in use, and versions that have no vector of a model."""

from typing import NamedTuple


class ModelInUse(NamedTuple):
    """The embedding model whose vectors are searched."""

    name: str
    dimension: int
    number: int
    """What the store knows it by: another one for each change of the model, so that vectors cannot be mixed up."""

    @property
    def identity(self) -> tuple[str, int]:
        """What tells vectors of different models apart."""
        return self.name, self.dimension


class Unembedded(NamedTuple):
    """A version that a model under construction has not embedded."""

    number: int
    """What `put_vectors` knows it by."""
    tenant: str
    id: str
    version: int
    text: str


class Unvectored(NamedTuple):
    """A version without a vector by the model in use."""

    id: str
    version: int
    text: str
    owed: bool
    """Whether a job is there that will make it."""
