"""Transformer models through fastembed: ONNX on the CPU, no torch. The model is downloaded when first used."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Protocol, cast

from rememo.recall.embed.extras import require
from rememo.recall.embed.protocol import Vector, embed_present
from rememo.runtime.locks import ForkLock


class _TextEmbedding(Protocol):
    """The part of fastembed that is used."""

    def embed(self, documents: list[str], batch_size: int) -> Iterable[object]: ...
    def query_embed(self, query: str) -> Iterable[object]: ...


class FastEmbedEmbedder:
    """Embeds with one of fastembed's models, questions in the model's own way for questions. Safe for threads."""

    def __init__(
        self, model: str = "BAAI/bge-small-en-v1.5", *, cache_dir: str | None = None, batch_size: int = 64
    ) -> None:
        """Use `model`; `cache_dir` is where its files are kept. Raises `MissingExtra` without the package."""
        self._make = require("fastembed", extra="fastembed").TextEmbedding
        self._model_name = model
        self._cache_dir = cache_dir
        self._batch_size = batch_size
        self._loading = ForkLock()

    @property
    def name(self) -> str:
        """The model."""
        return f"fastembed/{self._model_name}"

    @property
    def dimension(self) -> int:
        """The length of every vector; loads the model when first asked."""
        return self._dimension

    @cached_property
    def _dimension(self) -> int:
        return len(cast("Sequence[float]", next(iter(self._model.embed(["dimension"], self._batch_size)))))

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the unit-length vector of each text; None for a blank one."""
        return embed_present(texts, lambda present: list(self._model.embed(present, self._batch_size)), self)

    def embed_question(self, text: str) -> Vector | None:
        """Return the vector to search with, or None for a blank text."""
        return embed_present([text], lambda present: list(self._model.query_embed(present[0])), self)[0]

    @cached_property
    def _model(self) -> _TextEmbedding:
        with self._loading:
            return cast("_TextEmbedding", self._make(model_name=self._model_name, cache_dir=self._cache_dir))
