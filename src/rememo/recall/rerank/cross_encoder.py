"""Cross-encoders through sentence-transformers, on this machine. The model is downloaded when first used."""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, cast

from rememo.recall.embed.extras import require
from rememo.runtime.locks import ForkLock


class _CrossEncoder(Protocol):
    """The part of sentence-transformers that is used."""

    def predict(self, sentences: list[tuple[str, str]], *, show_progress_bar: bool) -> Sequence[float]: ...


class CrossEncoderReranker:
    """Orders with one of sentence-transformers' cross-encoders. Safe for threads."""

    def __init__(self, model: str = "cross-encoder/ms-marco-MiniLM-L6-v2", *, device: str | None = None) -> None:
        """Use `model` on `device`. Raises `MissingExtra` without the package."""
        self._make = require("sentence_transformers", extra="sentence-transformers").CrossEncoder
        self._model_name = model
        self._device = device
        self._loading = ForkLock()

    @property
    def name(self) -> str:
        """The model."""
        return self._model_name

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers."""
        return [
            float(score) for score in self._model.predict([(query, text) for text in texts], show_progress_bar=False)
        ]

    @cached_property
    def _model(self) -> _CrossEncoder:
        with self._loading:
            return cast("_CrossEncoder", self._make(self._model_name, device=self._device))
