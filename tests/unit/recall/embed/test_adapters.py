# ruff: noqa: ARG002 - the stand-ins take what the libraries take
"""The adapters to model libraries, on stand-ins that keep to the part of each library that is used."""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import cast

import numpy as np
import pytest

from rememo.errors import EmbeddingFailed, EmbeddingMismatch
from rememo.recall.embed.background import background
from rememo.recall.embed.fastembed import FastEmbedEmbedder
from rememo.recall.embed.protocol import embed_question
from rememo.recall.embed.sentence_transformers import SentenceTransformerEmbedder
from rememo.recall.embed.static import StaticEmbedder


class FakeTextEmbedding:
    def __init__(self, model_name: str, cache_dir: str | None) -> None:
        self.model_name = model_name

    def embed(self, documents: list[str], batch_size: int) -> Iterator[list[float]]:
        return iter([[float(len(text)), 1.0] for text in documents])

    def query_embed(self, query: str) -> Iterator[list[float]]:
        return iter([[0.0, float(len(query))]])


class FakeSentenceTransformer:
    def __init__(self, model: str, device: str | None) -> None:
        self.rows_lost = 1 if model == "loses-rows" else 0

    def encode(self, sentences: list[str], *, batch_size: int, show_progress_bar: bool) -> np.ndarray:
        assert not show_progress_bar
        rows = [[float(len(text)), 0.0, 3.0] for text in sentences]
        return np.array(rows[self.rows_lost :], dtype=np.float32)

    def get_sentence_embedding_dimension(self) -> int:
        return 3


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, contents in (
        ("fastembed", {"TextEmbedding": FakeTextEmbedding}),
        ("sentence_transformers", {"SentenceTransformer": FakeSentenceTransformer}),
    ):
        monkeypatch.setitem(sys.modules, name, cast("ModuleType", SimpleNamespace(**contents)))


def test_fastembed_reads_questions_in_its_own_way():
    embedder = FastEmbedEmbedder("tiny")
    assert embedder.dimension == 2
    (text,) = embedder.embed(["abc"])
    np.testing.assert_allclose(cast("np.ndarray", text), np.array([3, 1]) / np.hypot(3, 1), rtol=1e-6)
    np.testing.assert_allclose(cast("np.ndarray", embed_question(embedder, "abc")), [0, 1])
    assert embed_question(embedder, "  ") is None
    assert "tiny" in embedder.name


def test_sentence_transformers_put_prompts_before_texts_and_questions():
    embedder = SentenceTransformerEmbedder("tiny", text_prompt="passage: ", question_prompt="q: ")
    assert embedder.dimension == 3
    (text,) = embedder.embed(["abc"])
    assert text is not None
    question = embed_question(embedder, "abc")
    assert question is not None
    assert text[0] / text[2] == pytest.approx(len("passage: abc") / 3)
    assert question[0] / question[2] == pytest.approx(len("q: abc") / 3)
    assert embedder.name != SentenceTransformerEmbedder("tiny").name
    assert embedder.embed(["", "x"])[0] is None


def test_a_model_that_loses_rows_is_a_failure():
    with pytest.raises(EmbeddingFailed, match="2 texts with 1"):
        SentenceTransformerEmbedder("loses-rows").embed(["a", "b"])


def test_a_vector_of_another_length_is_refused(monkeypatch: pytest.MonkeyPatch):
    def too_long(_: FakeSentenceTransformer) -> int:
        return 4

    monkeypatch.setattr(FakeSentenceTransformer, "get_sentence_embedding_dimension", too_long)
    with pytest.raises(EmbeddingMismatch, match="4 were expected"):
        SentenceTransformerEmbedder("tiny").embed(["a"])


def test_the_background_is_what_unrelated_texts_have():
    mean, deviation = background(StaticEmbedder())
    near = StaticEmbedder().embed(["The ferry leaves in the morning", "When does the ferry leave?"])
    assert near[0] is not None
    assert near[1] is not None
    assert float(near[0] @ near[1]) > mean + 3 * deviation
