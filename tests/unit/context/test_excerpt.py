"""Excerpts, and counting what is very long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.context.excerpt import excerpt, term_weights
from rememo.text.tokens import count, cut_to, default_counter

COUNTER = default_counter()
PIECES = st.lists(
    st.sampled_from(["The hiking trail", "was long", ".", "!", "\n", " ", "\u3002", "字", "x" * 40, "e.g. "]),
    max_size=60,
)


def short(text: str, question: list[str], most: int = 30) -> str:
    return excerpt(text, term_weights(question, [text, "something else"]), most, counter=COUNTER)


def test_the_telling_sentences_stand_in_their_order():
    text = (
        "We met early. Nobody spoke. The red key opens the shed. It rained. The shed holds a blue boat. We left late."
    )
    shortened = short(text, ["shed", "boat", "key"], 24)
    assert shortened.startswith("… ")
    assert shortened.index("The red key opens the shed.") < shortened.index("The shed holds a blue boat.")
    assert "We met early" not in shortened


def test_words_are_found_by_their_stems():
    text = "First this. " * 30 + "We were hiking along the ridge. " + "Then that. " * 30
    assert "We were hiking along the ridge." in short(text, ["hike"])


def test_without_a_word_of_the_question_it_is_the_beginning():
    text = "It begins here. Then it goes on. " + "And on. " * 50
    assert short(text, ["unheard"]).startswith("It begins here.")


def test_a_sentence_is_not_repeated():
    assert short("Cats like fish. " * 50, ["fish"]).count("Cats like fish.") == 1


def test_an_endless_sentence_is_cut_around_the_word():
    text = "and so on " * 400 + "until the treasure was found " + "and so on " * 400
    shortened = short(text, ["treasure"])
    assert "treasure" in shortened
    assert shortened.startswith("…")
    assert shortened.endswith("…")


@given(PIECES.map("".join), st.integers(1, 60))
def test_it_is_part_of_the_text_and_about_as_long_as_it_may_be(text: str, most: int):
    shortened = short(text, ["hike", "trail"], most)
    for part in shortened.split("…"):
        assert part.strip() in text
    # One more: without the space at its end a text may count more than with it.
    assert count(COUNTER, shortened) <= most + 1 + 2 * shortened.count("…")


@pytest.mark.parametrize("text", ["word " * 400_000, "字" * 400_000, "x" * 1_000_000, "One. " * 200_000])
def test_very_long_texts_take_no_time(text: str):
    start = time.monotonic()
    short(text, ["treasure"])
    assert cut_to(COUNTER, text, 50)
    assert time.monotonic() - start < 10


@pytest.mark.requirement("window.tokens")
def test_a_very_long_word_is_counted_by_its_beginning():
    start = time.monotonic()
    assert 600_000 < COUNTER.count("aZ3+" * 250_000) < 1_200_000
    assert time.monotonic() - start < 10


@given(st.text(), st.integers(0, 40))
def test_a_cut_text_fits(text: str, most: int):
    cut = cut_to(COUNTER, text, most)
    assert count(COUNTER, cut) <= most
    assert not cut or text.startswith(cut.removesuffix(" …"))
