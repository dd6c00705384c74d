import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from tokenizers import Tokenizer

from rememo.recall.embed.protocol import Vector
from rememo.recall.embed.static import StaticEmbedder
from rememo.text.wordfiles import vectors_file, vocabulary_file
from rememo.text.wordpieces import WordPieces

EMBEDDER = StaticEmbedder()


def vector_of(text: str) -> Vector:
    (vector,) = EMBEDDER.embed([text])
    assert vector is not None
    return vector


GENERAL_TOKENIZER = Tokenizer.from_file(str(vocabulary_file()))
PIECES = WordPieces.from_file(vocabulary_file())


@pytest.mark.requirement("record.embed-one-and-batch")
def test_one_and_many_give_the_same_unit_vectors():
    texts = ["I moved to Lisbon", "My cat is called Miso", "order-4711 was shipped"]
    together = EMBEDDER.embed(texts)
    assert len(together) == len(texts)
    for text, vector in zip(texts, together, strict=True):
        assert vector is not None
        assert vector.dtype == np.float32
        assert vector.shape == (EMBEDDER.dimension,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        np.testing.assert_array_equal(vector, vector_of(text))


@pytest.mark.parametrize("nothing", ["", "  \n", "...", "?!"])
def test_a_text_without_words_has_no_vector(nothing: str):
    assert EMBEDDER.embed([nothing]) == [None]


@pytest.mark.requirement("search.semantic")
def test_meaning_is_nearer_than_chance():
    question = vector_of("Which pet does she own?")
    near = float(question @ vector_of("We adopted a puppy last week"))
    far = float(question @ vector_of("The invoice was paid by bank transfer"))
    assert near > far


def test_function_words_do_not_move_the_vector():
    np.testing.assert_allclose(vector_of("I moved to the Lisbon"), vector_of("moved Lisbon"), atol=1e-6)


def test_a_text_of_function_words_only_still_has_a_vector():
    assert np.linalg.norm(vector_of("who are you")) == pytest.approx(1, abs=1e-5)


@given(st.text(max_size=120))
def test_a_vector_is_finite_and_of_unit_length_or_absent(text: str):
    (vector,) = EMBEDDER.embed([text])
    if vector is not None:
        assert np.isfinite(vector).all()
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)


def test_pooling_equals_the_plain_average_of_the_tokens():
    with safe_open(vectors_file(), framework="numpy") as file:  # pyright: ignore[reportUnknownVariableType]
        weights = np.asarray(file.get_tensor("embedding.weight"), dtype=np.float32)  # pyright: ignore[reportUnknownMemberType]
    words = ["adopted", "puppy", "Lisbon", "yesterday", "Zürich", "lighthouse", "4711", "Brezelgasse"]
    tokens = GENERAL_TOKENIZER.encode(" ".join(words), add_special_tokens=False).ids
    average = weights[tokens].mean(axis=0)
    cosine = float(vector_of(" ".join(words)) @ average / np.linalg.norm(average))
    assert cosine > 1 - 1e-3


@given(st.text(alphabet=st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=30))
def test_words_are_encoded_as_the_general_tokenizer_does(word: str):
    assert PIECES.encode(word) == GENERAL_TOKENIZER.encode(word, add_special_tokens=False).ids


def test_threads_share_one_embedder():
    texts = [f"message{number} about painting houses number {number % 13}" for number in range(300)]
    shared = StaticEmbedder()
    barrier = threading.Barrier(4)

    def embed() -> list[Vector | None]:
        barrier.wait()
        return shared.embed(texts)

    with ThreadPoolExecutor(4) as pool:
        results = [future.result() for future in [pool.submit(embed) for _ in range(4)]]
    expected = StaticEmbedder().embed(texts)
    for result in results:
        np.testing.assert_allclose(np.array(result), np.array(expected), atol=1e-6)


def test_more_words_than_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rememo.recall.embed.static._MOST_ROWS", 32)
    small = StaticEmbedder()
    texts = [f"alpha{number} beta{number} gamma" for number in range(60)]
    np.testing.assert_allclose(np.array(small.embed(texts)), np.array(EMBEDDER.embed(texts)), atol=1e-6)


def test_long_pieces_count_too():
    long_piece = "puppy/" * 20
    assert float(vector_of(f"Lisbon {long_piece}") @ vector_of("puppy")) > float(
        vector_of("Lisbon") @ vector_of("puppy")
    )
