"""Transformer models through sentence-transformers, from the hub or from a folder."""

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, cast

from rememo.errors import EmbeddingMismatch
from rememo.recall.embed.extras import require
from rememo.recall.embed.protocol import Vector, embed_present


class _SentenceTransformer(Protocol):
    """The part of sentence-transformers that is used."""

    def encode(self, sentences: list[str], *, batch_size: int, show_progress_bar: bool) -> Sequence[object]: ...
    def get_sentence_embedding_dimension(self) -> int | None: ...


class SentenceTransformerEmbedder:
    """Embeds with a sentence-transformers model. Safe for threads: one call at a time enters the model."""

    def __init__(
        self,
        model: str = "all-MiniLM-L6-v2",
        *,
        device: str | None = None,
        batch_size: int = 32,
        text_prompt: str = "",
        question_prompt: str = "",
    ) -> None:
        """Use `model`, a name or a folder; prompts are put before texts and questions, as some models want it.

        Raises `MissingExtra` without the package.
        """
        self._make = require("sentence_transformers", extra="sentence-transformers").SentenceTransformer
        self._model_name = model
        self._device = device
        self._batch_size = batch_size
        self._text_prompt = text_prompt
        self._question_prompt = question_prompt
        self._running = threading.RLock()

    @property
    def name(self) -> str:
        """The model, and the prompt before texts if there is one."""
        prompt = f"+{self._text_prompt.strip()}" if self._text_prompt.strip() else ""
        return f"sentence-transformers/{self._model_name}{prompt}"

    @property
    def dimension(self) -> int:
        """The length of every vector; loads the model when first asked."""
        return self._dimension

    @cached_property
    def _dimension(self) -> int:
        dimension = self._model.get_sentence_embedding_dimension()
        if dimension is None:
            raise EmbeddingMismatch(f"model {self._model_name!r} does not say how long its vectors are")
        return dimension

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the unit-length vector of each text; None for a blank one."""
        return embed_present(texts, lambda present: self._encode(self._text_prompt, present), self)

    def embed_question(self, text: str) -> Vector | None:
        """Return the vector to search with, or None for a blank text."""
        return embed_present([text], lambda present: self._encode(self._question_prompt, present), self)[0]

    def _encode(self, prompt: str, texts: list[str]) -> Sequence[object]:
        with self._running:
            return self._model.encode(
                [prompt + text for text in texts], batch_size=self._batch_size, show_progress_bar=False
            )

    @cached_property
    def _model(self) -> _SentenceTransformer:
        with self._running:
            return cast("_SentenceTransformer", self._make(self._model_name, device=self._device))
